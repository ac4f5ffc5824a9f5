"""What an answer to a sync is: a manifest, word that nothing changed, or a failure with its sentence. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from tools import manifest
from tools.client import Answer, Failure
from tools.manifest import Manifest, ManifestError

# code: (sentence, how to fix it)
_FAILURES: Final[Mapping[str, tuple[str, str]]] = {
    "timeout": ("The endpoint did not answer in time.", "Answer within 10 seconds; a manifest waits for nothing."),
    "unreachable": ("The endpoint could not be reached.", "Check that the address is right and the server is running."),
    "bad_status": ("The endpoint answered {detail}.", "A signed GET must answer 200 with the manifest."),
    "redirected": ("The endpoint redirected, which tool calls never follow.", "Use the address that it redirects to."),
    "too_large": ("The endpoint answered with too much to read.", "Keep the manifest below 1 MB."),
    "not_json": ("The endpoint did not answer with JSON.", "Serve the manifest with the SDK, or as JSON in UTF-8."),
    "invalid_manifest": ("The manifest is not valid. {detail}", "Correct the manifest at that place."),
    "unauthorized": ("The endpoint refused the signature.", "Check its secret, its issuer and its clock."),
    "duplicate_tool": ("The manifest names a tool twice.", "Give every tool a name of its own, and every key once."),
    "too_many_tools": ("The manifest has more than 100 tools.", "Split the tools over several endpoints."),
    "blocked_address": ("The endpoint's address is not public.", "Use a public one, or have its network allowed."),
    "rate_limited": (
        "Too many requests. Wait a moment and try again.",
        "10 syncs a minute are allowed; look for a script that syncs in a loop.",
    ),
    "superseded": ("The endpoint changed while it was being read, so this answer was not used.", "Sync again."),
}  # fmt: skip
# Why one tool of a manifest was refused, and how to fix that.
_REFUSAL_FIXES: Final[Mapping[str, str]] = {
    "invalid_tool": "Correct the tool at that place.",
    "duplicate_tool": _FAILURES["duplicate_tool"][1],
    "name_taken": "Rename one of the two tools.",
}
_FROM_CLIENT: Final[Mapping[str, str]] = {
    "timed_out": "timeout",
    "redirected": "redirected",
    "too_big": "too_large",
    "blocked_address": "blocked_address",
    "bad_encoding": "not_json",
    "unreachable": "unreachable",
    "broken_answer": "unreachable",
}


@dataclass(frozen=True, slots=True)
class SyncFailure:
    """`code` is one of the published reasons; `detail` says more."""

    code: str
    detail: str = ""


class Unchanged:
    """The endpoint says that its manifest is the one that is stored."""


def sentence(code: str, detail: str = "") -> str:
    """What the page says about a sync that failed."""
    return _FAILURES[code][0].format(detail=detail)


def fine_print(code: str, detail: str) -> str:
    """The part of the detail that the sentence does not say."""
    return "" if "{detail}" in _FAILURES[code][0] else detail


def fix(code: str) -> str:
    """The one line on how to mend a failed sync."""
    return _FAILURES[code][1]


def refusal_fix(code: str) -> str:
    """The one line on how to mend a refused tool."""
    return _REFUSAL_FIXES[code]


def read(answer: Answer | Failure, *, conditional: bool) -> Manifest | Unchanged | SyncFailure:
    """What came back. `conditional`: the request named the stored manifest's ETag, so that 304 may answer it."""
    if isinstance(answer, Answer) and answer.status == 304 and conditional:
        return Unchanged()
    if failure := unusable(answer):
        return failure
    assert isinstance(answer, Answer)  # noqa: S101  (a Failure is unusable)
    return parsed(answer.body)


def parsed(body: bytes) -> Manifest | SyncFailure:
    """A manifest from its bytes."""
    try:
        return manifest.parse(body)
    except ManifestError as error:
        return SyncFailure(error.code, error.message)


def unusable(answer: Answer | Failure) -> SyncFailure | None:
    """Why there is nothing to read in what came back, if there is not."""
    if isinstance(answer, Failure):
        if answer.kind == "broken_answer" and answer.status:
            return SyncFailure("bad_status", str(answer.status))
        return SyncFailure(_FROM_CLIENT[answer.kind], answer.detail)
    if answer.status in {401, 403}:
        return SyncFailure("unauthorized", f"It answered {answer.status}.")
    if answer.status != 200:
        return SyncFailure("bad_status", str(answer.status))
    return None
