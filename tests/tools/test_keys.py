"""Signing keys: rotated with overlap, so that nothing signed before or after it fails to verify."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta

import pytest
from django.db import connections
from django.test import Client
from joserfc import jwt
from joserfc.errors import InvalidKeyIdError
from joserfc.jwk import KeySet

from conversations.channels import widget_session
from median_site.lib import clock
from median_site.lib.errors import DomainError
from team.models import Event, SigningKey
from tests.world import World
from tools import jobs, keys, session_tokens, signing


def published(slug: str = "fernhill") -> KeySet:
    return KeySet.import_key_set(Client().get(f"/w/{slug}/.well-known/jwks.json").json())


def signed(world: World) -> str:
    return signing.assertion(
        keys.current(world.fernhill.id), issuer=world.fernhill.issuer, audience="refundOrder", subject=None,
        anonymous=True, call_id="call_1", now=clock.now(),
    )  # fmt: skip


def verifies(token: str, keyset: KeySet) -> bool:
    try:
        jwt.decode(token, keyset, algorithms=["ES256"])
    except (InvalidKeyIdError, ValueError):
        return False
    return True


def test_a_new_key_is_published_before_it_signs(world: World) -> None:
    old = keys.current(world.fernhill.id)
    made = keys.rotate(by=world.sam.actor)
    at_once = published()
    assert {key["kid"] for key in keys.published(world.fernhill.id)} == {old.kid, made.kid}
    assert keys.current(world.fernhill.id).kid == old.kid
    with clock.at(made.signs_from - timedelta(seconds=1)):
        assert keys.current(world.fernhill.id).kid == old.kid
    with clock.at(made.signs_from):
        assert keys.current(world.fernhill.id).kid == made.kid
        # A copy of the keys that was taken ten minutes ago verifies it: nobody's is older than five.
        assert verifies(signed(world), at_once)
    assert made.signs_from - made.created_at >= timedelta(minutes=9, seconds=59)
    assert Event.objects.get(kind="signing_key.rotated").data == {"kid": made.kid}


def test_the_published_keys_are_for_everybody_and_may_be_kept_for_five_minutes(world: World) -> None:
    key = keys.ensure(world.fernhill.id)
    answer = Client().get("/w/fernhill/.well-known/jwks.json")
    assert answer["Cache-Control"] == "public, max-age=300"
    assert answer.json() == {"keys": [key.public_jwk]}
    assert set(key.public_jwk) == {"kty", "crv", "x", "y", "kid", "use", "alg"}


def test_the_old_key_is_published_until_every_token_it_signed_is_dead(world: World) -> None:
    made = keys.rotate(by=world.sam.actor)
    last_moment = made.signs_from - timedelta(seconds=1)
    with clock.at(last_moment):
        token = widget_session.anonymous_token(world.fernhill, address="127.0.0.1")
    with clock.at(last_moment + timedelta(days=30) - timedelta(seconds=1)):
        assert widget_session.open_session(token, slug="fernhill").said.anonymous
    old = SigningKey.objects.get(retires_at__isnull=False)
    assert old.retires_at is not None
    assert old.retires_at > last_moment + session_tokens.LONGEST_LIFETIME + timedelta(seconds=session_tokens.LEEWAY_S)
    with clock.at(old.retires_at):
        assert [key["kid"] for key in keys.published(world.fernhill.id)] == [made.kid]
        assert jobs.hourly()["keys"] == 1
        assert keys.current(world.fernhill.id).kid == made.kid
    assert SigningKey.objects.get(workspace=world.fernhill).kid == made.kid


def test_no_token_outlives_the_key(world: World) -> None:
    key = keys.current(world.fernhill.id)
    mint: Callable[[int], str] = lambda lifetime_s: session_tokens.mint(  # noqa: E731  (the one difference is the number)
        key, issuer="x", subject="x", anonymous=True, claims={}, email=None, name=None, now=clock.now(),
        lifetime_s=lifetime_s,
    )  # fmt: skip
    assert mint(30 * 24 * 3600)
    with pytest.raises(ValueError, match="The key may be gone"):
        mint(30 * 24 * 3600 + 1)


def test_one_rotation_at_a_time(world: World) -> None:
    made = keys.rotate(by=world.sam.actor)
    with pytest.raises(DomainError, match="A new key takes over in a few minutes already."):
        keys.rotate(by=world.sam.actor)
    assert SigningKey.objects.filter(workspace=world.fernhill).count() == 2
    with clock.at(made.signs_from):
        third = keys.rotate(by=world.sam.actor)
        assert [row.kid for row in keys.listed(world.fernhill.id)][:2] == [third.kid, made.kid]
        assert keys.current(world.fernhill.id).kid == made.kid


@pytest.mark.django_db(transaction=True)
def test_many_at_once_make_one(world: World) -> None:
    def press(_: int) -> datetime | None:
        try:
            return keys.rotate(by=world.sam.actor).signs_from
        except DomainError:
            return None
        finally:
            connections.close_all()

    def first(_: int) -> str:
        try:
            return keys.current(world.elsewhere.id).kid
        finally:
            connections.close_all()

    with ThreadPoolExecutor(6) as threads:
        assert len([made for made in threads.map(press, range(6)) if made]) == 1
        assert len(set(threads.map(first, range(6)))) == 1
    assert SigningKey.objects.filter(workspace=world.elsewhere).count() == 1
