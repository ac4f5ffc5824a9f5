"""Addresses of mail: made comparable, and those that lead an answer back to its conversation. Pure."""

import base64
import re
from typing import Final

from django.utils.crypto import constant_time_compare, salted_hmac

# RFC 5321: what stands before the @ has at most so many characters.
_LOCAL_LIMIT: Final = 64
_KEY_LENGTH: Final = 12  # of 32 letters each: 60 bits
_TAG: Final = re.compile(r"([a-z0-9]{32})\.([a-z2-7]{12})")
_PLAIN: Final = re.compile(
    r"[a-z0-9!#$%&'*/=?^_`{|}~.-]+@[a-z0-9](?:[a-z0-9.-]*[a-z0-9])?\.[a-z0-9-]{2,63}|[a-z0-9._-]+@localhost"
)


def is_plain(address: str) -> bool:
    """Whether this can be a workspace's address: lower case, no tag, a domain."""
    return len(address) <= 254 and bool(_PLAIN.fullmatch(address)) and len(address.rpartition("@")[0]) <= _LOCAL_LIMIT


def untagged(address: str) -> str:
    """The address without what stands after a plus: whose mailbox it is."""
    local, _, domain = address.lower().rpartition("@")
    return f"{local.partition('+')[0]}@{domain}"


def signed(address: str, *, conversation_id: str) -> str:
    """Where answers to a conversation go. The address itself if there is no room for a key in it."""
    local, _, domain = address.rpartition("@")
    tagged = f"{local}+{conversation_id}.{_key(address, conversation_id)}"
    return f"{tagged}@{domain}" if len(tagged) <= _LOCAL_LIMIT else address


def conversation_of(recipient: str, *, address: str) -> str:
    """The conversation whose signed address this is; empty for any other, and for one that somebody made up."""
    local, _, domain = recipient.lower().rpartition("@")
    base, _, tag = local.partition("+")
    found = _TAG.fullmatch(tag)
    if f"{base}@{domain}" != address or not found:
        return ""
    return found[1] if constant_time_compare(found[2], _key(address, found[1])) else ""


def _key(address: str, conversation_id: str) -> str:
    digest = salted_hmac("mail.addresses", f"{address} {conversation_id}", algorithm="sha256").digest()
    return base64.b32encode(digest).decode().lower()[:_KEY_LENGTH]
