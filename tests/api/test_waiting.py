"""`?wait=`: held until the request changes; waiting, or giving up, decides nothing."""

import asyncio
import json

import pytest
from asgiref.testing import ApplicationCommunicator

from approvals import decisions
from approvals.models import State, ToolApproval
from conversations import threads
from median_site.asgi import application
from median_site.lib.db import in_thread
from team import api_keys, chain
from team.models import ApiKey, Event
from tests import world as worlds
from tests.approvals.requests import request
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def asking(path: str, key: str) -> ApplicationCommunicator:
    route, _, query = path.partition("?")
    return ApplicationCommunicator(
        application,
        {
            "type": "http", "asgi": {"version": "3.0"}, "http_version": "1.1", "method": "GET", "scheme": "http",
            "path": route, "raw_path": route.encode(), "query_string": query.encode(), "root_path": "",
            "headers": [(b"host", b"testserver"), (b"authorization", f"Bearer {key}".encode())],
            "server": ("testserver", 80), "client": ("127.0.0.1", 1),
        },
    )  # fmt: skip


async def answer_of(asked: ApplicationCommunicator, *, within: float = 10) -> tuple[int, dict[str, object]]:
    start = await asked.receive_output(within)
    body = b""
    while True:
        part = await asked.receive_output(within)
        body += part.get("body", b"")
        if not part.get("more_body"):
            await asked.wait(within)
            return start["status"], json.loads(body)


def made() -> tuple[World, ToolApproval, str]:
    world = worlds.build()
    return world, request(world), api_keys.create(world.fernhill, name="Backoffice", scopes=["read"])[1]


async def held(path: str, key: str) -> ApplicationCommunicator:
    asked = asking(path, key)
    await asked.send_input({"type": "http.request", "body": b"", "more_body": False})
    assert await asked.receive_nothing(0.3)
    return asked


async def test_a_decision_ends_the_wait() -> None:
    world, approval, key = await in_thread(made)
    asked = await held(f"/v1/tool-approvals/{approval.id}?wait=30", key)
    await in_thread(decisions.deny, approval.id, by=world.sam.actor)
    status, shown = await answer_of(asked)
    assert (status, shown["status"]) == (200, "denied")


async def test_the_end_of_the_time_gives_the_request_as_it_is() -> None:
    _, approval, key = await in_thread(made)
    asked = asking(f"/v1/tool-approvals/{approval.id}?wait=1", key)
    await asked.send_input({"type": "http.request", "body": b"", "more_body": False})
    status, shown = await answer_of(asked)
    assert (status, shown["status"]) == (200, "pending")


async def test_who_gives_up_decides_nothing() -> None:
    world, approval, key = await in_thread(made)
    for _ in range(5):
        asked = await held(f"/v1/tool-approvals/{approval.id}?wait=30", key)
        await asked.send_input({"type": "http.disconnect"})
        await asked.wait(10)
    await in_thread(approval.refresh_from_db)
    assert approval.state == State.PENDING
    await in_thread(decisions.approve, approval.id, by=world.sam.actor)


async def test_a_key_that_is_revoked_ends_its_wait_and_learns_nothing() -> None:
    world, approval, key = await in_thread(made)
    asked = await held(f"/v1/tool-approvals/{approval.id}?wait=99999999999", key)  # the longest there is
    await in_thread(api_keys.revoke, (await in_thread(ApiKey.objects.get)).id, by=world.sam.actor)
    status, shown = await answer_of(asked)
    assert (status, shown["error"]["code"]) == (401, "unauthorized")


async def test_a_wait_for_events_is_for_those_that_were_asked_for() -> None:
    """Else a program that follows one type would ask again and again, and be answered with nothing."""
    world, approval, key = await in_thread(made)
    newest = (await in_thread(Event.objects.latest, "id")).id
    await in_thread(threads.customer_wrote, world.conversation.id, body="Hello", client_id="message-1")
    asked = await held(f"/v1/events?type=tools&after={newest}&wait=30", key)
    await in_thread(decisions.deny, approval.id, by=world.sam.actor)
    status, shown = await answer_of(asked)
    assert (status, [event["kind"] for event in shown["data"]]) == (200, ["approval.denied"])

    asked = await held("/v1/events?after_position=0&wait=30", key)
    await in_thread(chain.link_all)
    status, shown = await answer_of(asked)
    assert [event["position"] for event in shown["data"]] == list(range(1, len(shown["data"]) + 1))


@pytest.mark.parametrize(
    ("path", "status"),
    [
        ("/v1/tool-approvals/{}?wait=x", 422),
        ("/v1/tool-approvals/{}?wait=-1", 422),
        ("/v1/tool-approvals/{}?wait=0", 200),
        ("/v1/tool-runs/{}?wait=30", 404),
        ("/v1/events?type=nothing&wait=30", 422),
        ("/v1/events?after=x&wait=30", 422),
    ],
)
async def test_nothing_to_wait_for_is_answered_at_once(path: str, status: int) -> None:
    _, approval, key = await in_thread(made)
    asked = asking(path.format(approval.id), key)
    await asked.send_input({"type": "http.request", "body": b"", "more_body": False})
    assert (await answer_of(asked))[0] == status


async def test_thirty_wait_at_once_and_all_hear() -> None:
    world, approval, key = await in_thread(made)
    waits = [asking(f"/v1/tool-approvals/{approval.id}?wait=30", key) for _ in range(30)]
    for asked in waits:
        await asked.send_input({"type": "http.request", "body": b"", "more_body": False})
    assert await waits[-1].receive_nothing(1)
    await in_thread(decisions.deny, approval.id, by=world.sam.actor)
    statuses = await asyncio.gather(*(answer_of(asked) for asked in waits))
    assert {shown["status"] for _, shown in statuses} == {"denied"}
