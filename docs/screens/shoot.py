"""Takes the pictures of this folder from a demo that has just been started fresh, playing its main path on the way.

bin/demo --fresh
.venv/bin/python docs/screens/shoot.py http://127.0.0.1:8000 http://127.0.0.1:8765 EMAIL PASSWORD
"""

import argparse
import re
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from PIL import Image
from playwright.sync_api import Browser, Page, expect, sync_playwright

HERE = Path(__file__).parent
WISH = "Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund."
PAGES = {
    "approvals": "/approvals/",
    "dashboard": "/",
    "tools": "/agent/tools/",
    "agent": "/agent/",
    "customers": "/customers/",
    "settings": "/settings/people/",
}
LOOKS = ("light", "dark", "phone")
DESK, PHONE, FRAME = (1280, 800), (360, 760), (400, 640)  # CSS pixels; the last is a chat on a company's page


class Camera:
    """Takes every picture in each look, in a browser that may be signed in."""

    def __init__(self, browser: Browser, median: str) -> None:
        self._browser = browser
        self._median = median
        self.state: str | None = None  # the file of cookies that a sign-in left

    @contextmanager
    def window(self, look: str = "light", *, size: tuple[int, int] = DESK) -> Iterator[Page]:
        width, height = PHONE if look == "phone" else size
        context = self._browser.new_context(
            base_url=self._median,
            color_scheme="dark" if look == "dark" else "light",
            viewport={"width": width, "height": height},
            storage_state=self.state,
            reduced_motion="reduce",
        )
        with context:
            yield context.new_page()

    def take(
        self,
        name: str,
        address: str,
        *,
        shows: str = "main",
        size: tuple[int, int] = DESK,
        then: Callable[[Page], object] = str,
    ) -> None:
        """One picture of an address in each look, after `then` was done there, with the element `shows` in view."""
        for look in LOOKS:
            path = HERE / f"{name}.{look}.png"
            with self.window(look, size=size) as page:
                page.goto(address)
                page.wait_for_load_state("networkidle")
                then(page)
                page.locator(shows).first.scroll_into_view_if_needed()
                page.screenshot(path=path, animations="disabled")
            with Image.open(path) as taken:  # 256 colours are plenty for a screen, and a third of the bytes
                taken.convert("RGB").quantize(256, dither=Image.Dither.NONE).save(path, optimize=True)


def sign_in(camera: Camera, *, email: str, password: str, cookies: Path) -> None:
    with camera.window() as page:
        page.goto("/accounts/login/")
        page.get_by_label("Email").fill(email)
        page.get_by_label("Password").fill(password)
        page.get_by_role("button", name="Sign in").click()
        expect(page).to_have_url(re.compile("/inbox/"))
        page.context.storage_state(path=cookies)
    camera.state = str(cookies)


def chat(page: Page, shop: str) -> str:
    """Ana asks for her refund in the shop's page. The address of her chat, token and all."""
    page.goto(f"{shop}/chat?as=user_123")
    frame = page.frame_locator("iframe")
    frame.locator("#w-text").fill(WISH)
    frame.locator("#w-text").press("Enter")
    expect(frame.locator("#w-state")).to_contain_text("Waiting for sign-off", timeout=30_000)
    return page.locator("iframe").get_attribute("src") or ""


def approve(page: Page, thread: str) -> None:
    page.goto(thread)
    page.locator(".approval-card [data-approve]").last.click()
    expect(page.locator(".approval-card").last).to_have_attribute("data-state", "completed", timeout=30_000)
    expect(page.locator(".approval-card .result h3").last).to_be_visible()


def open_run(page: Page) -> None:
    """The form of a tool, the way one gets to it without a mouse."""
    page.locator("#reply").fill("")
    page.locator("#reply").press_sequentially("/refundOrder")
    expect(page.locator("#slash [role=option]:visible")).to_have_count(1)
    page.locator("#reply").press("Enter")
    page.locator("#run").get_by_label("Order number").fill("ORD-1042")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    for name in ("median", "shop", "email", "password"):
        parser.add_argument(name)
    asked = parser.parse_args()
    cookies = HERE / "cookies.json"
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=shutil.which("chromium"), args=["--no-sandbox"])
        camera = Camera(browser, asked.median)
        camera.take("sign-in", "/accounts/login/")
        with camera.window() as page:
            widget = chat(page, asked.shop)
            camera.take("widget", widget, shows="#w-state", size=FRAME)
        try:
            sign_in(camera, email=asked.email, password=asked.password, cookies=cookies)
            with camera.window() as page:
                page.goto("/inbox/?f=approval")
                page.locator(".qrow").first.click()
                expect(page.locator(".approval-card").last).to_have_attribute("data-state", "pending")
                thread = page.url
                customer = page.locator(".details h2 a").get_attribute("href") or ""
            camera.take("queue", "/inbox/")
            camera.take("thread-pending", thread, shows=".approval-card[data-state=pending]")
            with camera.window() as page:
                approve(page, thread)
            camera.take("thread-approved", thread, shows=".approval-card[data-state=completed]")
            camera.take("run-dialog", thread, shows="#run", then=open_run)
            camera.take("logs", "/logs/?type=tools", then=lambda page: page.locator("#events summary").first.click())
            camera.take("customer", customer)
            for name, address in PAGES.items():
                camera.take(name, address)
        finally:
            cookies.unlink(missing_ok=True)


if __name__ == "__main__":
    main()
