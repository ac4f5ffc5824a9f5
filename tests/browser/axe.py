"""axe-core on what a window shows, in light and dark, at a desk and on a phone. Only its two worst grades count."""

from collections.abc import Iterator, Sequence
from typing import Final, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, ViewportSize

DESK: Final[ViewportSize] = {"width": 1280, "height": 800}
PHONE: Final[ViewportSize] = {"width": 360, "height": 740}
BAD: Final = {"serious", "critical"}
ALL: Final[dict[str, object]] = {"resultTypes": ["violations"], "preload": False}  # no style sheet is fetched again
# What a theme and a width may change; what a page says and how it is built is the same in all of them.
LOOKS_ALONE: Final[dict[str, object]] = {
    **ALL,
    "runOnly": ["color-contrast", "target-size", "scrollable-region-focusable"],
}
Look = tuple[Literal["light", "dark"], ViewportSize, dict[str, object]]
# Each theme and each width once, and all four of them where the frame around the pages is looked at.
LOOKS: Final[list[Look]] = [("light", DESK, ALL), ("dark", PHONE, LOOKS_ALONE)]
EVERY_LOOK: Final[list[Look]] = [*LOOKS, ("light", PHONE, ALL), ("dark", DESK, ALL)]

# The dashboard's pages scroll inside; others may be long, never wide.
_SPILLS: Final = """() => {
  const { scrollWidth, scrollHeight } = document.documentElement;
  return scrollWidth > innerWidth || (document.body.matches(".app") && scrollHeight > innerHeight);
}"""


class Judge:
    """Looks at pages, and keeps what is wrong with them until all have been seen."""

    def __init__(self) -> None:
        self.found: list[str] = []

    def watch(self, page: Page) -> None:
        """From now on it looks at this one."""
        # Not evaluated in the page afterwards: so the page's own policy stays in force, and is tested along.
        page.context.add_init_script(AXE_SCRIPT)
        page.emulate_media(reduced_motion="reduce")
        self.page = page

    def visit(self, address: str, *, looks: Sequence[Look] = LOOKS) -> None:
        """Goes there and looks."""
        self.page.goto(address)
        self.page.locator("h1, h2").first.wait_for()
        self.see(address, looks=looks)

    def see(self, what: str, *, looks: Sequence[Look] = LOOKS) -> None:
        """The page as it is, `what` in words; at a desk again afterwards."""
        for scheme, size, options in looks:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size(size)
            where = f"{what}, {scheme}, {size['width']} px"
            self.found += [f"{where}: {wrong}" for wrong in _wrong(self.page, options)]
            if self.page.evaluate(_SPILLS):
                self.found.append(f"{where}: the window scrolls")
        self.page.set_viewport_size(DESK)


def _wrong(page: Page, options: dict[str, object]) -> Iterator[str]:
    """Each broken rule and the elements that break it."""
    answer = page.evaluate("(options) => axe.run(document, options)", options)
    for violation in answer["violations"]:
        if violation["impact"] in BAD:
            nodes = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
            yield f"{violation['id']} ({violation['impact']}): {nodes}"
