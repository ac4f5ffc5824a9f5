"""Every page and every state of it, judged by axe-core in light and dark, at a desk and on a phone.

The demo's workspace is the world here: its threads have been through everything. Like every browser test these fail on
console errors and on violations of the policy too.
"""

from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.recovery_codes.internal.auth import RecoveryCodes
from allauth.mfa.totp.internal import auth as totp_auth
from django.core.management import call_command
from playwright.sync_api import Page, expect

from approvals.models import State, ToolApproval
from conversations import lessons
from conversations.models import Conversation, Customer
from median_site.preview.views import ERRORS, GROUPS
from team import invitations
from team.models import Notification, NotificationKind, Teammate
from tests import world as worlds
from tests.browser.axe import EVERY_LOOK, LOOKS, PHONE, Judge
from tests.browser.conftest import OpenWindow
from tests.chromium import Complaints
from tests.web_process import WebProcess, serving
from tests.world import World
from tools import http_tools, tool_versions
from tools.models import Endpoint
from webhooks import deliveries, subscriptions

pytestmark = pytest.mark.django_db(transaction=True)

STOCK = {
    "name": "stockLevel",
    "description": "How many are left.",
    "risk": "low",
    "method": "GET",
    "url": "http://127.0.0.1:9/stock",
}
PASSWORD = "correct horse battery"
PASSKEY = {"name": "This laptop", "credential": {"clientExtensionResults": {"credProps": {"rk": True}}}}
# Threads that between them have every line and every state of a card.
THREADS = ("Mei-Lin Chou", "Jonas Weber", "حسن المصري", "Oliver Banks", "Ana Souza")
PAGES = {
    "main": ["/", "/inbox/", "/inbox/?q=ORD", "/inbox/?q=zzz", "/approvals/", "/approvals/?status=denied", "/logs/"],
    "more": ["/notifications/", "/customers/", "/customers/{customer}/", "/logs/?q=zzz", "/nowhere/"],
    "requests": ["/approvals/{waiting}/", "/approvals/{denied}/"],
    "thread": [f"{{thread}}{part}" for part in ("earlier/", "tools/", "tools/refundOrder/", "assign", "snooze")],
    "agent": ["/agent/", "/agent/reviewer/"]
    + [f"/agent/tools/{part}" for part in ("", "endpoints/{endpoint}/", "refundOrder/", "stockLevel/")]
    + [f"/agent/tools/http/{part}" for part in ("new", "differences", "versions/", "versions/1/", "import")],
    "settings": ["/settings/"]
    + [f"/settings/{part}/" for part in ("people", "replies", "widget", "keys", "email", "discord", "alerts")]
    + [f"/settings/{part}/" for part in ("alerts/own", "webhooks", "webhooks/{webhook}", "notifications", "account")],
    "account": [f"/accounts/{part}/" for part in ("password/change", "logout")] + ["/v1/docs", "/assistant/"],
}
FRAMES = ["/", "/inbox/", "/settings/"]
SECOND_STEPS = {
    "totp/activate": "Turn on an authenticator app",
    "webauthn/add": "Add a passkey",
    "webauthn": "Your passkeys",
    "recovery-codes/generate": "Make new recovery codes?",
    "recovery-codes": "Recovery codes",
    "totp/deactivate": "Turn off the authenticator app?",
}


@pytest.fixture
def sam(transactional_db: None) -> Teammate:
    """The demo's owner, in a workspace where no list is empty."""
    call_command("prepare_demo", "--json", stdout=StringIO())
    sam = Teammate.objects.get(name="Sam Okafor")
    thread = Conversation.objects.get(customer__name="Mei-Lin Chou")
    lessons.keep(thread, ["Mei-Lin finds the dark blend too dark."])
    invitations.make(by=sam.actor, email="new@fernhill.example", role="member")
    webhook, _ = subscriptions.add("http://127.0.0.1:9/hook", by=sam.actor)
    deliveries.test(webhook.id, by=sam.actor)
    Notification.objects.create(
        workspace=sam.workspace, teammate=sam, kind=NotificationKind.MENTION, conversation_id=thread.id
    )
    http_tools.save(STOCK, by=sam.actor)
    tool_versions.publish(by=sam.actor)
    http_tools.save({**STOCK, "name": "stockOrder"}, by=sam.actor)
    return sam


@pytest.fixture
def judge() -> Iterator[Judge]:
    judge = Judge()
    yield judge
    assert judge.found == []


def thread_of(name: str) -> str:
    return f"/inbox/{Conversation.objects.get(customer__name=name).id}/"


def put_away(page: Page, dialog: str) -> None:
    page.keyboard.press("Escape")
    expect(page.locator(dialog)).to_be_hidden()


def pages(judge: Judge, sam: Teammate, complaints: Complaints) -> None:
    ids = {
        "customer": Customer.objects.get(name="Mei-Lin Chou").id,
        "waiting": ToolApproval.objects.filter(state=State.PENDING)[0].id,
        "denied": ToolApproval.objects.filter(state=State.DENIED)[0].id,
        "thread": thread_of("Mei-Lin Chou"),
        "endpoint": Endpoint.objects.get().id,
        "webhook": subscriptions.listed(sam.workspace_id)[0].id,
    }
    for address in [thread_of(name) for name in THREADS] + sum(PAGES.values(), []):
        judge.visit(address.format(**ids), looks=EVERY_LOOK if address in FRAMES else LOOKS)
    complaints.take("404")


def what_opens_in_a_thread(judge: Judge) -> None:
    page = judge.page
    page.goto(thread_of("Mei-Lin Chou"))
    reply, options = page.locator("#reply"), page.locator("#slash [role=option]:visible")
    reply.press_sequentially("/re")
    expect(options.first).to_be_visible()
    judge.see("the slash menu")
    reply.fill("")
    page.locator("#mode-note").check()
    reply.press_sequentially("Look, @")
    expect(options.first).to_be_visible()
    judge.see("teammates to mention")
    reply.fill("")
    reply.blur()

    for key, dialog in {"d": "#deny", "?": "#keys", "Control+k": "#palette"}.items():
        page.keyboard.press(key)
        expect(page.locator(dialog)).to_be_visible()
        judge.see(dialog)
        put_away(page, dialog)
    for question in ("Assign", "Snooze"):
        page.get_by_role("button", name="More actions").click()
        judge.see("the thread's menu")
        page.get_by_role("link", name=question).click()
        expect(page.locator("#asks")).to_be_visible()
        judge.see(question)
        put_away(page, "#asks")
    for opener, menu in {"More filters": "#queue-filter", "Sam Okafor, your account": "#account"}.items():
        page.get_by_role("button", name=opener).click()
        judge.see(opener)
        put_away(page, menu)
    page.locator(".tool-list").get_by_role("link", name="Refund order").click()
    expect(page.locator("#run")).to_be_visible()
    judge.see("the run dialog")
    put_away(page, "#run")
    page.set_viewport_size(PHONE)
    page.get_by_role("button", name="Customer details").click()
    judge.see("the details, opened on a phone")


def what_opens_on_other_pages(judge: Judge, complaints: Complaints) -> None:
    page = judge.page
    endpoint = Endpoint.objects.get().url
    page.goto("/agent/tools/")
    page.get_by_role("button", name="Add endpoint").click()
    add = page.get_by_role("dialog", name="Add endpoint")
    add.get_by_label("Address").fill(endpoint)
    add.get_by_role("button", name="Add and sync").click()
    expect(add.get_by_text("This endpoint is in the list already.")).to_be_visible()
    judge.see("an endpoint refused")
    complaints.take("409 from")
    complaints.take("Failed to load")
    put_away(page, "#add")
    page.get_by_role("button", name="More actions for").click()
    page.get_by_role("button", name="Remove endpoint").locator("visible=true").click()
    judge.see("the question before a removal")
    put_away(page, "dialog[open]")
    for link in (endpoint, "Test Order status"):
        page.get_by_role("link", name=link, exact=True).click()
        expect(page.locator("#drawer")).to_be_visible()
        judge.see(f"the drawer of {link}")
        put_away(page, "#drawer")

    page.goto("/inbox/?q=zzz")
    expect(page.get_by_text("No message, customer or order has this word.")).to_be_visible()
    judge.see("a search that finds nothing")
    page.get_by_role("link", name="Assistant").click()
    expect(page.get_by_label("Ask the assistant")).to_be_focused()
    judge.see("the assistant's panel")
    page.goto("/approvals/")
    page.locator("#choose-all").check()
    page.get_by_role("button", name="Deny chosen").click()
    page.locator("#reason").wait_for()
    judge.see("a denial of several")
    page.goto("/logs/")
    page.locator("#events summary").first.click()
    judge.see("an event opened")
    page.goto("/settings/keys/")
    page.get_by_role("button", name="New key").click()
    judge.see("a new key")
    page.get_by_label("What it is for").fill("Deploy script")
    page.get_by_role("button", name="Make the key").click()
    page.locator("#new-key").wait_for()
    judge.see("the key, once")


def the_widget(judge: Judge, complaints: Complaints) -> None:
    page = judge.page
    page.goto("/widget/fernhill/")
    expect(page.locator("#w-intro")).to_be_visible()
    judge.see("the widget, new")
    for name in ("Mei-Lin Chou", "حسن المصري"):
        page.goto("about:blank")
        page.goto(f"/widget/fernhill/#token={worlds.session_token(Customer.objects.get(name=name))}")
        expect(page.locator(".w-msg").first).to_be_visible()
        judge.see(f"the widget of {name}")
    page.context.set_offline(True)
    page.get_by_role("textbox").fill("Are you there?")
    page.get_by_role("textbox").press("Enter")
    expect(page.get_by_role("alert").filter(has_text="Not sent yet.")).to_be_visible()
    judge.see("a message that waits for the line")
    page.context.set_offline(False)
    expect(page.get_by_role("alert").filter(has_text="Not sent yet.")).to_be_hidden()
    complaints.take("ERR_INTERNET_DISCONNECTED")


def test_pages_and_what_opens_on_them(
    judge: Judge, web: WebProcess, open_window: OpenWindow, sam: Teammate, complaints: Complaints
) -> None:
    """In one window: making the demo's workspace takes as long as looking at ten pages of it."""
    judge.watch(open_window(web.url, sam))
    pages(judge, sam, complaints)
    what_opens_in_a_thread(judge)
    what_opens_on_other_pages(judge, complaints)
    judge.watch(open_window(web.url))
    the_widget(judge, complaints)


def sign_in(page: Page, password: str) -> None:
    page.goto("/accounts/login/")
    page.get_by_label("Email").fill("sam@fernhill.example")
    page.get_by_label("Password").fill(password)
    page.get_by_role("button", name="Sign in", exact=True).click()


def test_signing_in_and_the_second_step(judge: Judge, web: WebProcess, open_window: OpenWindow, world: World) -> None:
    judge.watch(open_window(web.url))
    page = judge.page
    for address in ("password/reset", "password/reset/done", "signup", "login"):
        judge.visit(f"/accounts/{address}/")
    sign_in(page, "wrong")
    expect(page.get_by_role("alert")).to_be_visible()
    judge.see("a wrong password")

    sign_in(page, PASSWORD)
    page.wait_for_url("**/inbox/")
    judge.visit("/accounts/2fa/totp/activate/")
    page.get_by_label("Password").fill(PASSWORD)  # it has to be given again before any of these
    page.get_by_role("button", name="Go on").click()
    for address, heading in SECOND_STEPS.items():
        if address == "webauthn":
            totp_auth.TOTP.activate(world.sam.user, totp_auth.generate_totp_secret())
            RecoveryCodes.activate(world.sam.user)
            Authenticator.objects.create(user=world.sam.user, type="webauthn", data=PASSKEY)
        judge.visit(f"/accounts/2fa/{address}/")
        expect(page.get_by_role("heading", level=1)).to_have_text(heading)
    Authenticator.objects.filter(type="webauthn").delete()

    judge.watch(open_window(web.url))
    sign_in(judge.page, PASSWORD)
    expect(judge.page.get_by_role("heading", level=1)).to_have_text("Your second step")
    judge.see("the second step")


def test_the_preview(
    judge: Judge, open_window: OpenWindow, complaints: Complaints, django_db_setup: None, tmp_path: Path
) -> None:
    with serving(tmp_path / "web.log", MEDIAN_DEBUG="1") as web:
        judge.watch(open_window(web.url))
        for group in GROUPS:
            judge.visit(f"/preview/{group}/")
        for status in ERRORS:
            judge.visit(f"/preview/errors/{status}/")
            complaints.take(str(status))
