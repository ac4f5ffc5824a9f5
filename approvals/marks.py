"""What the queue's rows say of requests: what waits for the team, else what is being checked, else what did not run."""

from conversations import bulk
from conversations.models import Conversation
from median_site.lib.statement import Statement


def add(*, to: Statement, source: str = "moved", failed: bool = False, still_open: bool = False) -> None:
    """The part `marks`: for each conversation of `source`, from its requests as `moved` leaves them.

    `failed`: what ended there did not run. `still_open`: what moved can still be decided.
    """
    mark, label = ("'failed'", "coming.label") if failed else ("''", "''")
    again = "union all select conversation_id, state, label, requested_at from moved" if still_open else ""
    to.add(
        "decidable",
        "select conversation_id, state, tool_label as label, requested_at from approvals_toolapproval a"  # noqa: S608  # names in the code
        f" where conversation_id in (select conversation_id from {source}) and state in ('reviewing', 'pending')"
        f" and id not in (select id from moved) {again}",  # looked up in a hash, however many moved
    )
    to.add(
        "marks",
        "select coming.conversation_id, count(*) filter (where state = 'pending') as waiting,"  # noqa: S608  # names in the code
        " case when bool_or(state = 'pending') then 'waiting' when bool_or(state = 'reviewing') then 'reviewing'"
        f" else {mark} end as mark,"
        " case when count(state) > 0 then (array_agg(decidable.label order by state, requested_at desc))[1]"
        f" else {label} end as mark_label"
        f" from (select conversation_id, max(label) as label from {source} group by conversation_id) coming"
        " left join decidable on decidable.conversation_id = coming.conversation_id"
        " group by coming.conversation_id, coming.label",
    )


def refresh(conversation: Conversation) -> None:
    """Set the marks of a locked conversation anew."""
    statement = Statement()
    statement.add("moved", "select '' as id, %s::text as conversation_id, '' as label", conversation.id)
    add(to=statement)
    bulk.mark(to=statement)
    statement.run(lock=bulk.LOCK.format("= %s"), values=[conversation.id], give="null from moved")
