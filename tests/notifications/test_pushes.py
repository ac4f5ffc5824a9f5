"""Pushes: sealed for one browser, signed for one service, at least once, and only for those who still need them."""

import base64
from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from asgiref.sync import async_to_sync
from cryptography.hazmat.primitives.asymmetric import ec
from django.contrib.sessions.models import Session
from django.test import Client
from joserfc import jwt
from joserfc.jwk import ECKey

from approvals import decisions
from conversations import handling, threads
from median_site.lib import clock, secrets
from notifications import browsers, jobs, preferences, pushes, sealing, sending
from notifications.models import Browser, Push, Topic
from team import chain, roster
from team.models import Teammate
from tests.approvals.requests import request
from tests.notifications.push_service import Keys, PushService, push_service
from tests.world import World
from tools import calls

pytestmark = pytest.mark.django_db(transaction=True)  # pushes leave from threads of their own
BrowserOf = Callable[[Teammate], Client]


@pytest.fixture
def service() -> Iterator[PushService]:
    with push_service() as served:
        yield served


def subscribe(client: Client, url: str, keys: Keys) -> None:
    answer = client.post("/settings/notifications/browsers", {"endpoint": url, **keys.given})
    assert answer.status_code == 302


def send_all() -> None:
    while chain.link_all():
        pass
    async_to_sync(send)(pushes.claim(limit=100))


async def send(taken: list[Push]) -> None:
    for push in taken:
        await sending.run(push)
    await calls.close()


def decoded(text: str) -> bytes:
    return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


def test_the_example_of_rfc_8291() -> None:
    own = ec.derive_private_key(int.from_bytes(decoded("yfWPiYE-n46HLnH0KqZOF1fJJU3MYrct3AELtAQ-oRw")), ec.SECP256R1())
    theirs = "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4"
    sealed = sealing._sealed(
        b"When I grow up, I want to be a watermelon", own=own, auth=decoded("BTBZMqHH6r4Tts7J_aSIgg"),
        theirs=ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), decoded(theirs)),
        salt=decoded("DGv6ra1nlYgDCS1FRnbzlw"),
    )  # fmt: skip
    assert sealing.base64url(sealed) == (
        "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A"
        "_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN"
    )


def test_a_waiting_request_reaches_the_browser(world: World, browser_of: BrowserOf, service: PushService) -> None:
    keys = Keys()
    subscribe(browser_of(world.kim), service.url, keys)
    approval = request(world)
    send_all()
    [(headers, body)] = service.got
    assert keys.open(body) == {
        "tag": approval.id, "title": "Fernhill", "body": "Needs approval: Refund order",
        "path": f"/approvals/{approval.id}/",
    }  # fmt: skip
    assert headers["content_encoding"] == "aes128gcm"
    assert headers["urgency"] == "high"
    assert 86_000 < int(headers["ttl"]) <= 86_400
    assert len(headers["topic"]) == 32
    token, public = headers["authorization"].removeprefix("vapid t=").split(", k=")
    raw = decoded(public)
    key = ECKey.import_key(
        {"kty": "EC", "crv": "P-256", "x": sealing.base64url(raw[1:33]), "y": sealing.base64url(raw[33:])}
    )
    claims = jwt.decode(token, key, algorithms=["ES256"]).claims
    assert claims["aud"] == service.url.removesuffix("/push/a-browser")
    assert claims["sub"].startswith("mailto:")
    assert claims["exp"] <= clock.now().timestamp() + 24 * 3600
    assert Push.objects.count() == 0
    send_all()
    assert len(service.got) == 1


def test_a_mention_says_who_and_no_word_of_the_note(world: World, browser_of: BrowserOf, service: PushService) -> None:
    keys = Keys()
    subscribe(browser_of(world.kim), service.url, keys)
    threads.note(world.conversation.id, by=world.sam.actor, body=f"@[Kim Ito]({world.kim.id}) Ana is angry")
    handling.assign(world.conversation.id, to=world.kim.id, by=world.sam.actor)
    send_all()
    said = [keys.open(body) for _, body in service.got]
    assert {"title": "Fernhill", "path": f"/inbox/{world.conversation.id}/"}.items() <= said[-1].items()
    assert "Sam assigned the thread to you" in [each["body"] for each in said]
    assert "angry" not in str(said)


def test_nobody_is_told_what_they_need_no_more(world: World, browser_of: BrowserOf, service: PushService) -> None:
    client = browser_of(world.kim)
    subscribe(client, service.url, Keys())
    decided = request(world)
    while chain.link_all():
        pass
    assert Push.objects.count() == 1
    decisions.deny(decided.id, by=world.sam.actor)
    send_all()
    preferences.save(world.kim, push=["mention"], mail=[], rhythm="never", hour="8")
    request(world, tool="cancelSubscription")
    send_all()
    assert service.got == []
    assert Push.objects.count() == 0


@pytest.mark.parametrize("how", ["signed out", "removed", "chose otherwise", "another workspace's now"])
def test_it_ends_between_queueing_and_sending(
    world: World, browser_of: BrowserOf, service: PushService, how: str
) -> None:
    client = browser_of(world.kim)
    subscribe(client, service.url, Keys())
    request(world)
    while chain.link_all():
        pass
    if how == "signed out":
        client.post("/accounts/logout/")
    elif how == "removed":
        roster.remove(world.kim.id, by=world.sam.actor)
    elif how == "another workspace's now":
        subscribe(browser_of(world.mallory), service.url, Keys())
    else:
        preferences.save(world.kim, push=[], mail=[], rhythm="never", hour="8")
    send_all()
    assert service.got == []
    if how == "signed out":
        assert not Session.objects.filter(session_key=Browser.objects.get().session_key).exists()
        assert jobs.hourly() == {"browsers": 1}
    assert Browser.objects.exists() == (how in {"chose otherwise", "another workspace's now"})


def test_the_service_is_busy_then_knows_the_browser_no_more(
    world: World, browser_of: BrowserOf, service: PushService
) -> None:
    subscribe(browser_of(world.kim), service.url, Keys())
    request(world)
    service.status, service.headers = "429 Too Many Requests", [("Retry-After", "900")]
    send_all()
    waiting = Push.objects.get()
    assert timedelta(seconds=890) < waiting.due_at - clock.now() <= timedelta(seconds=900)
    assert pushes.claim(limit=100) == []
    Push.objects.update(due_at=clock.now())
    service.status, service.headers = "410 Gone", []
    send_all()
    assert (len(service.got), Browser.objects.count(), Push.objects.count()) == (2, 0, 0)


def test_two_processes_claim_and_one_that_died_is_followed(world: World, browser_of: BrowserOf) -> None:
    subscribe(browser_of(world.kim), "http://127.0.0.1:9/push", Keys())
    request(world)
    while chain.link_all():
        pass
    assert (len(pushes.claim(limit=9)), len(pushes.claim(limit=9))) == (1, 0)
    Push.objects.update(due_at=clock.now() - timedelta(seconds=1))
    assert [push.attempts for push in pushes.claim(limit=9)] == [2]


@pytest.mark.parametrize(
    ("given", "field"),
    [
        ({"endpoint": "https://10.0.0.1/push"}, "endpoint"),
        ({"endpoint": "ftp://push.example/x"}, "endpoint"),
        ({"endpoint": ""}, "endpoint"),
        ({"p256dh": "AAAA"}, "keys"),
        ({"p256dh": "é"}, "keys"),
        ({"auth": "AAAA"}, "keys"),
    ],
)
def test_what_is_no_subscription_is_refused(
    world: World, browser_of: BrowserOf, given: dict[str, str], field: str
) -> None:
    good = {"endpoint": "http://127.0.0.1:9/push", **Keys().given}
    answer = browser_of(world.kim).post(
        "/settings/notifications/browsers", good | given, headers={"Accept": "application/json"}
    )
    assert 400 <= answer.status_code < 500
    assert answer.json()["error"]["field"] == field
    assert Browser.objects.count() == 0


def test_an_address_and_its_secret_are_sealed(world: World, browser_of: BrowserOf) -> None:
    keys = Keys()
    subscribe(browser_of(world.kim), "http://127.0.0.1:9/push/secret", keys)
    row = Browser.objects.get()
    assert "secret" not in row.sealed_address
    assert secrets.unseal(row.sealed_address) == "http://127.0.0.1:9/push/secret"
    assert keys.given["auth"] not in row.sealed_auth
    subscribe(browser_of(world.sam), "http://127.0.0.1:9/push/secret", keys)  # the same browser, of somebody else now
    assert Browser.objects.get().teammate == world.sam


def test_the_page_lists_tests_and_removes(world: World, browser_of: BrowserOf, service: PushService) -> None:
    client, keys = browser_of(world.kim), Keys()
    assert browsers.public_key() in client.get("/settings/notifications/").content.decode()
    subscribe(client, service.url, keys)
    page = client.post("/settings/notifications/test").content.decode()
    assert "A test is on its way to 1 browser." in page
    send_all()
    assert keys.open(service.got[0][1])["body"] == "This is how Median tells you."
    row = Browser.objects.get()
    assert browser_of(world.sam).post(f"/settings/notifications/browsers/{row.id}/remove").status_code == 404
    client.post(f"/settings/notifications/browsers/{row.id}/remove")
    assert Browser.objects.count() == 0


def test_the_page_says_when_no_mail_leaves(
    world: World, browser_of: BrowserOf, settings: pytest.FixtureRequest
) -> None:
    hint = "This installation only prints mail"
    settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
    assert hint not in browser_of(world.kim).get("/settings/notifications/").content.decode()
    settings.EMAIL_BACKEND = "django.core.mail.backends.console.EmailBackend"
    assert hint in browser_of(world.kim).get("/settings/notifications/").content.decode()


def test_what_is_chosen_is_kept(world: World, browser_of: BrowserOf) -> None:
    client = browser_of(world.kim)
    client.post(
        "/settings/notifications/save", {"push": ["request", "nonsense"], "mail": [], "rhythm": "daily", "hour": "17"}
    )
    chosen = preferences.of(world.kim)
    assert (chosen.push, chosen.mail, chosen.rhythm, chosen.hour) == (["request"], [], "daily", 17)
    for wrong, field in (({"rhythm": "always"}, "rhythm"), ({"hour": "24"}, "hour"), ({"hour": "²"}, "hour")):
        given = {"rhythm": "daily", "hour": "8"} | wrong
        answer = client.post("/settings/notifications/save", given, headers={"Accept": "application/json"})
        assert (answer.status_code, answer.json()["error"]["field"]) == (400, field)
    assert Topic.values == preferences.of(world.sam).push


def test_how_many_statements_a_notification_costs(
    world: World, browser_of: BrowserOf, django_assert_max_num_queries: Callable[[int], object]
) -> None:
    for number in range(5):
        subscribe(browser_of(world.kim), f"http://127.0.0.1:9/push/{number}", Keys())
    request(world)
    while chain.link_all():
        pass
    assert Push.objects.count() == 5
    with django_assert_max_num_queries(5):
        assert len(pushes.claim(limit=9)) == 5
