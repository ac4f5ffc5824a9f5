"""Messages that only one browser can read (RFC 8291, in one record of RFC 8188's aes128gcm). Pure.

The push service in between sees how long they are and nothing else.
"""

import base64
import binascii
import os
from typing import Final

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat

# What push services take; one record holds it.
LIMIT: Final = 3_000
_RECORD_SIZE: Final = 4_096
_AUTH_BYTES: Final = 16


class KeyRefused(ValueError):
    """These are no keys of a browser."""


def check(p256dh: str, auth: str) -> None:
    """Whether messages can be sealed for these keys, both base64url. Raises KeyRefused."""
    try:
        ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decoded(p256dh))
        if len(_decoded(auth)) == _AUTH_BYTES:
            return
    except (ValueError, binascii.Error) as error:
        raise KeyRefused(str(error)) from error
    raise KeyRefused("The secret has another length.")


def seal(message: bytes, *, p256dh: str, auth: str) -> bytes:
    """The body of the request to the push service, under `Content-Encoding: aes128gcm`. At most LIMIT bytes go in."""
    if len(message) > LIMIT:
        raise ValueError(f"{len(message)} bytes are too many.")
    theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), _decoded(p256dh))
    own = ec.generate_private_key(ec.SECP256R1())
    return _sealed(message, own=own, theirs=theirs, auth=_decoded(auth), salt=os.urandom(16))


def point(key: ec.EllipticCurvePublicKey) -> bytes:
    """The public key as an uncompressed point, 65 bytes."""
    return key.public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)


def base64url(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()


def _sealed(
    message: bytes, *, own: ec.EllipticCurvePrivateKey, theirs: ec.EllipticCurvePublicKey, auth: bytes, salt: bytes
) -> bytes:
    sender = point(own.public_key())
    both = b"WebPush: info\0" + point(theirs) + sender
    shared = _derived(own.exchange(ec.ECDH(), theirs), salt=auth, info=both, length=32)
    key = _derived(shared, salt=salt, info=b"Content-Encoding: aes128gcm\0", length=16)
    nonce = _derived(shared, salt=salt, info=b"Content-Encoding: nonce\0", length=12)
    head = salt + _RECORD_SIZE.to_bytes(4, "big") + len(sender).to_bytes(1, "big") + sender
    return head + AESGCM(key).encrypt(nonce, message + b"\x02", None)  # 2: the last record


def _derived(secret: bytes, *, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


def _decoded(text: str) -> bytes:
    return base64.b64decode(text.rstrip("=") + "=" * (-len(text.rstrip("=")) % 4), altchars=b"-_", validate=True)
