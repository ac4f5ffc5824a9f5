"""What the assistant may look up for a teammate: what the pages show them, as data. Nothing here changes anything."""

import re
from collections.abc import Callable, Mapping, Sequence
from typing import Final

from agent.assisting import Looked
from agent.models.base import ToolSpec
from approvals import access as approvals_access
from approvals import cards
from approvals.models import ToolApproval
from approvals.reviewer import material
from conversations import access as conversations_access
from conversations.models import Conversation, ItemKind
from median_site.dashboard import figures, queue, requests, together
from median_site.lib import clock
from median_site.lib.errors import DomainError, NotFound
from median_site.lib.strict_json import Json
from median_site.lib.text import excerpt
from team.models import Teammate
from tools import overview

FOUND: Final = 10
MESSAGES: Final = 30
_REF: Final = re.compile(r"(?:(thread|request):)?([a-z0-9_]{1,40})")

Given = Mapping[str, Json]


def _spec(name: str, description: str, **properties: dict[str, Json]) -> ToolSpec:
    schema: dict[str, Json] = {"type": "object", "properties": dict(properties), "additionalProperties": False}
    schema["required"] = list(properties)
    return ToolSpec(name, description, schema)


_TEXT: Final[dict[str, Json]] = {"type": "string"}
_STATUS: Final[dict[str, Json]] = {"type": "string", "enum": list(requests.STATUSES)}
_ANSWER: Final[dict[str, Json]] = {"type": "string", "enum": ["approve", "deny"]}
_REFS: Final[dict[str, Json]] = {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": together.MOST}


def find_threads(given: Given, *, teammate: Teammate) -> Looked:
    words = _text(given, "words")
    page = queue.page(teammate, by=queue.Filter(status="any", q=words))
    rows = [row for row, _ in page.rows[:FOUND]]
    found_in: dict[str, dict[str, Json]] = {id: {"found": said.striptags()} for id, (said, _) in page.passages.items()}
    found: list[Json] = [_thread(row) | found_in.get(row.id, {}) for row in rows]
    data: dict[str, Json] = {"threads": found, "more": bool(page.older or len(page.rows) > FOUND)}
    if page.looked_to:
        data["searched_back_to"] = page.looked_to.isoformat()
    return Looked(data, frozenset(f"thread:{row.id}" for row in rows))


def list_requests(given: Given, *, teammate: Teammate) -> Looked:
    status = _text(given, "status")
    if status not in requests.STATUSES:
        raise DomainError(f"status must be one of {', '.join(requests.STATUSES)}.")
    by = requests.Filter(status=status)
    is_waiting = status == "waiting"
    page = (requests.waiting if is_waiting else requests.settled)(teammate.workspace_id, by=by)
    return Looked({"requests": [_request(row) for row in page.rows], "more": bool(page.next)}, _refs_of(page.rows))


def show_request(given: Given, *, teammate: Teammate) -> Looked:
    row = approvals_access.approval(teammate.actor, _id(_text(given, "request"), "request"))
    read = material.gather(row)
    heeds = cards.heeds([row]).get(row.id, ()) if row.is_decidable else ()
    data: dict[str, Json] = _request(row) | {
        "what_the_tool_does": row.description,
        "warnings": [heed.text for heed in heeds],
        "customer_is_verified": read.verified,
        "what_the_reviewer_said": row.review_reason,
        "reason_of_the_team": row.reason,
        "said": [{"by": said.who, "text": said.text} for said in read.said[-MESSAGES:]],
        "notes_of_the_team": list(read.notes[-FOUND:]),
        "other_calls": [
            {"tool": call.tool, "input": call.input, "state": call.state, "result": call.result[:1_000]}
            for call in read.calls[-FOUND:]
        ],
        "asked_before_with": list(read.earlier[-FOUND:]),
    }
    return Looked(data, _refs_of([row]))


def show_thread(given: Given, *, teammate: Teammate) -> Looked:
    row = conversations_access.conversation(teammate.actor, _id(_text(given, "thread"), "thread"))
    kinds = [ItemKind.CUSTOMER, ItemKind.AGENT, ItemKind.TEAM, ItemKind.NOTE]
    items = row.items.filter(workspace_id=row.workspace_id, kind__in=kinds).order_by("-number")[:MESSAGES]
    asked = cards.rows(row.workspace_id).filter(conversation=row).order_by("-requested_at")[:FOUND]
    said: list[Json] = [
        {"by": item.author_name or item.kind, "kind": item.kind, "text": item.text} for item in reversed(items)
    ]
    data = _thread(row) | {"said": said, "requests": [_request(each) for each in asked]}
    return Looked(data, frozenset({f"thread:{row.id}"}) | _refs_of(list(asked)))


def list_tools(given: Given, *, teammate: Teammate) -> Looked:
    rows = overview.tools(teammate.workspace_id)
    tools: list[Json] = [
        {
            "tool": row.tool.name, "label": row.tool.label, "risk": row.tool.risk, "on": row.tool.switched_on,
            "does": excerpt(row.tool.description, 200), "runs_in_7_days": row.runs, "failed_of_them": row.failed,
        }
        for row in rows
    ]  # fmt: skip
    return Looked({"tools": tools})


def failing_tools(given: Given, *, teammate: Teammate) -> Looked:
    runs = figures.runs(teammate.workspace_id)
    failing: list[Json] = [
        {"tool": row.name, "label": row.label, "failed": row.failed, "of": row.total, "last_fault": row.fault}
        for row in runs.failing
    ]
    return Looked({"days": figures.FAILING.days, "failing": failing, "failed": runs.failed, "of": runs.total})


def propose(given: Given, *, teammate: Teammate) -> Looked:
    answer, wanted = _text(given, "answer"), given.get("requests")
    if answer not in {"approve", "deny"} or not isinstance(wanted, list):
        raise DomainError('answer must be "approve" or "deny", and requests a list of refs.')
    ids = [_id(each, "request") for each in wanted if isinstance(each, str)]
    found = together.chosen(teammate.actor, ids, one_tool=answer == "approve")
    waiting = [row for row in found if row.is_decidable and row.expires_at > clock.now()]
    if not waiting:
        raise together.NothingChosen
    note = "The teammate sees these with the buttons below your answer. Nothing is decided until they press one."
    data: dict[str, Json] = {"proposed": [_request(row) for row in waiting], "answer": answer, "note": note}
    return Looked(data, _refs_of(waiting), tuple(row.id for row in waiting), answer)


_LookUp = Callable[..., Looked]
_ALL: Final[Sequence[tuple[_LookUp, ToolSpec]]] = (
    (find_threads, _spec("find_threads", "Threads by words, a customer's name or an order's number.", words=_TEXT)),
    (list_requests, _spec("list_requests", "Requests for approval; waiting ones the soonest first.", status=_STATUS)),
    (show_request, _spec("show_request", "One request with all there is to judge it by.", request=_TEXT)),
    (show_thread, _spec("show_thread", "A thread's newest messages, notes and requests.", thread=_TEXT)),
    (list_tools, _spec("list_tools", "The company's tools, with their runs of the last seven days.")),
    (failing_tools, _spec("failing_tools", "The tools whose calls failed in the last seven days.")),
    (
        propose,
        _spec(
            "propose", "Put requests before the teammate to decide; decides nothing.", answer=_ANSWER, requests=_REFS
        ),
    ),
)


class _LookUps:
    """See agent.assisting.LookUps."""

    specs: Final = tuple(spec for _, spec in _ALL)
    _by_name: Final = {spec.name: look_up for look_up, spec in _ALL}

    def look(self, name: str, given: Given, *, teammate: Teammate) -> Looked:
        look_up = self._by_name.get(name)
        if look_up is None:
            return Looked({"error": f"There is only {', '.join(self._by_name)}."})
        try:
            return look_up(given, teammate=teammate)
        except DomainError as error:
            return Looked({"error": error.message})


look_ups: Final = _LookUps()


def _text(given: Given, key: str) -> str:
    value = given.get(key)
    if not isinstance(value, str) or not value.strip():
        raise DomainError(f"{key} is missing.")
    return value.strip()


def _id(ref: str, kind: str) -> str:
    found = _REF.fullmatch(ref.strip(" []"))
    if not found or found[1] not in {None, kind}:
        raise NotFound
    return found[2]


def _thread(row: Conversation) -> dict[str, Json]:
    return {
        "ref": f"thread:{row.id}", "customer": row.customer.display_name, "channel": row.channel, "status": row.status,
        "held_by": row.handler, "last_message": row.excerpt, "requests_waiting": row.waiting,
    }  # fmt: skip


def _request(row: ToolApproval) -> dict[str, Json]:
    """One of `cards.rows`."""
    return {
        "ref": f"request:{row.id}", "thread": f"thread:{row.conversation_id}", "tool": row.tool_label,
        "input": row.input, "customer": row.conversation.customer.display_name, "risk": row.risk,
        "status": requests.STATUS_OF[row.state_at(clock.now())], "asked_at": row.requested_at.isoformat(),
        "expires_at": row.expires_at.isoformat(), "decided_by": row.decided_by_name,
    }  # fmt: skip


def _refs_of(rows: Sequence[ToolApproval]) -> frozenset[str]:
    return frozenset(ref for row in rows for ref in (f"request:{row.id}", f"thread:{row.conversation_id}"))
