"""`median logs`: every step, as it was written down."""

from typing import Annotated, Any

import typer

from median_cli import config, show
from median_cli.api import WAIT_S, Api
from median_cli.options import AsJson


def logs(
    follow: Annotated[bool, typer.Option("--follow", "-f", help="Go on, and print what is added.")] = False,
    type: Annotated[str, typer.Option(help="tools, conversations, syncs or team; everything without it.")] = "",
    limit: Annotated[int, typer.Option(min=1, max=100, help="How many of the newest.")] = 50,
    as_json: AsJson = False,
) -> None:
    """Print the newest events, oldest first."""
    with Api(config.read()) as api:
        told = api.get("/events", type=type, newest="true", limit=limit)
        _print(told["data"], as_json=as_json)
        while follow:
            told = api.get("/events", type=type, after=told["last"], wait=WAIT_S)
            _print(told["data"], as_json=as_json)


def _print(events: list[Any], *, as_json: bool) -> None:
    for event in events:
        if as_json:
            show.line_of_json(event)
        else:
            actor = event["actor"]["name"] or event["actor"]["kind"]
            about = " ".join(filter(None, [event["tool"], event["subject_id"]]))
            show.line(f"{show.when(event['at'])}  {event['kind']}  {actor}  {about}")
