"""How few statements a decision, a call and a quiet sweep are. Each list is one commit: no BEGIN stands in it."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals import decisions, expiry
from approvals.models import ToolApproval
from team import api_keys
from tests.approvals.requests import request
from tests.approvals.test_transitions import answer
from tests.world import World
from tools import calls, runs
from tools.models import RunState, ToolRun

pytestmark = pytest.mark.django_db(transaction=True)

LOCK, WRITE = "select from", "with recursive"


def statements(work: Callable[[], object]) -> list[str]:
    """The first two words of each, once it is sure that nothing else was sent, no BEGIN either."""
    said: list[str] = []

    def note(execute: Callable[..., object], sql: str, *rest: object) -> object:
        said.append(" ".join(sql.split()[:2]))
        return execute(sql, *rest)

    with CaptureQueriesContext(connection) as captured, connection.execute_wrapper(note):
        work()
    assert len(captured) == len(said)
    return said


@pytest.mark.parametrize("decide", [decisions.approve, decisions.deny])
def test_a_decision_is_a_lock_and_one_statement(world: World, decide: Callable[..., ToolApproval]) -> None:
    approval = request(world)
    assert statements(lambda: decide(approval.id, by=world.sam.actor)) == [LOCK, WRITE]


def test_a_claim_is_two_statements_and_a_result_a_lock_and_one(world: World) -> None:
    approval = decisions.approve(request(world).id, by=world.sam.actor)
    assert statements(lambda: calls._claim(approval.id)) == ["select run.workspace_id,", "update tools_toolrun"]
    run = ToolRun.objects.get()
    assert run.state == RunState.RUNNING
    assert statements(lambda: runs.finish(run.id, answer(), run=run)) == [LOCK, WRITE]


def test_a_press_adds_the_session_its_person_and_the_card(world: World, browser_of: Callable[..., Client]) -> None:
    browser = browser_of(world.sam)
    path, headers = f"/approvals/{request(world).id}/approve", {"X-Median-As": world.sam.id, "HX-Request": "true"}
    session, *others = statements(lambda: browser.post(path, headers=headers))
    assert session.startswith('SELECT "django_session"')
    assert others == ["select person.password,", LOCK, WRITE, "select approval.workspace_id,"]


def test_a_program_decides_in_as_few(world: World) -> None:
    """The key and its count are one statement; the answer reads the run that was queued."""
    _, key = api_keys.create(world.fernhill, name="Backoffice", scopes=["decide"])
    program = Client(headers={"Authorization": f"Bearer {key}"})
    path = f"/v1/tool-approvals/{request(world).id}/approve"
    assert statements(lambda: program.post(path)) == ["with key", LOCK, WRITE, "select run.workspace_id,"]


def test_a_sweep_with_nothing_due_is_one_statement(world: World) -> None:
    request(world)
    assert statements(expiry.expire_due) == ["select (select"]


@pytest.mark.parametrize("decide", [decisions.approve, decisions.deny])
def test_the_server_keeps_its_plan(world: World, decide: Callable[..., ToolApproval]) -> None:
    first, second = request(world), request(world, tool="cancelSubscription", input_text="{}")
    decide(first.id, by=world.sam.actor)
    decide(second.id, by=world.sam.actor)
    with connection.cursor() as cursor:
        cursor.execute("select count(*) from pg_prepared_statements where statement like 'with recursive%'")
        assert cursor.fetchone()[0] >= 1
