"""Versions of the HTTP tools: publishing the drafts, going back, and what a version holds. A version never changes."""

import hashlib
from collections.abc import Sequence
from functools import lru_cache

from django.db import transaction

from median_site.lib import clock, strict_json
from median_site.lib.actors import Actor
from median_site.lib.errors import DomainError, existing
from median_site.lib.strict_json import Json
from team import events
from team.events import Kind
from tools import http_definitions, roster
from tools.http_definitions import Definition
from tools.http_tools import definition_of
from tools.models import HttpTool, Tool, ToolVersion


class NothingToPublish(DomainError):
    code = "nothing_to_publish"
    message = "Nothing differs from the newest version."


class DraftsChanged(DomainError):
    code = "drafts_changed"
    message = "The drafts changed since this page was opened. Look at the differences again; nothing was published."


class NameTaken(DomainError):
    code = "name_taken"


def newest(workspace_id: str) -> ToolVersion | None:
    return ToolVersion.objects.filter(workspace_id=workspace_id).order_by("-number").first()


def find(by: Actor, number: int) -> ToolVersion:
    """The version of that number, or NotFound."""
    return existing(ToolVersion.objects.filter(workspace_id=by.workspace_id, number=number).first())


def definitions(version: ToolVersion | None) -> list[Definition]:
    """What a version holds, in the order of the names; nothing for None."""
    return list(_parsed(version.definitions).values()) if version else []


def definitions_by_name(workspace_id: str, *, number: int | None) -> dict[str, Definition]:
    """What the version of that number holds, or the newest for None. 0 is the time before the first version."""
    if number == 0:
        return {}
    rows = ToolVersion.objects.filter(workspace_id=workspace_id)
    version = rows.order_by("-number").first() if number is None else rows.filter(number=number).first()
    return _parsed(version.definitions) if version else {}


def drafted(workspace_id: str) -> list[Definition]:
    """What the next version would hold, in the order of the names."""
    return [definition_of(draft) for draft in HttpTool.objects.filter(workspace_id=workspace_id).order_by("name")]


def fingerprint(held: Sequence[Definition]) -> str:
    """A short text that differs whenever the definitions do."""
    return hashlib.sha256(_text(held).encode()).hexdigest()


def publish(*, by: Actor, seen: str | None = None) -> ToolVersion:
    """Make the drafts the newest version: conversations that start from now on have it, open ones keep theirs.

    `seen` is the fingerprint of the drafts that `by` looked at. Raises DraftsChanged if they are others by now,
    NothingToPublish, NameTaken, roster.TooManySwitchedOn.
    """
    with transaction.atomic():
        roster.lock(by.workspace_id)
        held = drafted(by.workspace_id)
        if seen is not None and seen != fingerprint(held):
            raise DraftsChanged
        return _publish(held, by=by)


def restore(number: int, *, by: Actor) -> ToolVersion:
    """Publish a copy of an older version under a new number. The drafts stay as they are. Raises as `publish`."""
    with transaction.atomic():
        roster.lock(by.workspace_id)
        return _publish(definitions(find(by, number)), by=by, restored_from=number)


def fill(tool: Tool, definition: Definition) -> Tool:
    """Make a tool's row, in memory, say what a definition says. Its id, name and switch stay."""
    tool.endpoint, tool.definition = None, strict_json.dumps(definition.as_json())
    tool.label, tool.description, tool.risk = definition.label, definition.description, definition.risk
    tool.input_schema = strict_json.dumps(definition.input_schema)
    tool.session_start, tool.requires, tool.extra = definition.session_start, definition.requires, {}
    tool.content_hash = hashlib.sha256(tool.definition.encode()).hexdigest()
    return tool


def _publish(held: Sequence[Definition], *, by: Actor, restored_from: int | None = None) -> ToolVersion:
    former = newest(by.workspace_id)
    changes = http_definitions.diff(definitions(former), held)
    if not changes:
        raise NothingToPublish
    version = ToolVersion.objects.create(
        workspace_id=by.workspace_id,
        number=former.number + 1 if former else 1,
        definitions=_text(held),
        published_at=clock.now(),
        by_id=by.id,
        by_name=by.name,
        restored_from=restored_from,
    )
    _offer(held, by=by)
    if roster.free(by.workspace_id) < 0:
        raise roster.TooManySwitchedOn
    data: dict[str, Json] = {
        "version": version.number, "restored_from": restored_from,
        "changes": [{"tool": change.name, "change": change.what} for change in changes],
    }  # fmt: skip
    events.record(Kind.TOOLS_PUBLISHED, by=by, subject_id=str(version.id), data=data)
    return version


def _offer(held: Sequence[Definition], *, by: Actor) -> None:
    """Make the rows of the tools, which hold the switches and the runs, say what the newest version says."""
    rows = {row.name: row for row in Tool.objects.filter(workspace_id=by.workspace_id).select_related("endpoint")}
    for definition in held:
        row = rows.get(definition.name)
        if row and row.present and row.endpoint and row.endpoint.removed_at is None:
            raise NameTaken(f"An endpoint serves a tool that is called {definition.name} too. Rename the HTTP tool.")
        row = fill(row or Tool(workspace_id=by.workspace_id, name=definition.name), definition)
        row.present = True
        row.save()
    gone = Tool.objects.filter(workspace_id=by.workspace_id, endpoint=None, present=True)
    gone.exclude(name__in=[definition.name for definition in held]).update(present=False)


def _text(held: Sequence[Definition]) -> str:
    return strict_json.dumps([definition.as_json() for definition in held])


@lru_cache(maxsize=64)
def _parsed(text: str) -> dict[str, Definition]:
    stored = strict_json.loads(text)
    made = [http_definitions.from_json(each) for each in (stored if isinstance(stored, list) else [])]
    return {definition.name: definition for definition in made}
