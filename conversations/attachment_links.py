"""The addresses of files. Teammates open them by their session; a customer's chat, which has no cookie, by a key in the
address that is good for half a day to a day."""

from typing import Final, NamedTuple
from urllib.parse import urlencode

from django.core.signing import Signer
from django.urls import reverse
from django.utils.crypto import constant_time_compare

from conversations.files import File
from median_site.lib import clock
from median_site.lib.strict_json import Json

# The same for a whole period, so that a page and a push carry the same bytes and browsers know the picture again.
PERIOD_S: Final = 12 * 3600

_signer: Final = Signer(salt="conversations.attachment_links")


class Link(NamedTuple):
    """Where a file is, and its thumbnail if it is a picture."""

    file: File
    href: str
    small: str

    def as_json(self) -> dict[str, Json]:
        """What the script that sent it up shows of it."""
        small = self.small if self.file.is_picture else None
        return {"id": self.file.id, "name": self.file.name, "size": self.file.size, "small": small}


def for_team(file: File) -> Link:
    path = _path(file)
    return Link(file, path, f"{path}?small=1")


def for_customer(file: File) -> Link:
    """Only for the customer of the file's conversation, and never for a note's."""
    path, key = _path(file), _key(file.id, until=(_now() // PERIOD_S + 2) * PERIOD_S)
    return Link(file, f"{path}?{urlencode({'key': key})}", f"{path}?{urlencode({'key': key, 'small': 1})}")


def is_good(key: str, *, attachment_id: str) -> bool:
    """Whether a key opens this file now."""
    until = key.partition(".")[0]
    is_number = until.isascii() and until.isdecimal() and len(until) < 19
    return is_number and _now() < int(until) and constant_time_compare(key, _key(attachment_id, until=int(until)))


def _path(file: File) -> str:
    return reverse("attachments:show", args=[file.id, file.name])


def _key(attachment_id: str, *, until: int) -> str:
    return f"{until}.{_signer.signature(f'{attachment_id}.{until}')}"


def _now() -> int:
    return int(clock.now().timestamp())
