"""A client for tests of tools. It signs as Median does and goes through every check a real request meets."""

from __future__ import annotations

import json
import secrets
from copy import copy
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from median_tools.admission import SYNC, Request
from median_tools.answers import Answer, Json, encode
from median_tools.headers import Headers

if TYPE_CHECKING:
    from median_tools.assertions import TestKey
    from median_tools.endpoint import Tools


@dataclass(frozen=True)
class Reply:
    """What a call was answered: the HTTP status and the JSON."""

    status: int
    data: Json


class Client:
    """Calls the tools of an endpoint. With an issuer, a key made for the test stands in for the issuer's."""

    def __init__(self, tools: Tools) -> None:
        self._tools = copy(tools)
        self._key: TestKey | None = None
        if tools.admission.assertions:
            assertions, self._key = tools.admission.assertions.for_tests()
            self._tools.admission = replace(tools.admission, assertions=assertions)

    def manifest(self) -> Json:
        """The manifest as a sync reads it."""
        headers = self._signed(b"", audience=SYNC, subject=None, call_id=f"sync_{secrets.token_hex(16)}")
        return _data(self._tools.answer(Request("GET", headers, b"")))

    def call(
        self,
        name: str,
        input: dict[str, Json] | None = None,
        *,
        external_id: str | None = None,
        email: str | None = None,
        visitor_name: str | None = None,
        conversation_id: str = "test_conversation",
        tool_call_id: str | None = None,
        approved_by: str | None = None,
    ) -> Reply:
        """Calls a tool, for the verified customer `external_id` or, without one, for somebody not signed in."""
        call_id = tool_call_id or f"test_{secrets.token_hex(16)}"
        claims = {"externalId": external_id, "email": email, "name": visitor_name}
        visitor = {"verified": external_id is not None, **_given(claims)}
        context = {
            "conversationId": conversation_id,
            "risk": self._tools.risk_of(name),
            **_given({"approvedBy": approved_by}),
            "visitor": visitor,
        }
        body = encode({"tool": name, "toolCallId": call_id, "input": input or {}, "context": context})
        headers = self._signed(body, audience=name, subject=external_id, call_id=call_id)
        answer = self._tools.answer(Request("POST", headers, body))
        return Reply(answer.status, _data(answer))

    def _signed(self, body: bytes, *, audience: str, subject: str | None, call_id: str) -> Headers:
        webhooks = self._tools.admission.webhooks
        signature = webhooks.sign(call_id, body) if webhooks else ()
        assertion = self._key.sign(audience=audience, subject=subject, call_id=call_id) if self._key else ()
        return signature + assertion


def _given(claims: dict[str, str | None]) -> dict[str, str]:
    return {name: value for name, value in claims.items() if value is not None}


def _data(answer: Answer) -> Json:
    data: Json = json.loads(answer.body)
    return data
