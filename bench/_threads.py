"""Workspaces full of conversations for the benchmarks, each written in a few statements and kept for the next run."""

from typing import Final

from bench import _bulk
from team.models import Role, Teammate, User, Workspace

TABLES: Final = (
    "conversations_item",
    "conversations_customer",
    "conversations_conversation",
    "conversations_readmark",
    "tools_tool",
    "tools_toolrun",
    "approvals_toolapproval",
)
# One in eight is open; of these a third is the teammate's and one in ten waits. Six messages each, a call, and a
# request that has been decided unless it waits.
STATEMENTS: Final = (
    """
    insert into conversations_customer (workspace_id, id, subject, verified, name, email, page, created_at)
    select %(workspace)s, %(prefix)s || 'u' || n, 'user_' || n, true, 'Customer ' || n, 'c' || n || '@mail.example',
           '{}', now()
    from generate_series(1, %(rows)s) n
    """,
    """
    insert into conversations_conversation (workspace_id, id, customer_id, channel, status, handler, assignee_id,
        version, attention, excerpt, last_at, waiting, mark, mark_label, claims, tool_version, created_at)
    select %(workspace)s, %(prefix)s || n, %(prefix)s || 'u' || n,
           (array['widget', 'email', 'discord', 'api'])[n %% 4 + 1],
           case when n %% 8 = 0 then 'open' else 'resolved' end,
           case when n %% 24 = 0 then 'teammate' else 'agent' end, case when n %% 24 = 0 then %(teammate)s end,
           %(messages)s + 1, case when n %% 16 = 0 then 3 else 0 end, 'Where is it?', now() - n * interval '1 minute',
           case when n %% 80 = 0 then 1 else 0 end, case when n %% 80 = 0 then 'waiting' else '' end, '', '{}', 0, now()
    from generate_series(1, %(rows)s) n
    """,
    """
    insert into conversations_item (workspace_id, conversation_id, number, version, kind, text, replaced, author_id,
        author_name, model, ref, created_at)
    select %(workspace)s, %(prefix)s || n, i, i, case when i %% 2 = 0 then 'agent' else 'customer' end,
           'Hello, where is my order ORD-' || n || '? It said word' || (n * 6 + i) %% 100 || ' and number ' || i,
           false, '', 'Customer ' || n, '', n || '-' || i, now() - n * interval '1 minute'
    from generate_series(1, %(rows)s) n, generate_series(1, %(messages)s) i
    """,
    """
    insert into conversations_item (workspace_id, conversation_id, number, version, kind, text, replaced, author_id,
        author_name, model, ref, created_at)
    select %(workspace)s, %(prefix)s || n, %(messages)s + 1, %(messages)s + 1, 'approval', '', false, '', '', '',
           'call_' || %(prefix)s || n, now() - n * interval '1 minute'
    from generate_series(1, %(rows)s) n
    """,
    """
    insert into conversations_readmark (workspace_id, conversation_id, teammate_id, number)
    select %(workspace)s, %(prefix)s || n, %(teammate)s, 6
    from generate_series(1, %(rows)s) n where n %% 32 = 0
    """,
    """
    insert into tools_tool (workspace_id, id, name, label, description, risk, input_schema, session_start, requires,
        extra, content_hash, switched_on, present, created_at, definition)
    select %(workspace)s, %(prefix)s || name, name, label, label || ' of an order.', risk, '{}', false, '',
           '{}', '', true, true, now(), ''
    from (values ('orderStatus', 'Order status', 'low'), ('refundOrder', 'Refund order', 'high')) t (name, label, risk)
    """,
    """
    insert into tools_toolrun (workspace_id, id, conversation_id, endpoint_id, tool_name, tool_label, risk, input,
        started_by, by_id, by_name, turn_id, client_id, tested_as, tested_in, state, queued_at, ended_at, code, error,
        detail, raw, raw_flags, for_model, headline)
    select %(workspace)s, 'call-' || %(prefix)s || n, %(prefix)s || n, 'endpoint', 'orderStatus', 'Order status', 'low',
        '{"orderNumber":"CALL-' || n || '"}', 'agent', '', '', '', '', '', '', 'completed',
        now() - n * interval '1 minute', now() - n * interval '1 minute', '', '', '', '{}', '[]', '{}', 'Found'
    from generate_series(1, %(rows)s) n
    """,
    """
    insert into approvals_toolapproval (workspace_id, id, conversation_id, tool_id, endpoint_id, tool_name, tool_label,
        description, risk, schema_hash, input, turn_id, state, requested_at, expires_at, decided_at, decided_by_kind,
        decided_by_id, decided_by_name, reason, review, review_reason, expired_because, told_in_turn)
    select %(workspace)s, 'call_' || %(prefix)s || n, %(prefix)s || n, %(prefix)s || 'refundOrder', '', 'refundOrder',
        'Refund order', 'Refund an order in full.', 'high', '', '{"orderNumber":"ORD-' || n || '"}', 'turn-' || n,
        case when waits then 'pending' else 'denied' end, at, at + interval '1 year', case when not waits then at end,
        case when waits then '' else 'teammate' end, case when waits then '' else %(teammate)s end,
        case when waits then '' else 'Sam Okafor' end, '', '', '', '', case when waits then '' else 'turn' end
    from (
        select n, n %% 80 = 0 as waits, now() - n * interval '1 minute' as at from generate_series(1, %(rows)s) n
    ) numbers
    """,
)


def fill(slug: str, rows: int) -> Teammate:
    """A workspace with so many conversations; gives a teammate of it. One that is there already is kept."""
    if known := Teammate.objects.filter(workspace__slug=slug).select_related("user").first():
        return known
    with _bulk.loading(*TABLES, rows=rows) as cursor:
        workspace = Workspace.objects.create(slug=slug, name=slug)
        user = User.objects.create_user(f"sam@{slug}.example", "correct horse battery", name="Sam Okafor")
        teammate = Teammate.objects.create(workspace=workspace, user=user, name="Sam Okafor", role=Role.OWNER)
        values: dict[str, str | int] = {
            "workspace": workspace.id,
            "teammate": teammate.id,
            "rows": rows,
            "messages": 6,
            "prefix": f"{slug}-",
        }
        for statement in STATEMENTS:
            cursor.execute(statement, values)
    return teammate
