"""The API against its own description: schemathesis makes requests from it, right and wrong ones, and holds the
answers to it. Bounded and always the same ones, so that a failure is found again."""

from collections.abc import Iterable
from typing import Any

import pytest
import schemathesis
from django.test.client import ClientHandler
from hypothesis import HealthCheck, Phase, settings
from schemathesis import Case
from schemathesis.generation import GenerationMode
from schemathesis.specs.openapi.checks import negative_data_rejection, positive_data_acceptance

from approvals import decisions
from team import api_keys, api_limits
from tests.api.test_http_tools import DRAFT
from tests.approvals.requests import request
from tests.world import World
from tools import http_tools, tool_versions
from webhooks import deliveries, subscriptions


def application(environ: dict[str, Any], start_response: Any) -> list[bytes]:
    """Median as a WSGI application that leaves the test's database connection open."""
    response = ClientHandler(enforce_csrf_checks=False)(environ)
    start_response(f"{response.status_code} {response.reason_phrase}", list(response.items()))
    return [b"".join(response)]


DESCRIBED = schemathesis.openapi.from_wsgi("/v1/openapi.json", application)


@pytest.fixture
def key(world: World, monkeypatch: pytest.MonkeyPatch) -> str:
    """A key that may do everything, as often as it likes."""
    monkeypatch.setattr(api_limits, "READS", 10**9)
    monkeypatch.setattr(api_limits, "WRITES", 10**9)
    return api_keys.create(world.fernhill, name="Fuzzer", scopes=api_keys.SCOPES)[1]


@pytest.fixture
def there(world: World) -> dict[str, object]:
    """What ids in a path may name."""
    by = world.sam.actor
    draft = http_tools.save(DRAFT, by=by)
    webhook, _ = subscriptions.add("http://127.0.0.1:9/hook", by=by)
    refund, cancel = request(world), request(world, tool="cancelSubscription", input_text="{}")
    return {
        "conversation_id": world.conversation.id,
        "approval_id": refund.id,
        "run_id": decisions.approve(cancel.id, by=by).id,
        "endpoint_id": world.endpoint.id,
        "name": "orderStatus",
        "draft_id": draft.id,
        "webhook_id": webhook.id,
        "number": tool_versions.publish(by=by).number,
        "delivery_id": deliveries.test(webhook.id, by=by).id,
    }


def is_sent(value: object) -> bool:
    """Nothing of an empty list or object is seen in a query, so what is wrong with it is not there either."""
    inner = value.values() if isinstance(value, dict) else value
    return any(map(is_sent, inner)) if isinstance(inner, Iterable) and not isinstance(inner, str) else inner is not None


@DESCRIBED.parametrize()
@settings(max_examples=10, derandomize=True, deadline=None, database=None, phases=[Phase.generate],
          suppress_health_check=list(HealthCheck))  # fmt: skip
def test_every_answer_is_as_described(case: Case, key: str, there: dict[str, object]) -> None:
    """Requests that fit the description are about things that are there."""
    if case.meta and case.meta.generation.mode is GenerationMode.POSITIVE:
        case.path_parameters = {name: there.get(name, value) for name, value in (case.path_parameters or {}).items()}
    # What fits the description may still be refused: for an id that is nobody's, or a URL that nobody may call.
    excluded = [positive_data_acceptance]
    if not all(map(is_sent, (case.query or {}).values())):
        excluded.append(negative_data_rejection)
    case.call_and_validate(
        headers={"Authorization": f"Bearer {key}", "Accept-Encoding": "identity"},
        excluded_checks=excluded,
    )
