"""What starts a turn, and what stops one."""

from django.dispatch import receiver

from agent import assistant, errands, turns
from agent.rows import ErrandKind
from approvals.signals import left_to_team, outcome_known
from conversations.models import Conversation, Status
from conversations.signals import conversation_ended, customer_wrote, handed_back, taken_over
from median_site.lib.statement import Statement
from team.models import Teammate
from team.signals import teammate_removed
from tools.models import Starter, ToolRun
from tools.signals import run_ended


@receiver(customer_wrote, dispatch_uid="agent.customer_wrote")
def answer_customer(conversation: Conversation, **_: object) -> None:
    turns.ask(conversation, because="message")


@receiver(outcome_known, dispatch_uid="agent.outcome_known")
def tell_outcome(because: str, statement: Statement, source: str, **_: object) -> None:
    turns.add(because, source=source, to=statement)


@receiver(left_to_team, dispatch_uid="agent.left_to_team")
def tell_that_a_teammate_decides(statement: Statement, source: str, **_: object) -> None:
    turns.add("left_to_team", source=source, to=statement)


@receiver(run_ended, dispatch_uid="agent.run_stuck")
def tell_stuck(run: ToolRun, stuck: bool, statement: Statement, **_: object) -> None:
    if stuck and not run.approval and run.started_by != Starter.SESSION_START:
        turns.add("stuck", source="moved", to=statement)


@receiver(conversation_ended, dispatch_uid="agent.ended")
def stop_and_learn(conversation: Conversation, **_: object) -> None:
    turns.stop(conversation)
    if conversation.status == Status.RESOLVED:
        errands.ask(ErrandKind.LESSON, workspace_id=conversation.workspace_id, subject_id=conversation.id)


@receiver(taken_over, dispatch_uid="agent.taken_over")
def stop(conversation: Conversation, **_: object) -> None:
    turns.stop(conversation)


@receiver(handed_back, dispatch_uid="agent.handed_back")
def resume(conversation: Conversation, **_: object) -> None:
    turns.resume(conversation)


@receiver(teammate_removed, dispatch_uid="agent.teammate_removed")
def forget_questions(teammate: Teammate, **_: object) -> None:
    assistant.forget(teammate.id, workspace_id=teammate.workspace_id)
