"""Workspaces full of conversations for the benchmarks, written in four statements."""

from typing import Final

from django.db import connection

from team.models import Role, Teammate, User, Workspace

# One in eight is open; of these a third is the teammate's and one in ten waits. Six messages each.
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
           6, case when n %% 16 = 0 then 3 else 0 end, 'Where is my order?', now() - n * interval '1 minute',
           case when n %% 80 = 0 then 1 else 0 end, case when n %% 80 = 0 then 'waiting' else '' end, '', '{}', 0, now()
    from generate_series(1, %(rows)s) n
    """,
    """
    insert into conversations_item (workspace_id, conversation_id, number, version, kind, text, replaced, author_id,
        author_name, model, ref, created_at)
    select %(workspace)s, %(prefix)s || n, i, i, case when i %% 2 = 0 then 'agent' else 'customer' end,
           'Hello, where is my order ORD-' || n || '? It said word' || (n * 6 + i) %% 100 || ' and number ' || i,
           false, '', 'Customer ' || n, '', n || '-' || i, now() - n * interval '1 minute'
    from generate_series(1, %(rows)s) n, generate_series(1, 6) i
    """,
    """
    insert into conversations_readmark (workspace_id, conversation_id, teammate_id, number)
    select %(workspace)s, %(prefix)s || n, %(teammate)s, 6
    from generate_series(1, %(rows)s) n where n %% 32 = 0
    """,
)


def fill(slug: str, rows: int) -> Teammate:
    """A workspace with so many conversations; gives a teammate of it."""
    workspace = Workspace.objects.create(slug=slug, name=slug)
    user = User.objects.create_user(f"sam@{slug}.example", "correct horse battery", name="Sam Okafor")
    teammate = Teammate.objects.create(workspace=workspace, user=user, name="Sam Okafor", role=Role.OWNER)
    values: dict[str, str | int] = {
        "workspace": workspace.id,
        "teammate": teammate.id,
        "rows": rows,
        "prefix": f"{slug}-",
    }
    with connection.cursor() as cursor:
        for statement in STATEMENTS:
            cursor.execute(statement, values)
        cursor.execute(
            "vacuum analyze conversations_customer, conversations_conversation, conversations_item,"
            " conversations_readmark"
        )
    return teammate
