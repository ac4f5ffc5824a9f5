"""What Discord tells of: a slash command, a press, a form that was sent. Pure; nothing in them is believed but that
Discord signed them."""

from dataclasses import dataclass
from typing import Final

from discord import api
from median_site.lib.strict_json import Json
from webhooks.told import at, inside

COMMAND: Final = "support"
FILES: Final = 5
# What Discord lets a text option and a form's text have at most; a message of ours may be longer.
TEXT_LIMIT: Final = 4_000
_THREADS: Final = {"10", "11", "12"}  # kinds of channels that are threads


@dataclass(frozen=True, slots=True, kw_only=True)
class Came:
    """One interaction. `conversation_id` is that of the button or form; `reply` is the token to answer it with.

    `channel` is where it was made, and `parent` the channel in which a thread can be opened: none in direct messages.
    """

    kind: str
    key: str
    guild_id: str
    channel: str
    parent: str
    user_id: str
    user_name: str
    name: str
    conversation_id: str
    text: str
    files: tuple[tuple[str, str], ...]
    reply: str


def read(payload: Json) -> Came:
    """What the payload says; fields that are not there are empty."""
    guild_id = at(payload, "guild_id")[:32]
    user = ("member", "user") if guild_id else ("user",)
    names = (at(payload, "member", "nick"), at(payload, *user, "global_name"), at(payload, *user, "username"))
    channel = at(payload, "channel_id")[:32]
    above = at(payload, "channel", "parent_id") if at(payload, "channel", "type") in _THREADS else channel
    action, _, conversation_id = at(payload, "data", "custom_id").partition(":")
    kind = at(payload, "type")
    return Came(
        kind=kind,
        key=at(payload, "id")[:32],
        guild_id=guild_id,
        channel=channel,
        parent=above[:32] if guild_id else "",
        user_id=at(payload, *user, "id")[:32],
        user_name=next((name for name in names if name), "")[:150],
        name=at(payload, "data", "name") if kind == api.COMMAND else action,
        conversation_id=conversation_id[:32],
        text=_text(payload),
        files=_files(payload),
        reply=f"{at(payload, 'application_id')}/{at(payload, 'token')}",
    )


def _text(payload: Json) -> str:
    """Of the option or of the form's field, whichever is there."""
    return next((at(field, "value") for field in _fields(payload) if _is_named(field, "message")), "")


def _files(payload: Json) -> tuple[tuple[str, str], ...]:
    """Name and address of each file that was chosen, as Discord has resolved it."""
    chosen: list[Json] = []
    for field in _fields(payload):
        if _is_named(field, "file"):
            values = inside(field, "values")
            chosen += values if isinstance(values, list) else [inside(field, "value")]
    found = [inside(payload, "data", "resolved", "attachments", str(each)) for each in chosen[:FILES]]
    return tuple((at(file, "filename")[:150], at(file, "url")[:2_000]) for file in found if at(file, "url"))


def _fields(payload: Json) -> list[Json]:
    """A command's options, or a form's fields, each within its label."""
    options, labels = inside(payload, "data", "options"), inside(payload, "data", "components")
    fields = [inside(label, "component") for label in labels] if isinstance(labels, list) else []
    return [*(options if isinstance(options, list) else ()), *fields]


def _is_named(field: Json, name: str) -> bool:
    return name in (at(field, "name"), at(field, "custom_id"))


def command() -> dict[str, Json]:
    """How the slash command is registered: for servers and for direct messages with the bot."""
    return {
        "name": COMMAND,
        "type": 1,
        "description": "Write to the support team",
        "options": [
            {
                "type": 3, "name": "message", "description": "What you want to tell or ask", "required": True,
                "max_length": TEXT_LIMIT,
            },
            {"type": 11, "name": "file", "description": "A picture or a file that shows it", "required": False},
        ],
        "integration_types": [0],
        "contexts": [0, 1],
    }  # fmt: skip


def form(conversation_id: str) -> Json:
    """The answer to a press of Reply."""
    upload: Json = {"type": 19, "custom_id": "file", "min_values": 0, "max_values": FILES, "required": False}
    return api.ask(
        f"reply:{conversation_id}",
        title="Reply",
        fields=[
            api.text_field("message", label="Your message", most=TEXT_LIMIT, required=True),
            {"type": 18, "label": "Files", "component": upload},
        ],
    )


def say(text: str) -> Json:
    """An answer at once, for their eyes alone."""
    return {"type": 4, "data": {"content": text, "flags": api.EPHEMERAL, "allowed_mentions": api.NO_MENTIONS}}
