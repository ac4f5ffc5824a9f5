"""Where a tool ran in a thread: a line for the agent's own runs, a card for one by hand; and how a result is shown."""

import re
from dataclasses import dataclass
from typing import Final

from markupsafe import Markup

from conversations.fragments import place
from conversations.models import Item
from median_site.lib.actors import Actor, ActorKind
from median_site.lib.fragments import render
from tools import characters, values
from tools.characters import Piece
from tools.models import RunState, Starter, ToolRun

# Longer raw output is fetched when somebody opens it.
RAW_INLINE: Final = 8_000
_LINK: Final = re.compile(r"https?://[!-~]+")


@dataclass(frozen=True, slots=True)
class ResultRow:
    label: str
    pieces: tuple[Piece, ...]
    # The value itself when it is an address and nothing else.
    link: str


@dataclass(frozen=True, slots=True)
class ResultView:
    """What a run's result looks like; `raw` is None when it is too long to stand in the thread."""

    headline: tuple[Piece, ...]
    rows: tuple[ResultRow, ...]
    raw: tuple[Piece, ...] | None


def run(run: ToolRun, *, item: Item, agent: str) -> Markup:
    """The run's place in its thread. `agent` is the agent's display name."""
    parts = {"run": run, "item": item, "place": place(item)}
    parts |= {"values": values.rows_of(run.input), "view": result_view(run)}
    if run.started_by in {Starter.TEAMMATE, Starter.API}:
        return render("tools/_run_card.html", **parts, who=_who(run), news=_news(run))
    return render("tools/_run_line.html", **parts, agent=agent)


def result_view(run: ToolRun) -> ResultView:
    """The stored write-up and raw output, taken apart for showing."""
    rows = tuple(
        ResultRow(str(label), characters.pieces(str(value)), str(value) if _LINK.fullmatch(str(value)) else "")
        for label, value, _ in run.rows or []
    )
    raw = raw_pieces(run.raw) if len(run.raw) <= RAW_INLINE else None
    return ResultView(characters.pieces(run.headline), rows, raw)


def raw(run: ToolRun) -> Markup:
    """All of the raw output, for the place that a long one left empty."""
    return render("tools/_raw.html", output=raw_pieces(run.raw))


def raw_pieces(text: str) -> tuple[Piece, ...]:
    """Exactly what the tool returned. Layout stays layout; what does not show is written as its code."""
    return characters.pieces(text, marks=False)


def _who(run: ToolRun) -> str:
    kind = ActorKind.API if run.started_by == Starter.API else ActorKind.TEAMMATE
    name = Actor(kind, run.workspace_id, name=run.by_name).short_name
    return name[:1].upper() + name[1:]


def _news(run: ToolRun) -> str:
    """One sentence for the status line when the card changes."""
    said = {RunState.COMPLETED: "ran", RunState.FAILED: "did not run"}.get(RunState(run.state), "is running")
    return f"{run.tool_label} {said}"
