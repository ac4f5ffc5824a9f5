"""`median conversations`: threads, and what stands in one."""

from typing import Annotated

import typer

from median_cli import config, show
from median_cli.api import Api, segment
from median_cli.options import AsJson, Limit

app = typer.Typer(help="Threads with customers.", no_args_is_help=True)


@app.command("list", epilog="Example: median conversations list --status open")
def list_conversations(
    status: Annotated[str, typer.Option(help="open, resolved, closed or archived.")] = "",
    limit: Limit = 50,
    as_json: AsJson = False,
) -> None:
    """List threads, the latest first."""
    with Api(config.read()) as api:
        found = api.listed("/conversations", status=status, limit=limit)
    if as_json:
        return show.as_json(found)
    rows = (
        [row["id"], row["customer"]["name"] or row["customer"]["subject"], row["channel"], row["status"], _who(row),
         show.when(row["last_at"])]
        for row in found
    )  # fmt: skip
    return show.table(["Id", "Customer", "Channel", "Status", "Handler", "Last"], rows, empty="No conversations.")


@app.command("show", epilog="Example: median conversations show 01m8qg47cp3fnb6…")
def show_conversation(
    conversation: Annotated[str, typer.Argument(help="The conversation's id.")], as_json: AsJson = False
) -> None:
    """Show what stands in a thread."""
    items = []
    with Api(config.read()) as api:
        shown = api.get(f"/conversations/{segment(conversation)}")
        after = 0
        while page := api.get(f"/conversations/{segment(conversation)}/items", after=after)["data"]:
            items += page
            after = page[-1]["version"]
    items.sort(key=lambda item: item["number"])
    if as_json:
        return show.as_json({**shown, "items": items})
    show.line(f"{shown['customer']['name'] or shown['customer']['subject']}, {shown['status']}, {_who(shown)}")
    for item in items:
        author = item["author"] or item["kind"]
        said = item["text"] or item.get("approval_id") or item.get("run_id") or ""
        files = ", ".join(file["name"] for file in item.get("attachments", []))
        said += f" [{files}]" if files else ""
        show.block(f"{show.when(item['created_at'])}  {show.clean(author)} ({item['kind']}): {said}", indent="    ")
    return None


def _who(row: dict[str, object]) -> str:
    assignee = row["assignee"]
    return str(assignee["name"]) if isinstance(assignee, dict) else str(row["handler"])
