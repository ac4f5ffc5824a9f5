"""What Agent > Tools shows of HTTP tools: drafts beside what is published. Nothing changes here."""

from typing import NamedTuple

from tools import http_definitions, tool_versions
from tools.http_definitions import Change, Definition
from tools.http_tools import definition_of
from tools.models import HttpTool, ToolVersion


class DraftRow(NamedTuple):
    """A draft; `state` is "new", "changed" or "published", compared with the newest version."""

    id: str
    definition: Definition
    state: str


class Summary(NamedTuple):
    """The drafts in the order of their names, the newest version, and what publishing would change."""

    drafts: list[DraftRow]
    version: ToolVersion | None
    published: int
    changes: list[Change]

    @property
    def next_number(self) -> int:
        return self.version.number + 1 if self.version else 1


class VersionRow(NamedTuple):
    """A version with how many tools it holds."""

    version: ToolVersion
    tools: int


def summary(workspace_id: str) -> Summary:
    """Two statements."""
    version = tool_versions.newest(workspace_id)
    published = tool_versions.definitions(version)
    drafts = [
        (row.id, definition_of(row)) for row in HttpTool.objects.filter(workspace_id=workspace_id).order_by("name")
    ]
    changes = http_definitions.diff(published, [definition for _, definition in drafts])
    states = {change.name: "new" if change.what == "added" else "changed" for change in changes}
    shown = [DraftRow(id, definition, states.get(definition.name, "published")) for id, definition in drafts]
    return Summary(shown, version, len(published), changes)


def versions(workspace_id: str) -> list[VersionRow]:
    """Every version, newest first. One statement."""
    rows = ToolVersion.objects.filter(workspace_id=workspace_id).order_by("-number")
    return [VersionRow(row, len(tool_versions.definitions(row))) for row in rows]
