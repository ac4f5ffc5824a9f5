"""Secrets at rest: text sealed under a key derived from the installation's secret. What is sealed is the caller's."""

import base64
import binascii
import os
from typing import Final

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes

_PREFIX: Final = "v1."
_CONTEXT: Final = b"median secrets at rest v1"  # parts this key from every other use of the installation's secret
_NONCE_BYTES: Final = 12


class UnsealError(Exception):
    """A sealed value cannot be read; the message says why and never holds the value."""


def seal(text: str) -> str:
    """Encrypt (AES-256-GCM) under `SECRET_KEY`. The same text seals differently each time."""
    nonce = os.urandom(_NONCE_BYTES)
    box = nonce + _cipher(settings.SECRET_KEY).encrypt(nonce, text.encode(), _CONTEXT)
    return _written(box)


def unseal(sealed: str) -> str:
    """The text that was sealed. Raises UnsealError.

    `SECRET_KEY` is tried and then each of `SECRET_KEY_FALLBACKS`, so the installation's secret can be changed while
    values sealed under the former one are still around.
    """
    box = _box(sealed)
    for candidate in [settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS]:
        try:
            return _cipher(candidate).decrypt(box[:_NONCE_BYTES], box[_NONCE_BYTES:], _CONTEXT).decode()
        except InvalidTag:
            continue
    raise UnsealError("The value was sealed under another installation secret, or was changed since.")


def _written(box: bytes) -> str:
    return _PREFIX + base64.urlsafe_b64encode(box).decode()


def _box(sealed: str) -> bytes:
    if not sealed.startswith(_PREFIX):
        raise UnsealError("The value is not one that this version of Median sealed.")
    try:
        box = base64.b64decode(sealed.removeprefix(_PREFIX), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError) as error:
        raise UnsealError("The sealed value is damaged.") from error
    if _written(box) != sealed:  # the last character has bits that no byte needs
        raise UnsealError("The sealed value is damaged.")
    if len(box) < _NONCE_BYTES + 16:
        raise UnsealError("The sealed value is cut off.")
    return box


def _cipher(secret: str | bytes) -> AESGCM:
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=None, info=_CONTEXT).derive(force_bytes(secret)))
