"""Three ways to use a page: with a mouse, with nothing but a keyboard, and on a phone."""

from typing import Final

import pytest
from playwright.sync_api import Locator, Page, expect

from tests.browser.axe import PHONE

WAYS: Final = ("mouse", "keyboard", "phone")
EVERY_WAY: Final = pytest.mark.parametrize("way", WAYS)
FAR: Final = 90  # presses of Tab; no place of a page is further away

# A ring; fields and boxes show it by their edge or on their label.
_SHOWS: Final = "(element) => getComputedStyle(element).outlineStyle !== 'none' || element.matches('input, textarea')"


class Hands:
    """Does what a person does, and finds only what that person can reach."""

    def __init__(self, page: Page, *, way: str) -> None:
        self.page = page
        self.is_keyboard, self.is_phone = way == "keyboard", way == "phone"
        if self.is_phone:
            page.set_viewport_size(PHONE)

    def press(self, what: Locator, key: str = "Enter") -> None:
        """A link, a button, or with Space a box."""
        if not self.is_keyboard:
            return what.click()
        self._go_to(what)
        return self.page.keyboard.press(key)

    def write(self, where: Locator, text: str) -> None:
        if not self.is_keyboard:
            where.click(click_count=3)  # takes what stands there already, as Tab does
        else:
            self._go_to(where)
        self.page.keyboard.type(text)

    def choose(self, where: Locator, label: str) -> None:
        """One of a list."""
        if not self.is_keyboard:
            where.select_option(label=label)
        else:
            self._go_to(where)
            self.page.keyboard.type(label)

    def _go_to(self, what: Locator) -> None:
        """Tabs until the focus is there. Like a person, it sees where the focus is by its ring."""
        expect(what).to_be_visible()
        for _ in range(FAR):
            if what.evaluate("(element) => element === document.activeElement"):
                break
            self.page.keyboard.press("Tab")
        expect(what).to_be_focused()
        shows = what.evaluate(_SHOWS)
        assert shows, f"nothing shows that {what} has the focus"
