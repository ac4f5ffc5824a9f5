"""Settings > Email: who may set it up, and what each press does."""

from collections.abc import Callable

import pytest
from django.test import Client

from mail import channels
from mail.models import EmailChannel
from team.models import Teammate
from tests.mail.conftest import Hand
from tests.mail.letters import ADDRESS, letter
from tests.mail.smtp_server import Postbox
from tests.world import World

SignIn = Callable[[Teammate], Client]
SAID = {"address": " Support@Fernhill.example ", "name": "Fernhill", "signs_replies": "1"}


def test_an_owner_sets_it_up_renews_and_removes_it(world: World, browser_of: SignIn) -> None:
    browser = browser_of(world.sam)
    assert browser.post("/settings/email/save", SAID).status_code == 302
    first = channels.token_of(EmailChannel.objects.get(address=ADDRESS))
    assert f"/channels/email/{first}" in browser.get("/settings/email/").content.decode()

    browser.post("/settings/email/renew")
    assert browser.post(f"/channels/email/{first}", b"x", content_type="message/rfc822").status_code == 404
    browser.post("/settings/email/remove")

    assert not EmailChannel.objects.exists()
    assert browser.post("/settings/email/remove").status_code == 404


@pytest.mark.parametrize("path", ["save", "renew", "remove", "test"])
def test_a_member_and_a_get_change_nothing(path: str, channel: EmailChannel, world: World, browser_of: SignIn) -> None:
    before = EmailChannel.objects.values().get()

    pressed = browser_of(world.kim).post(f"/settings/email/{path}", SAID)
    got = browser_of(world.sam).get(f"/settings/email/{path}")

    assert (pressed.status_code, got.status_code) == (403, 405)
    assert EmailChannel.objects.values().get() == before
    assert browser_of(world.kim).get("/settings/email/").status_code == 403


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"address": "no address"}, "Type an address such as support@example.com, without a plus."),
        ({"address": "a+b@fernhill.example"}, "Type an address such as support@example.com, without a plus."),
        ({"name": " "}, "The name has 1 to 80 characters."),
    ],
)
def test_what_cannot_be_kept_is_named(wrong: dict[str, str], said: str, world: World, browser_of: SignIn) -> None:
    answer = browser_of(world.sam).post("/settings/email/save", SAID | wrong, headers={"HX-Request": "true"})

    assert (answer.status_code, answer.content.decode()) == (400, said)
    assert not EmailChannel.objects.exists()


def test_an_address_is_one_workspaces_alone(channel: EmailChannel, world: World, browser_of: SignIn) -> None:
    answer = browser_of(world.mallory).post("/settings/email/save", SAID, headers={"HX-Request": "true"})

    assert answer.content.decode() == "This address is in use already."
    assert ADDRESS not in browser_of(world.mallory).get("/settings/email/").content.decode()


def test_what_was_left_aside_is_listed(hand_in: Hand, world: World, browser_of: SignIn) -> None:
    hand_in(letter(Subject="<b>News</b>", List_Id="<news.example.com>"))

    page = browser_of(world.sam).get("/settings/email/").content.decode()

    assert "&lt;b&gt;News&lt;/b&gt;" in page
    assert "list-id" in page


def test_a_test_mail_goes_to_who_presses(
    channel: EmailChannel, world: World, browser_of: SignIn, postbox: Postbox
) -> None:
    page = browser_of(world.sam).post("/settings/email/test").content.decode()

    sender, to, mail = postbox.got[0]
    assert (sender, to, mail["Auto-Submitted"]) == (ADDRESS, ["sam@fernhill.example"], "auto-generated")
    assert "The mail server took a test mail to <bdi>sam@fernhill.example</bdi>" in page


def test_what_the_mail_server_says_to_a_test_mail_is_shown(
    channel: EmailChannel, world: World, browser_of: SignIn, postbox: Postbox, settings: pytest.FixtureRequest
) -> None:
    postbox.answers = ["550 5.7.1 <b>Not</b> with hunter2"]
    browser = browser_of(world.sam)
    settings.EMAIL_HOST_PASSWORD = "hunter2"  # without a user nobody signs in
    refused = browser.post("/settings/email/test").content.decode()
    settings.EMAIL_PORT = 1
    unreachable = browser.post("/settings/email/test").content.decode()
    settings.EMAIL_BACKEND = "django.core.mail.backends.dummy.EmailBackend"
    printed = browser.post("/settings/email/test").content.decode()

    assert "The mail server answered 550: 5.7.1 &lt;b&gt;Not&lt;/b&gt; with …." in refused
    assert "The mail server could not be reached." in unreachable
    assert "Nothing leaves this installation." in printed
    assert postbox.got == []
