"""axe-core on what a window shows, in light and dark, at a desk and on a phone. Only its two worst grades count."""

from collections.abc import Iterator
from typing import Final, Literal

from axe_playwright_python.base import AXE_SCRIPT
from playwright.sync_api import Page, ViewportSize

DESK: Final[ViewportSize] = {"width": 1280, "height": 800}
PHONE: Final[ViewportSize] = {"width": 360, "height": 740}
BAD: Final = {"serious", "critical"}
ALL: Final[dict[str, object]] = {"resultTypes": ["violations"], "preload": False}  # no style sheet is fetched again
COLOURS: Final[dict[str, object]] = {**ALL, "runOnly": ["color-contrast"]}
# The first two have every theme and every width in them; the others only add colours.
LOOKS: Final[list[tuple[Literal["light", "dark"], ViewportSize, dict[str, object]]]] = [
    ("light", DESK, ALL),
    ("dark", PHONE, ALL),
    ("light", PHONE, COLOURS),
    ("dark", DESK, COLOURS),
]

# The dashboard's pages scroll inside; others may be long, never wide.
_SPILLS: Final = """() => {
  const { scrollWidth, scrollHeight } = document.documentElement;
  return scrollWidth > innerWidth || (document.body.matches(".app") && scrollHeight > innerHeight);
}"""


class Judge:
    """Looks at pages, and keeps what is wrong with them until all have been seen."""

    def __init__(self, page: Page) -> None:
        self.found: list[str] = []
        self.watch(page)

    def watch(self, page: Page) -> None:
        """From now on it looks at this one."""
        # Not evaluated in the page afterwards: so the page's own policy stays in force, and is tested along.
        page.context.add_init_script(AXE_SCRIPT)
        page.emulate_media(reduced_motion="reduce")
        self.page = page

    def visit(self, address: str) -> None:
        """Goes there and looks."""
        self.page.goto(address)
        self.page.locator("h1, h2").first.wait_for()
        self.see(address)

    def see(self, what: str) -> None:
        """The page as it is, `what` in words."""
        for scheme, size, options in LOOKS:
            self.page.emulate_media(color_scheme=scheme)
            self.page.set_viewport_size(size)
            where = f"{what}, {scheme}, {size['width']} px"
            self.found += [f"{where}: {wrong}" for wrong in _wrong(self.page, options)]
            if self.page.evaluate(_SPILLS):
                self.found.append(f"{where}: the window scrolls")


def _wrong(page: Page, options: dict[str, object]) -> Iterator[str]:
    """Each broken rule and the elements that break it."""
    answer = page.evaluate("(options) => axe.run(document, options)", options)
    for violation in answer["violations"]:
        if violation["impact"] in BAD:
            nodes = [" ".join(map(str, node["target"])) for node in violation["nodes"]]
            yield f"{violation['id']} ({violation['impact']}): {nodes}"
