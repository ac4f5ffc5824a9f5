"""What each transition of a request does to its alert: a new message, the message rewritten, or nothing at all."""

from collections.abc import Callable

import pytest
from django.db.models import F

from approvals.alerts import channels
from approvals.models import Alert, Service, ToolApproval
from team import chain
from tests.alerts import slack_server as slack_
from tests.approvals import test_transitions as make
from tests.world import World

State = Callable[[World], ToolApproval]
NEW, UPDATED, NOTHING = "new", "updated", "nothing"


def asks_for_high(world: World, _: ToolApproval | None) -> None:
    make.pending(world)


def asks_for_reviewed(world: World, _: ToolApproval | None) -> None:
    make.reviewing(world)


def none(world: World) -> None:
    """No request yet."""


def left_to_reviewer(world: World) -> ToolApproval:
    """The reviewer approved it, and its call is out: the team was never asked."""
    approval = make.reviewing(world)
    make.reviewer_approves(world, approval)
    assert make.runs.begin(approval.id)
    return approval


TABLE = [
    ("high requested", asks_for_high, none, NEW),
    ("reviewed requested", asks_for_reviewed, none, NOTHING),
    ("reviewer approves", make.reviewer_approves, make.reviewing, NOTHING),
    ("reviewer denies", make.reviewer_denies, make.reviewing, NOTHING),
    ("reviewer passes it on", make.reviewer_passes_on, make.reviewing, NEW),
    ("no verdict", make.reviewer_fails, make.reviewing, NEW),
    ("teammate approves", make.approve, make.pending, UPDATED),
    ("teammate approves what was passed on", make.approve, make.passed_on, UPDATED),
    ("teammate approves what the reviewer reads", make.approve, make.reviewing, NOTHING),
    ("the API approves", make.approve_by_api, make.pending, UPDATED),
    ("teammate denies", make.deny, make.pending, UPDATED),
    ("24 hours", make.twenty_four_hours, make.pending, UPDATED),
    ("conversation resolved", make.resolve, make.pending, UPDATED),
    ("conversation closed", make.close, make.pending, UPDATED),
    ("conversation archived", make.archive, make.pending, UPDATED),
    ("endpoint removed", make.remove_endpoint, make.pending, UPDATED),
    ("run completes", make.run_completes, make.running, UPDATED),
    ("run fails", make.run_fails, make.running, UPDATED),
    ("run may not leave", make.run_may_not_leave, make.queued, UPDATED),
    ("stuck run failed", make.ten_minutes, make.running, UPDATED),
    ("run ends that the reviewer approved", make.run_completes, left_to_reviewer, NOTHING),
    ("tool switched off", make.switch_off, make.pending, NOTHING),
]


@pytest.mark.parametrize(("act", "state", "then"), [row[1:] for row in TABLE], ids=[row[0] for row in TABLE])
def test_a_transition_does_to_the_alert_what_the_table_says(
    world: World, act: make.Act, state: State, then: str, django_capture_on_commit_callbacks: make.OnCommit
) -> None:
    channels.set_up(Service.SLACK, channel=slack_.CHANNEL, token=slack_.TOKEN, check=slack_.SECRET, by=world.sam.actor)
    with django_capture_on_commit_callbacks(execute=True):
        approval = state(world)
    link_all()
    Alert.objects.update(message_id="1", shown=F("wanted"), due_at=None)  # all of it was sent
    before = list(Alert.objects.values_list("id", "wanted"))

    with django_capture_on_commit_callbacks(execute=True):
        act(world, approval)
    link_all()

    due = list(Alert.objects.exclude(due_at=None).values_list("id", "wanted", "message_id"))
    after = list(Alert.objects.values_list("id", "wanted"))
    if then == NOTHING:
        assert (due, after) == ([], before)
    elif then == NEW:
        assert [(wanted, message_id) for _, wanted, message_id in due] == [(1, "")]
        assert (before, len(after)) == ([], 1)
    else:
        [(id, wanted)] = before
        assert due == [(id, wanted + 1, "1")]
    link_all()
    assert list(Alert.objects.values_list("id", "wanted")) == after  # each event counts once


def link_all() -> None:
    while chain.link_all():
        pass
