"""The customer's widget through its door: who may write, what they see, and what never reaches them."""

import base64
import hmac
import json
import re
from datetime import timedelta
from html import unescape

import jwt
import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import transaction
from django.test import Client

from approvals import decisions
from approvals.models import ToolApproval
from conversations import attachments, threads
from conversations.channels import widget_pushes
from conversations.models import Conversation, Customer, Item, ItemKind, Status
from median_site.lib import clock, live
from median_site.lib.actors import Actor, ActorKind
from team.models import Event, Workspace
from tests import files
from tests.world import World
from tools import keys, session_tokens, signing

EXPIRED = "Your sign-in has run out. Reload the page to go on; what you typed is still here."
INVALID = "This chat could not be opened: the sign-in it came with is not valid. Reload the page to try again."


def token_of(workspace: Workspace, subject: str = "user_123", **said) -> str:
    given = {"anonymous": False, "claims": {}, "email": "ana@example.com", "name": "Ana Souza", "now": clock.now()}
    key = keys.current(workspace.id)
    return session_tokens.mint(key, issuer=workspace.issuer, subject=subject, **(given | said))


class Page:
    """What the widget's script does: no cookies, a token in every request."""

    def __init__(self, token: str, *, slug: str = "fernhill") -> None:
        self._http = Client(headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
        self._path = f"/widget/{slug}"

    def thread(self, query: str = ""):
        return self._http.get(f"{self._path}/thread{query}")

    def send(self, text: object = "Where is my order?", *, client_id: object = "first-message", **more: object):
        body = {"text": text, "client_id": client_id, **more}
        return self._http.post(f"{self._path}/messages", json.dumps(body), content_type="application/json")

    def html(self) -> str:
        return "".join(item["html"] for item in self.thread().json()["items"])

    def part(self, id: str) -> str:
        return next(part["html"] for part in self.thread().json()["parts"] if part["id"] == id)


@pytest.fixture
def ana(world: World) -> Page:
    return Page(token_of(world.fernhill))


def agent(world: World) -> Actor:
    return Actor(ActorKind.AGENT, world.fernhill.id, name=world.fernhill.agent_name)


def signed_with_hmac(header: dict[str, str], claims: dict[str, object], *, secret: str) -> str:
    """A JWT as no library makes it any more: the public key taken for a shared secret."""
    parts = [base64.urlsafe_b64encode(json.dumps(part).encode()).rstrip(b"=") for part in (header, claims)]
    mac = hmac.digest(secret.encode(), b".".join(parts), "sha256")
    return b".".join([*parts, base64.urlsafe_b64encode(mac).rstrip(b"=")]).decode()


def asked(world: World, tool: str = "refundOrder") -> ToolApproval:
    """The agent asked to run a tool, and said so."""
    with transaction.atomic():
        conversation = threads.lock(world.conversation.id)
        approval = decisions.request(
            conversation,
            tool=world.tool(tool),
            input_text='{"orderNumber":"ORD-1042","reason":"damaged"}',
            turn_id="turn-1",
            by=agent(world),
        )
        threads.agent_replied(conversation, body="I have asked the team.", ref="turn-1")
    return approval


# The page


def test_the_page_sets_no_cookie_and_may_not_be_framed_unasked(world: World) -> None:
    answer = Client().get("/widget/fernhill/")
    assert answer.status_code == 200
    assert answer.cookies == {}
    assert "frame-ancestors 'none'" in answer["Content-Security-Policy"]
    assert answer["X-Frame-Options"] == "DENY"
    assert "Fernhill" in answer.text
    assert "Median AI, and the team behind it" in answer.text


def test_only_the_workspaces_origins_may_frame_it(world: World) -> None:
    world.fernhill.widget_origins = (
        "https://shop.example\nhttps://Other.example:8443/\n'self'; script-src *\nhttps://a b.example\njavascript:x\n"
        "https://*.fernhill.example\nhttps://path.example/deep"
    )
    world.fernhill.save(update_fields=["widget_origins"])
    answer = Client().get("/widget/fernhill/")
    policy = answer["Content-Security-Policy"].split("; ")
    assert "frame-ancestors https://shop.example https://other.example:8443 https://*.fernhill.example" in policy
    assert "script-src 'self'" in policy
    assert "X-Frame-Options" not in answer


def test_a_workspace_that_is_not_there(world: World) -> None:
    assert Client().get("/widget/nobody/").status_code == 404
    assert Client().post("/widget/nobody/anonymous").status_code == 404
    assert Page(token_of(world.fernhill), slug="nobody").thread().status_code == 404


# Who writes


def test_an_anonymous_visitor_gets_a_token_and_leaves_no_trace(world: World) -> None:
    answer = Client().post("/widget/fernhill/anonymous")
    assert answer.status_code == 201
    payload = jwt.decode(answer.json()["token"], options={"verify_signature": False})
    assert (payload["iss"], payload["anon"]) == ("http://testserver/w/fernhill", True)
    assert payload["exp"] - payload["iat"] == timedelta(days=30).total_seconds()
    page = Page(answer.json()["token"])
    shown = page.thread().json()
    assert (shown["conversation"], shown["items"], shown["foot"]) == ("", [], "Not signed in")
    assert answer.cookies == {}
    assert Customer.objects.count() == 1  # Ana

    assert page.send().status_code == 201
    visitor = Customer.objects.get(verified=False)
    assert (visitor.subject, visitor.workspace_id) == (payload["sub"], world.fernhill.id)


def test_two_anonymous_visitors_are_two_people(world: World) -> None:
    pages = [Page(Client().post("/widget/fernhill/anonymous").json()["token"]) for _ in range(2)]
    pages[0].send("This is for me alone")
    assert pages[1].thread().json()["items"] == []


def test_a_get_gives_no_token(world: World) -> None:
    assert Client().get("/widget/fernhill/anonymous").status_code == 405


def test_what_a_token_says_is_kept_with_the_first_message(world: World) -> None:
    said = {"email": "bo@example.com", "name": "Bo", "claims": {"plan": "pro"}}
    page = Page(token_of(world.fernhill, "user_7", **said))
    assert page.thread().json()["foot"] == "Signed in as bo@example.com"
    assert not Customer.objects.filter(subject="user_7").exists()
    page.send()
    bo = Customer.objects.get(subject="user_7")
    assert (bo.verified, bo.name, bo.email) == (True, "Bo", "bo@example.com")
    conversation = bo.conversations.get()
    assert conversation.claims == {"plan": "pro"}
    assert conversation.claims_expire_at > clock.now()

    later = clock.now() + timedelta(seconds=4)
    newer = token_of(world.fernhill, "user_7", name="Bo Li", email=None, claims={}, now=later)
    Page(newer).send(client_id="second-message")
    bo.refresh_from_db()
    assert (bo.name, bo.email) == ("Bo Li", "bo@example.com")
    conversation.refresh_from_db()
    assert conversation.claims == {}


@pytest.mark.parametrize("call", ["thread", "send"])
def test_a_sign_in_that_has_run_out(world: World, call: str) -> None:
    page = Page(token_of(world.fernhill, now=clock.now() - timedelta(minutes=31)))
    answer = getattr(page, call)()
    assert answer.status_code == 401
    assert answer.json() == {"error": {"code": "session_expired", "message": EXPIRED, "field": None}}
    assert Item.objects.count() == 0


def test_a_sign_in_that_is_not_valid(world: World) -> None:
    public = keys.published(world.fernhill.id)[0]
    claims = {"iss": world.fernhill.issuer, "aud": "median:session", "sub": "user_123", "anon": False, "claims": {}}
    times = {"iat": int(clock.now().timestamp()), "exp": int(clock.now().timestamp()) + 600}
    new = signing.new_key()
    own_key = signing.sign(signing.load_key(public["kid"], new.private_pem), claims=claims | times)
    by_public_key = signed_with_hmac({"alg": "HS256", "kid": public["kid"]}, claims | times, secret=json.dumps(public))
    for forged in [own_key, by_public_key, token_of(world.elsewhere), "not.a.token", ""]:
        for answer in [Page(forged).thread(), Page(forged).send()]:
            assert answer.status_code == 401
            assert answer.json() == {"error": {"code": "session_invalid", "message": INVALID, "field": None}}
    assert Item.objects.count() == 0
    assert Customer.objects.count() == 1
    # Told to the team once, not ten times.
    assert Event.objects.filter(kind="session.refused").count() == 1


def test_no_token_at_all(world: World) -> None:
    answer = Client().get("/widget/fernhill/thread", headers={"Accept": "application/json"})
    assert (answer.status_code, answer.json()["error"]["message"]) == (401, INVALID)


# Writing


def test_a_message_arrives_once(world: World, ana: Page) -> None:
    first, again = ana.send(), ana.send()
    assert first.status_code == again.status_code == 201
    assert first.json() == again.json() == {"id": "item-1", "conversation": world.conversation.id}
    item = world.conversation.items.get(kind=ItemKind.CUSTOMER)
    assert (item.text, item.ref, item.author_id) == ("Where is my order?", "first-message", world.ana.id)
    assert Event.objects.filter(kind="message.customer").count() == 1


@pytest.mark.parametrize(
    ("text", "status", "message"),
    [
        ("  \n", 422, "Write something first."),
        ("x" * 8_001, 422, "A message has at most 8,000 characters."),
        (None, 422, "A message needs a text."),
        (7, 422, "A message needs a text."),
    ],
)
def test_a_text_that_is_refused(ana: Page, text: object, status: int, message: str) -> None:
    answer = ana.send(text)
    assert (answer.status_code, answer.json()["error"]["message"]) == (status, message)
    assert answer.json()["error"]["field"] == "text"
    assert Item.objects.count() == 0


def test_the_longest_text_and_odd_characters(world: World, ana: Page) -> None:
    assert ana.send("x" * 8_000).status_code == 201
    assert ana.send("NUL \0 and half \ud83d", client_id="second-message").status_code == 201
    stored = world.conversation.items.get(ref="second-message")
    assert stored.text == "NUL \N{SYMBOL FOR NULL} and half \N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize("client_id", [None, "", "short", "x" * 65, "with space", 12345678])
def test_an_id_that_is_refused(ana: Page, client_id: object) -> None:
    answer = ana.send(client_id=client_id)
    assert (answer.status_code, answer.json()["error"]["field"]) == (422, "client_id")


def test_a_body_that_is_not_json(world: World) -> None:
    http = Client(headers={"Authorization": f"Bearer {token_of(world.fernhill)}", "Accept": "application/json"})
    answer = http.post("/widget/fernhill/messages", b"{", content_type="application/json")
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "bad_request")


def test_a_message_opens_a_resolved_conversation_and_leaves_a_closed_one(world: World, ana: Page) -> None:
    ana.send()
    threads.end(world.conversation.id, by=world.sam.actor, to=Status.RESOLVED)
    assert ana.send(client_id="second-message").json()["conversation"] == world.conversation.id
    world.conversation.refresh_from_db()
    assert world.conversation.status == Status.OPEN

    threads.end(world.conversation.id, by=world.sam.actor, to=Status.CLOSED)
    new = ana.send("Another thing", client_id="third-message").json()["conversation"]
    assert new != world.conversation.id
    assert ana.thread().json()["conversation"] == new
    assert len(ana.thread().json()["items"]) == 1


# What the customer sees


def test_messages_are_shown_and_everything_internal_is_not(world: World, ana: Page) -> None:
    ana.send("My *kettle* <b>leaks</b>")
    approval = asked(world)
    threads.note(world.conversation.id, by=world.sam.actor, body="She has written before.")
    decisions.deny(approval.id, by=world.sam.actor, reason="Too much money")
    threads.reply(world.conversation.id, by=world.sam.actor, body="Sam here.")
    html = ana.html()
    assert "<em>kettle</em> &lt;b&gt;leaks&lt;/b&gt;" in html
    assert "<b>Median AI</b>" in html
    assert "I have asked the team." in html
    assert "<b>Sam</b>" in html
    assert ana.thread().text.count('"number"') == 3
    answer = ana.thread().text
    for internal in ["written before", "Too much", "Refund order", "refundOrder", "declined", "took the", "Okafor"]:
        assert internal not in answer
    assert "Sam is here" in ana.part("w-head")


def test_waiting_for_the_team_and_its_yes(world: World, ana: Page) -> None:
    ana.send()
    approval = asked(world)
    assert "Waiting for sign-off" in ana.part("w-state")
    assert "Signed off" not in ana.html()
    decisions.approve(approval.id, by=world.sam.actor)
    assert "Waiting for sign-off" not in ana.part("w-state")
    html = ana.html()
    assert html.count("Signed off") == 1
    assert "by the Fernhill team." in html
    assert "Sam" not in html
    assert "refund" not in html.lower()


def test_a_refusal_leaves_no_card(world: World, ana: Page) -> None:
    ana.send()
    decisions.deny(asked(world).id, by=world.sam.actor, reason="No")
    assert 'class="w-wait"' not in ana.thread().text.replace("\\", "")


def test_the_agent_seems_to_write_until_it_has_answered(world: World, ana: Page, time_machine) -> None:
    time_machine.move_to(clock.now(), tick=False)
    assert "w-typing" not in ana.part("w-state")
    ana.send()
    assert "Median AI is writing" in ana.part("w-state")
    with transaction.atomic():
        threads.agent_replied(threads.lock(world.conversation.id), body="On its way.", ref="turn-1")
    assert "w-typing" not in ana.part("w-state")
    ana.send(client_id="second-message")
    threads.take_over(world.conversation.id, by=world.sam.actor)
    assert "w-typing" not in ana.part("w-state")
    threads.hand_back(world.conversation.id, by=world.sam.actor)
    assert "Median AI is writing" in ana.part("w-state")
    time_machine.shift(121)
    assert "w-typing" not in ana.part("w-state")


def test_a_long_thread_comes_in_pages(world: World, ana: Page) -> None:
    for number in range(105):
        threads.customer_wrote(world.conversation.id, body=f"Message {number}", client_id=f"message-{number}")
    newest = ana.thread().json()
    numbers = [item["number"] for item in newest["items"]]
    assert (len(numbers), newest["more"]) == (100, True)
    assert numbers == sorted(numbers)
    earlier = ana.thread(f"?before={numbers[0]}").json()
    assert (len(earlier["items"]), earlier["more"]) == (5, False)
    assert earlier["items"][-1]["number"] < numbers[0]
    assert ana.thread("?before=nonsense").json()["items"] == newest["items"]


# Pushes


def ask(world: World, since: int, conversation: Conversation | None = None) -> live.Ask:
    id = (conversation or world.conversation).id
    return live.Ask(world.fernhill.id, id, since, frozenset({"verified:user_123"}))


def test_a_push_carries_the_bytes_of_the_page(world: World, ana: Page) -> None:
    ana.send()
    asked(world)
    page = ana.thread().json()
    (push,) = widget_pushes.render(ask(world, 0))
    assert push.version == page["version"] == push.payload["version"]
    assert push.payload == {part: page[part] for part in ["kind", "conversation", "version", "items", "parts"]}


def test_a_push_holds_what_is_new(world: World, ana: Page) -> None:
    ana.send()
    version = ana.thread().json()["version"]
    assert widget_pushes.render(ask(world, version)) == []
    ana.send("One more thing", client_id="second-message")
    (push,) = widget_pushes.render(ask(world, version))
    assert ["One more thing" in item["html"] for item in push.payload["items"]] == [True]


def test_too_much_for_a_push_asks_for_the_thread_again(world: World) -> None:
    for number in range(live.MOST + 1):
        threads.customer_wrote(world.conversation.id, body="Hello", client_id=f"message-{number}")
    (push,) = widget_pushes.render(ask(world, 0))
    assert push.payload["kind"] == "refresh"


def test_a_push_is_for_one_workspace(world: World, ana: Page) -> None:
    ana.send()
    assert widget_pushes.render(live.Ask(world.elsewhere.id, world.conversation.id, 0, frozenset())) == []


# Files


def attach(token: str, data: bytes, name: str = "lid.png", *, slug: str = "fernhill"):
    client = Client(headers={"Authorization": f"Bearer {token}", "Accept": "application/json"})
    return client.post(f"/widget/{slug}/attachments", {"file": SimpleUploadedFile(name, data)})


def test_a_first_message_may_be_a_picture_alone(world: World) -> None:
    world.conversation.delete()
    token = token_of(world.fernhill)
    sent = attach(token, files.png())
    assert sent.status_code == 201
    assert not Conversation.objects.exists()
    page = Page(token)
    assert Client().get(sent.json()["small"]).headers["Content-Type"] == "image/webp"
    assert page.send("", files=[sent.json()["id"]]).status_code == 201
    assert page.send("", files=[sent.json()["id"]]).status_code == 201
    item = Item.objects.get()
    assert [file.name for file in item.sent] == ["lid.png"]

    html = page.html()
    href, small = (unescape(re.search(rf'{what}="(/attachments/[^"]+)"', html)[1]) for what in ("href", "src"))
    assert Client().get(href).headers["Content-Type"] == "image/png"
    assert Client().get(small).headers["Content-Type"] == "image/webp"
    [push] = widget_pushes.render(live.Ask(world.fernhill.id, item.conversation_id, 0, frozenset()))
    assert push.payload["items"][0]["html"] == html
    with clock.at(clock.now() + timedelta(hours=24)):
        late = Client().get(href)
    assert late.status_code == 404
    assert "This link no longer works. Reload the chat and open the file from there." in late.text


def test_a_customer_sends_only_their_own_files_and_never_sees_a_notes(world: World, ana: Page) -> None:
    bobs = attach(token_of(world.fernhill, "user_9"), b"x", "bob.txt").json()["id"]
    sams = attachments.store(world.conversation, name="fraud.txt", data=b"x", by=world.sam.actor)
    for wrong in ([bobs], [sams.id], ["\0"], ["no"]):
        refused = ana.send("Hi", files=wrong)
        assert (refused.status_code, refused.json()["error"]["code"]) == (422, "file_gone")
    assert ana.send("Hi", files="lid").status_code == 422
    assert not Item.objects.exists()
    threads.note(world.conversation.id, by=world.sam.actor, body="", files=[sams.id])
    assert "fraud" not in ana.thread().text


def test_what_a_customer_may_send_is_limited(world: World) -> None:
    token = token_of(world.fernhill)
    assert attach("nonsense", b"x").json()["error"]["code"] == "session_invalid"
    assert attach(token, files.huge_png(), "bomb.png").json()["error"] == {
        "code": "picture_too_large",
        "message": "“bomb.png” is too large a picture: 900 megapixels, where 40 are the most.",
        "field": "file",
    }
