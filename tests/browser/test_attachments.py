"""Files in real windows: picked, dropped and pasted, taken away, sent, seen by the others at once, opened large."""

import base64

from playwright.sync_api import FilePayload, Locator, Page, expect

from conversations import threads
from conversations.models import Conversation, Item
from tests import files
from tests import world as worlds
from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.web_process import WebProcess
from tests.world import World

LID: FilePayload = {"name": "lid.png", "mimeType": "image/png", "buffer": files.png()}
PAGE: FilePayload = {"name": "page.html", "mimeType": "text/html", "buffer": b"<script>alert(1)</script>"}
# What the browser's own drag and the clipboard would hand over, with a file in it.
HAND_OVER = """(where, [kind, name, encoded]) => {
  const bytes = Uint8Array.from(atob(encoded), (each) => each.charCodeAt(0)), data = new DataTransfer();
  data.items.add(new File([bytes], name, { type: "image/png" }));
  const options = { bubbles: true, cancelable: true };
  const made = kind === "paste" ? new ClipboardEvent(kind, { ...options, clipboardData: data })
    : new DragEvent(kind, { ...options, dataTransfer: data });
  where.dispatchEvent(made);
}"""


def hand_over(where: Locator, kind: str, name: str) -> None:
    where.evaluate(HAND_OVER, [kind, name, base64.b64encode(files.png()).decode()])


def attached(page: Page) -> Locator:
    return page.locator(".attached li")


def loaded(picture: Locator) -> None:
    expect(picture).to_be_visible()
    expect(picture).to_have_js_property("complete", True)
    assert picture.evaluate("img => img.naturalWidth") > 0


def test_picked_dropped_pasted_taken_away_and_seen_by_the_other_at_once(
    live_world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    world = live_world
    conversation = threads.start(world.ana)
    sam, kim = open_window(web.url, world.sam), open_window(web.url, world.kim)
    for page in (sam, kim):
        page.goto(f"/inbox/{conversation.id}/")
    sam.locator("input[type=file]").set_input_files([LID, PAGE])
    expect(attached(sam)).to_have_count(2)
    hand_over(sam.locator("#reply"), "paste", "pasted.png")
    hand_over(sam.locator(".stream"), "dragover", "dropped.png")
    expect(sam.locator("#composer")).to_have_attribute("data-dropping", "")
    hand_over(sam.locator(".stream"), "drop", "dropped.png")
    expect(sam.locator("#composer")).not_to_have_attribute("data-dropping", "")
    expect(sam.locator(".attached progress")).to_have_count(0)
    expect(sam.locator(".attached bdi")).to_have_text(["lid.png", "page.html", "pasted.png", "dropped.png"])
    loaded(sam.locator(".attached img").first)

    sam.reload()  # what is up and not sent is still there
    expect(attached(sam)).to_have_count(4)
    sam.get_by_role("button", name="Remove pasted.png").press("Enter")
    expect(sam.get_by_role("button", name="Remove dropped.png")).to_be_focused()
    sam.get_by_role("button", name="Send").click()

    for page in (sam, kim):
        message = page.locator(".msg--team")
        expect(message.locator(".picture img")).to_have_count(2)
        expect(message.locator(".file")).to_have_text("page.html 25 bytes")
        loaded(message.locator(".picture img").first)
    expect(attached(sam)).to_have_count(0)
    assert [file.name for file in Item.objects.get(kind="team").sent] == ["lid.png", "page.html", "dropped.png"]

    kim.locator(".picture").first.click()
    dialog = kim.get_by_role("dialog", name="lid.png")
    loaded(dialog.get_by_role("img", name="lid.png"))
    kim.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    expect(kim.locator(".picture").first).to_be_focused()


def test_a_refused_file_is_named_and_costs_nothing_that_was_typed(
    live_world: World, web: WebProcess, open_window: OpenWindow, complaints: Complaints
) -> None:
    conversation = threads.start(live_world.ana)
    sam = open_window(web.url, live_world.sam)
    sam.goto(f"/inbox/{conversation.id}/")
    sam.locator("#mode-note").check(force=True)
    sam.locator("#reply").fill("Here is how")
    bomb: FilePayload = {"name": "bomb.png", "mimeType": "image/png", "buffer": files.huge_png()}
    sam.locator("input[type=file]").set_input_files([bomb])
    fault = sam.locator(".attach-fault")
    expect(fault).to_have_text("“bomb.png” is too large a picture: 900 megapixels, where 40 are the most.")
    complaints.take("422")
    sam.locator("input[type=file]").set_input_files([{**PAGE, "name": f"{n}.txt"} for n in range(6)])
    expect(fault).to_have_text("A message has at most 5 files. “5.txt” was left out.")
    expect(sam.locator(".attached progress")).to_have_count(0)
    sam.locator("#mode-reply").check(force=True)  # as its text is, a note's files are not the reply's
    expect(sam.locator(".attached")).to_be_hidden()
    sam.locator("#mode-note").check(force=True)
    expect(sam.locator(".attached li:visible")).to_have_count(5)
    sam.locator("#reply").press("Control+Enter")
    expect(sam.locator(".msg--note .file")).to_have_count(5)
    expect(sam.locator(".msg--note")).to_contain_text("Here is how")


def test_a_customer_sends_a_picture_from_a_phone_and_sees_what_comes_back(
    live_world: World, web: WebProcess, open_window: OpenWindow
) -> None:
    world = live_world
    customer = open_window(web.url)
    customer.set_viewport_size({"width": 360, "height": 740})
    customer.goto(f"/widget/fernhill/#token={worlds.session_token(world.ana)}")
    expect(customer.locator("#w-foot")).to_have_text("Signed in as ana@example.com")
    customer.locator("input[type=file]").set_input_files([LID])
    expect(customer.locator(".attached bdi")).to_have_text("lid.png")
    expect(customer.locator(".attached progress")).to_have_count(0)
    customer.get_by_role("button", name="Send", exact=True).click()
    loaded(customer.locator(".w-msg--me .picture img"))
    expect(attached(customer)).to_have_count(0)

    conversation = Conversation.objects.get()
    assert conversation.excerpt == "lid.png"
    sam = open_window(web.url, world.sam)
    sam.set_viewport_size({"width": 360, "height": 740})
    sam.goto(f"/inbox/{conversation.id}/")
    loaded(sam.locator(".msg--customer .picture img"))
    sam.locator("input[type=file]").set_input_files([PAGE])
    sam.get_by_role("button", name="Send").click()  # waits until the file is up
    expect(customer.locator(".w-msg .file")).to_contain_text("page.html")
    with customer.expect_download() as saved:
        customer.locator(".w-msg .file").click()
    assert saved.value.suggested_filename == "page.html"
    customer.locator(".picture").click()
    loaded(customer.get_by_role("dialog", name="lid.png").get_by_role("img"))
    for page in (customer, sam):
        assert page.evaluate("() => document.documentElement.scrollWidth") <= 360
