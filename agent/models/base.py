"""The one small interface behind which every language model stands, and the words it is spoken to with.

No transport and no conversation rules here: a model gets messages and tools, and gives one answer or a ModelError.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final, Literal, Protocol

from median_site.lib.strict_json import Json

# The tag between which a model finds a notice where its wire has no such role.
NOTICE: Final = "median-notice"


@dataclass(frozen=True, slots=True)
class ToolSpec:
    """A tool as the model may know it; `input_schema` is a JSON Schema whose top is an object."""

    name: str
    description: str
    input_schema: dict[str, Json]


@dataclass(frozen=True, slots=True)
class ToolCall:
    """A call that a model asked for, unchecked.

    `id` is the model's own and may be empty or repeated: pair results with calls by position only. `arguments` is the
    raw text as the model wrote it, None when it wrote none.
    """

    id: str
    name: str
    arguments: str | None


@dataclass(frozen=True, slots=True)
class Picture:
    """A picture that a customer sent; `media_type` like image/png, `data` the file's bytes."""

    media_type: str
    data: bytes


@dataclass(frozen=True, slots=True)
class Message:
    """One entry of what a model reads. A "notice" is what Median itself tells in the middle of a conversation.

    The results of an assistant message's `tool_calls` follow it at once as messages of role "tool", one for each call
    and in the order of the calls. Pictures belong to messages of role "user".
    """

    role: Literal["system", "user", "assistant", "tool", "notice"]
    text: str
    pictures: tuple[Picture, ...] = ()
    tool_calls: tuple[ToolCall, ...] = ()
    tool_call_id: str | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What a model answered: text, calls, both or neither.

    `finish` "length" means that it was cut off: text and arguments may be incomplete. `model` is the name that the
    provider reports.
    """

    text: str
    tool_calls: tuple[ToolCall, ...]
    finish: Literal["stop", "tool_calls", "length", "other"]
    model: str


ErrorCode = Literal["timeout", "unreachable", "refused", "bad_status", "bad_answer", "too_large"]


class ModelError(Exception):
    """A model gave no usable answer; `message` is a sentence for the team and holds no secret.

    `refused` means that the key was not accepted. `retryable` says whether asking once more may help, and `pause_s`
    for how many seconds the API wants to be left alone before that.
    """

    def __init__(self, code: ErrorCode, message: str, *, retryable: bool, pause_s: float = 0) -> None:
        super().__init__(message)
        self.code = code
        self.message = message
        self.retryable = retryable
        self.pause_s = pause_s


class Model(Protocol):
    """A language model. `is_demo` is true for the one that needs no key and no network."""

    @property
    def name(self) -> str: ...

    @property
    def is_demo(self) -> bool: ...

    async def complete(self, messages: Sequence[Message], *, tools: Sequence[ToolSpec], deadline_s: float) -> Answer:
        """Answer within `deadline_s` seconds, everything included; raises ModelError and nothing else."""

    async def aclose(self) -> None:
        """Close what is open; the model is not used afterwards."""
