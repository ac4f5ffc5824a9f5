"""Fernhill has an address for mail."""

from collections.abc import Callable, Iterator

import pytest
from django.test import Client

from mail import channels
from mail.models import EmailChannel
from tests.mail import smtp_server
from tests.mail.letters import ADDRESS
from tests.mail.smtp_server import Postbox
from tests.world import World

Hand = Callable[..., int]


@pytest.fixture
def channel(world: World) -> EmailChannel:
    return channels.save(by=world.sam.actor, address=ADDRESS, name="Fernhill", signs_replies=True)


@pytest.fixture
def hand_in(channel: EmailChannel, client: Client) -> Hand:
    """Hand a mail in at the channel's own address, as a mail server does. Gives the answer's status."""

    def post(mail: object, *, recipient: str = "") -> int:
        raw = mail if isinstance(mail, bytes) else mail.as_bytes()  # type: ignore[attr-defined]
        path = f"/channels/email/{channels.token_of(channel)}" + (f"?recipient={recipient}" if recipient else "")
        answer = client.post(path, raw, content_type="message/rfc822")
        return answer.status_code

    return post


@pytest.fixture
def postbox(settings: pytest.FixtureRequest) -> Iterator[Postbox]:
    """Where mail goes that leaves."""
    with smtp_server.running() as (box, port):
        settings.EMAIL_BACKEND = "django.core.mail.backends.smtp.EmailBackend"
        settings.EMAIL_HOST, settings.EMAIL_PORT = "127.0.0.1", port
        yield box
