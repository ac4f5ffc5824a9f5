"""POST /v1/session-tokens, and the API keys that open it."""

import hashlib
import json
from datetime import datetime, timedelta

import pytest
from django.test import Client

from median_site.lib import clock
from team import api_keys
from team.models import ApiKey
from tests.world import World
from tools import keys, session_tokens
from tools.session_tokens import SessionToken


@pytest.fixture
def key(world: World) -> str:
    return api_keys.create(world.fernhill, name="Shop", scopes=["sessions"])[1]


def ask(key: str, body: object):
    http = Client(headers={"Authorization": f"Bearer {key}"})
    text = body if isinstance(body, bytes) else json.dumps(body)
    return http.post("/v1/session-tokens", text, content_type="application/json")


def read(world: World, token: str) -> SessionToken:
    public = {jwk["kid"]: jwk for jwk in keys.published(world.fernhill.id)}
    return session_tokens.read(token, public_keys=public, issuer="http://testserver/w/fernhill", now=clock.now())


def test_a_company_vouches_for_its_user(world: World, key: str) -> None:
    body = {"subject": "user_123", "claims": {"plan": "pro"}, "email": "ana@example.com", "name": "Ana"}
    before = clock.now()
    answer = ask(key, body)
    assert answer.status_code == 201
    assert sorted(answer.json()) == ["expires_at", "token"]
    said = read(world, answer.json()["token"])
    assert (said.subject, said.anonymous, said.claims) == ("user_123", False, {"plan": "pro"})
    assert (said.email, said.name) == ("ana@example.com", "Ana")
    assert said.expires_at == datetime.fromisoformat(answer.json()["expires_at"])
    assert timedelta(minutes=29, seconds=59) <= said.expires_at - before <= timedelta(minutes=30, seconds=5)


def test_only_the_subject_is_needed(world: World, key: str) -> None:
    said = read(world, ask(key, {"subject": "user_9"}).json()["token"])
    assert (said.anonymous, said.claims, said.email, said.name) == (False, {}, None, None)
    assert read(world, ask(key, {"subject": "v1", "anonymous": True}).json()["token"]).anonymous


@pytest.mark.parametrize(
    ("body", "status", "field"),
    [
        (b"{", 400, None),
        (b'{"subject": "u", "claims": {"n": NaN}}', 400, "claims.n"),
        ([], 422, None),
        ({}, 422, "subject"),
        ({"subject": ""}, 422, "subject"),
        ({"subject": "x" * 256}, 422, "subject"),
        ({"subject": 7}, 422, "subject"),
        ({"subject": "u", "anonymous": "yes"}, 422, "anonymous"),
        ({"subject": "u", "claims": []}, 422, "claims"),
        ({"subject": "u", "claims": {"x": "y" * 9_000}}, 422, "claims"),
        ({"subject": "u", "emial": "a@b.example"}, 422, "emial"),
        ({"subject": "u", "name": 1}, 422, "name"),
    ],
)
def test_what_is_refused_and_why(key: str, body: object, status: int, field: str | None) -> None:
    answer = ask(key, body)
    assert answer.status_code == status
    assert sorted(answer.json()["error"]) == ["code", "field", "message"]
    assert answer.json()["error"]["field"] == field


def test_without_a_key(world: World, key: str) -> None:
    bare = Client().post("/v1/session-tokens", "{}", content_type="application/json")
    assert bare.status_code == 401
    assert bare.json()["error"] == {
        "code": "unauthorized",
        "message": 'Send an API key of this installation: "Authorization: Bearer mdn_…".',
        "field": None,
    }
    unknown = ask("mdn_" + "0" * 40, {"subject": "u"})
    assert (unknown.status_code, unknown.json()["error"]["message"]) == (
        401, "This API key is not known here, or it was revoked.",
    )  # fmt: skip
    ApiKey.objects.update(revoked_at=clock.now())
    assert ask(key, {"subject": "u"}).json() == unknown.json()


def test_without_the_scope(world: World) -> None:
    _, reader = api_keys.create(world.fernhill, name="Reader", scopes=["read", "decide"])
    answer = ask(reader, {"subject": "u"})
    assert answer.status_code == 403
    assert answer.json()["error"]["message"] == 'This API key lacks the scope "sessions".'


def test_a_key_signs_for_its_own_workspace_alone(world: World) -> None:
    _, foreign = api_keys.create(world.elsewhere, name="Theirs", scopes=["sessions"])
    token = ask(foreign, {"subject": "user_123"}).json()["token"]
    with pytest.raises(session_tokens.SessionTokenError):
        read(world, token)


def test_a_get_mints_nothing(key: str) -> None:
    assert Client(headers={"Authorization": f"Bearer {key}"}).get("/v1/session-tokens").status_code == 405


def test_a_key_is_kept_as_a_hash_and_used_is_written_down_once_a_minute(world: World, time_machine) -> None:
    time_machine.move_to(clock.now(), tick=False)
    row, plain = api_keys.create(world.fernhill, name="Shop", scopes=["sessions", "read"])
    assert len(plain) == 44
    assert row.prefix == plain[:12]
    assert row.digest == hashlib.sha256(plain.encode()).hexdigest()
    assert row.scopes == ["read", "sessions"]
    assert row.last_used_at is None
    first = clock.now()
    ask(plain, {"subject": "u"})
    time_machine.shift(30)
    ask(plain, {"subject": "u"})
    row.refresh_from_db()
    assert row.last_used_at == first
    time_machine.shift(31)
    ask(plain, {"subject": "u"})
    row.refresh_from_db()
    assert row.last_used_at == clock.now()


def test_a_scope_that_does_not_exist(world: World) -> None:
    with pytest.raises(ValueError, match="everything"):
        api_keys.create(world.fernhill, name="Shop", scopes=["everything"])
    assert ApiKey.objects.count() == 0
