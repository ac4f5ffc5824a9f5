"""One of the processes of tests.approvals.racers: a line of scripts in, done side by side, a line of results out."""

import asyncio
import json
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import takewhile

import django

django.setup()

from django.core.exceptions import ObjectDoesNotExist  # noqa: E402
from django.db import connections, transaction  # noqa: E402

from agent import turns  # noqa: E402
from approvals import decisions, expiry  # noqa: E402
from conversations import threads  # noqa: E402
from conversations.models import Status  # noqa: E402
from median_site.lib.actors import Actor, ActorKind  # noqa: E402
from median_site.lib.errors import DomainError  # noqa: E402
from tests.approvals.racers import THREADS  # noqa: E402
from tools import calls, endpoints, runs  # noqa: E402
from tools.models import Tool  # noqa: E402

Who = tuple[str, str, str, str]

loop = asyncio.new_event_loop()


def send(call_id: str) -> bool:
    return asyncio.run_coroutine_threadsafe(calls.send(call_id), loop).result()


def approve(approval_id: str, who: Who) -> str:
    return decisions.approve(approval_id, by=actor(who)).state


def approve_and_send(approval_id: str, who: Who) -> str:
    state = approve(approval_id, who)
    send(approval_id)
    return state


def deny(approval_id: str, who: Who) -> str:
    return decisions.deny(approval_id, by=actor(who)).state


def pass_on(approval_id: str, who: Who) -> bool:
    return decisions.pass_on(approval_id, workspace_id=who[1], reason="Unusual.")


def unchecked(approval_id: str, who: Who) -> bool:
    return decisions.unchecked(approval_id, workspace_id=who[1], reason="No answer.")


def end(conversation_id: str, who: Who) -> str:
    return threads.end(conversation_id, by=actor(who), to=Status.RESOLVED).status


def request(conversation_id: str, tool_name: str) -> str:
    with transaction.atomic():
        conversation = threads.lock(conversation_id)
        tool = Tool.objects.get(workspace_id=conversation.workspace_id, name=tool_name)
        agent = threads.agent_actor(conversation)
        return decisions.request(conversation, tool=tool, input_text="{}", turn_id="turn", by=agent).id


def switch_off(tool_name: str, who: Who) -> bool:
    return endpoints.switch(tool_name, by=actor(who), on=False).switched_on


def remove_endpoint(endpoint_id: str, who: Who) -> None:
    endpoints.remove(endpoint_id, by=actor(who))


def ask_turn(conversation_id: str) -> None:
    with transaction.atomic():
        turns.ask(threads.lock(conversation_id), because="message")


def claim_turns(process: str) -> list[str]:
    """Every turn that this process gets, until none is left."""
    rounds = takewhile(bool, (turns.claim(process, limit=3) for _ in iter(int, 1)))
    return [turn.id for claimed in rounds for turn in claimed]


ACTS: dict[str, Callable[..., object]] = {
    act.__name__: act
    for act in [
        approve, approve_and_send, deny, pass_on, unchecked, end, request, switch_off, remove_endpoint, ask_turn,
        claim_turns, send, runs.begin, expiry.expire_due,
    ]
}  # fmt: skip


def actor(who: Who) -> Actor:
    kind, workspace_id, id, name = who
    return Actor(ActorKind(kind), workspace_id, id=id, name=name)


def perform(script: list[tuple[float, str, list[object]]], start: float) -> list[object]:
    try:
        return [_act(start + after_s, name, arguments) for after_s, name, arguments in script]
    finally:
        connections.close_all()


def _act(at: float, name: str, arguments: list[object]) -> object:
    time.sleep(max(0.0, at - time.monotonic()))
    try:
        return ACTS[name](*arguments)
    except DomainError as error:
        return error.code
    except ObjectDoesNotExist:
        return "nothing there"


def main() -> None:
    threading.Thread(target=loop.run_forever, daemon=True).start()
    with ThreadPoolExecutor(THREADS) as pool:
        for line in sys.stdin:
            order = json.loads(line)
            results = pool.map(perform, order["scripts"], [order["start"]] * len(order["scripts"]))
            sys.stdout.write(json.dumps(list(results)) + "\n")
            sys.stdout.flush()


if __name__ == "__main__":
    main()
