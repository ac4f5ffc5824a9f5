"""`median tools`: what the agent may run, and the requests that wait for an answer."""

import json
import sys
import time
from pathlib import Path
from typing import Annotated, Any

import typer

from median_cli import config, show
from median_cli.api import WAIT_S, Api, segment
from median_cli.failures import Failed, Usage
from median_cli.options import AsJson, Limit

app = typer.Typer(help="Tools, test calls, and requests to run one.", no_args_is_help=True)

Input = Annotated[str, typer.Option("--input", help="JSON, @FILE, or - for standard input.")]
Name = Annotated[str, typer.Argument(help="The tool's function name, like orderStatus.")]
RequestId = Annotated[str, typer.Argument(help="The request's id, call_…")]

OVER = {"completed", "failed"}
QUOTES = "Your shell may have taken its quotes away: --input @FILE reads a file, --input - standard input."


@app.command("list", epilog="Example: median tools list")
def list_tools(as_json: AsJson = False) -> None:
    """List the tools."""
    with Api(config.read()) as api:
        found = api.get("/tools")["data"]
    if as_json:
        return show.as_json(found)
    rows = ([tool["name"], tool["label"], show.risk(tool["risk"]), _state(tool)] for tool in found)
    return show.table(["Name", "Label", "Risk", "State"], rows, empty="No tools yet. Add an endpoint and sync it.")


@app.command(epilog="Example: median tools sync https://shop.example.com/tools")
def sync(
    endpoint: Annotated[str, typer.Argument(help="The endpoint's id or URL; all of them without it.")] = "",
    as_json: AsJson = False,
) -> None:
    """Fetch the manifests now."""
    with Api(config.read()) as api:
        known = api.get("/tool-endpoints")["data"]
        chosen = [row for row in known if not endpoint or endpoint in (row["id"], row["url"])]
        if not chosen:
            raise Failed(f"There is no endpoint {endpoint}." if endpoint else "There are no endpoints yet.")
        synced = [api.post(f"/tool-endpoints/{row['id']}/sync") for row in chosen]
    if as_json:
        show.as_json(synced)
    else:
        for row in synced:
            failure = row["failure"]
            show.line(f"{row['url']}: {'failed, ' + failure['code'] if failure else 'synced'}")
            for refused in row["refused"] or []:
                show.line(f"  {refused['name']}: {refused['reason']}")
    if any(row["failure"] for row in synced):
        raise typer.Exit(1)


@app.command(epilog="Example: median tools enable refundOrder")
def enable(name: Name, as_json: AsJson = False) -> None:
    """Switch a tool on."""
    _switch(name, "enable", as_json)


@app.command(epilog="Example: median tools disable refundOrder")
def disable(name: Name, as_json: AsJson = False) -> None:
    """Switch a tool off: it leaves the agent's next turn and the run lists."""
    _switch(name, "disable", as_json)


@app.command(
    "test", epilog='Example: median tools test orderStatus --input \'{"orderNumber":"ORD-1042"}\' --as user_123'
)
def call_once(
    name: Name,
    input: Input = "{}",
    as_customer: Annotated[str, typer.Option("--as", help="A customer's id; nobody without it.")] = "",
    conversation: Annotated[str, typer.Option(help="A conversation's id, for the endpoint to read.")] = "",
    as_json: AsJson = False,
) -> None:
    """Call a tool once, for real, with a test_ id; print what came back and how long it took."""
    body = {"as_customer": as_customer} if as_customer else {}
    body |= {"conversation_id": conversation} if conversation else {}
    text = _input(input)
    began = time.monotonic()
    with Api(config.read()) as api:
        run = api.post(f"/tools/{segment(name)}/test", body, input_text=text)
    _print_run(run, as_json=as_json, seconds=time.monotonic() - began)


@app.command(epilog="Example: median tools run orderStatus --conversation 01m8… --input @input.json")
def run(
    name: Name,
    conversation: Annotated[str, typer.Option(help="The conversation to run it in.")],
    input: Input = "{}",
    as_json: AsJson = False,
) -> None:
    """Run a tool in a conversation, with no sign-off, and wait for its result."""
    text = _input(input)
    with Api(config.read()) as api:
        queued = api.post(f"/conversations/{segment(conversation)}/tools/run", {"tool": name}, input_text=text)
        while queued["status"] not in OVER:
            queued = api.get(f"/tool-runs/{queued['id']}", wait=WAIT_S)
    _print_run(queued, as_json=as_json)


@app.command(epilog="Example: median tools approvals --status pending --watch")
def approvals(
    status: Annotated[
        str, typer.Option(help="pending, reviewing, executing, completed, failed, denied or expired.")
    ] = "",
    limit: Limit = 50,
    watch: Annotated[bool, typer.Option("--watch", help="Go on, and print each one that changes.")] = False,
    as_json: AsJson = False,
) -> None:
    """List requests, the newest first."""
    with Api(config.read()) as api:
        after = api.get("/events", limit=1, newest="true")["last"] if watch else 0
        found = api.listed("/tool-approvals", status=status, limit=limit)
        _print_requests(found, as_json=as_json)
        while watch:
            told = api.get("/events", type="tools", after=after, wait=WAIT_S)
            after = told["last"]
            changed = {event["subject_id"] for event in told["data"] if event["kind"].startswith("approval.")}
            rows = [api.get(f"/tool-approvals/{row_id}") for row_id in sorted(changed)]
            _print_requests([row for row in rows if status in ("", row["status"])], as_json=as_json, quiet=True)


@app.command(epilog="Example: median tools approve call_01a2…")
def approve(request: RequestId, as_json: AsJson = False) -> None:
    """Let exactly the input that the request shows leave, once."""
    _decide(f"/tool-approvals/{segment(request)}/approve", {}, as_json)


@app.command(epilog="Example: median tools deny call_01a2… --reason 'Paid back already.'")
def deny(
    request: RequestId,
    reason: Annotated[str, typer.Option(help="For the team alone.")] = "",
    as_json: AsJson = False,
) -> None:
    """Refuse a request."""
    _decide(f"/tool-approvals/{segment(request)}/deny", {"reason": reason}, as_json)


def _decide(path: str, body: dict[str, str], as_json: bool) -> None:
    with Api(config.read()) as api:
        decided = api.post(path, body)
    if as_json:
        show.as_json(decided)
    else:
        show.line(f"{decided['label']}: {decided['status']}")


def _switch(name: str, verb: str, as_json: bool) -> None:
    with Api(config.read()) as api:
        tool = api.post(f"/tools/{segment(name)}/{verb}")
    if as_json:
        show.as_json(tool)
    else:
        show.line(f"{tool['label']} is {'on' if tool['enabled'] else 'off'}.")


def _input(given: str) -> str:
    """The JSON text of --input, which must be an object; it is sent as it is."""
    try:
        text = _read(sys.stdin.buffer.read()) if given == "-" else given
        text = _read(Path(given[1:]).read_bytes()) if given[:1] == "@" else text
        value = json.loads(text)
    except OSError as error:
        raise Usage(f"--input: {error.strerror}: {given[1:]}") from error
    except (ValueError, RecursionError) as error:
        raise Usage(f"--input is not JSON: {error}. {QUOTES}") from error
    if not isinstance(value, dict):
        raise Usage(f"--input must be a JSON object. {QUOTES}")
    return text


def _read(data: bytes) -> str:
    """JSON of a file or a pipe in UTF-8, or in what a byte order mark says, as PowerShell writes it."""
    return data.decode(json.detect_encoding(data))


def _print_run(run: Any, *, as_json: bool, seconds: float | None = None) -> None:
    if as_json:
        show.as_json(run)
    elif run["error"]:
        show.line(run["error"]["message"])
    else:
        show.block(run["raw"] or "(an empty answer)")
    if seconds is not None and not as_json:
        show.error(f"{seconds:.2f} s")
    if run["error"]:
        raise typer.Exit(1)


def _print_requests(rows: list[Any], *, as_json: bool, quiet: bool = False) -> None:
    if as_json:
        show.as_json(rows) if rows or not quiet else None
    elif rows or not quiet:
        cells = (
            [row["id"], row["label"], row["status"], show.when(row["requested_at"]), show.compact(row["input"])]
            for row in rows
        )
        show.table(["Id", "Tool", "Status", "Asked", "Input"], cells, empty="No requests.")


def _state(tool: Any) -> str:
    return "gone" if not tool["available"] else "on" if tool["enabled"] else "off"
