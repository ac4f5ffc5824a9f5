"""A push service on a port of this machine: what it got, and what it answers. And a browser's keys, which open it."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from median_tools.server import Server

from notifications.sealing import base64url, point


@dataclass
class Keys:
    """What a browser makes for itself when it subscribes."""

    private: ec.EllipticCurvePrivateKey = field(default_factory=lambda: ec.generate_private_key(ec.SECP256R1()))
    auth: bytes = b"sixteen letters!"

    @property
    def given(self) -> dict[str, str]:
        return {"p256dh": base64url(point(self.private.public_key())), "auth": base64url(self.auth)}

    def open(self, body: bytes) -> Any:
        salt, size, length = body[:16], int.from_bytes(body[16:20], "big"), body[20]
        sender, sealed = body[21 : 21 + length], body[21 + length :]
        assert len(sealed) < size
        theirs = ec.EllipticCurvePublicKey.from_encoded_point(ec.SECP256R1(), sender)
        info = b"WebPush: info\0" + point(self.private.public_key()) + sender
        shared = derive(self.private.exchange(ec.ECDH(), theirs), self.auth, info, 32)
        key = derive(shared, salt, b"Content-Encoding: aes128gcm\0", 16)
        plain = AESGCM(key).decrypt(derive(shared, salt, b"Content-Encoding: nonce\0", 12), sealed, None)
        assert plain.endswith(b"\x02")
        return json.loads(plain[:-1])


def derive(secret: bytes, salt: bytes, info: bytes, length: int) -> bytes:
    return HKDF(algorithm=SHA256(), length=length, salt=salt, info=info).derive(secret)


@dataclass
class PushService:
    url: str = ""
    status: str = "201 Created"
    headers: list[tuple[str, str]] = field(default_factory=list)
    got: list[tuple[dict[str, str], bytes]] = field(default_factory=list)

    def app(self, environ: dict[str, Any], start_response: Callable[..., object]) -> list[bytes]:
        body = environ["wsgi.input"].read(int(environ["CONTENT_LENGTH"]))
        headers = {name[5:].lower(): value for name, value in environ.items() if name.startswith("HTTP_")}
        self.got.append((headers, body))
        start_response(self.status, self.headers)
        return [b""]


@contextmanager
def push_service() -> Iterator[PushService]:
    service = PushService()
    with Server(service.app) as server:
        server.start()
        service.url = f"{server.url}/push/a-browser"
        yield service
