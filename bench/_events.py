"""Workspaces with a long log for the benchmarks, each written in one statement and kept for the next run."""

from bench import _bulk
from team.models import ChainHead, Role, Teammate, User, Workspace

# As a workspace has them: 40 tools and 20 people, of whom the later ones are rare; one event in 200 failed.
ROWS = """
insert into team_event (workspace_id, kind, type, outcome, at, actor_kind, actor_id, actor_name, conversation_id,
                        subject_id, tool_name, data, position, previous_hash, hash)
select %(workspace)s,
       case when tools then 'run.completed' else 'message.customer' end,
       case when tools then 'tools' when n %% 97 = 0 then 'team' else 'conversations' end,
       case when n %% 200 = 0 then 'failed' when tools then 'ran' else '' end,
       now() - n * interval '1 second',
       case when n %% 3 = 0 then 'teammate' else 'agent' end,
       case when n %% 3 = 0 then 'person-' || floor(20 * power(random(), 3)) else '' end,
       case when n %% 3 = 0 then 'Person ' || n %% 20 else 'Median AI' end,
       'conversation-' || n / 12,
       case when tools then 'call_' || lpad(to_hex(n), 32, '0') else '' end,
       case when tools then 'tool' || floor(40 * power(random(), 3)) else '' end,
       case when tools then '{"label": "A tool", "risk": "low", "code": ""}'::jsonb else '{}'::jsonb end,
       %(rows)s - n, repeat(md5((n + 1)::text), 2), repeat(md5(n::text), 2)
from (select n, n %% 4 = 0 as tools from generate_series(%(rows)s - 1, 0, -1) n) numbers
"""


def fill(slug: str, rows: int) -> Teammate:
    """A workspace with so many events, the oldest written first; gives a teammate of it. One that is there is kept."""
    if known := Teammate.objects.filter(workspace__slug=slug).select_related("user").first():
        return known
    with _bulk.loading("team_event", rows=rows) as cursor:
        workspace = Workspace.objects.create(slug=slug, name=slug)
        user = User.objects.create_user(f"sam@{slug}.example", "correct horse battery", name="Sam Okafor")
        cursor.execute(ROWS, {"workspace": workspace.id, "rows": rows})
        ChainHead.objects.create(workspace=workspace, position=rows, hash="0" * 64)
        return Teammate.objects.create(workspace=workspace, user=user, name="Sam Okafor", role=Role.OWNER)
