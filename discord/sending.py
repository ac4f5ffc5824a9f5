"""An item on its way into its place in Discord, one request after the other: the thread is opened, the customer let
in, the messages are posted, and who wrote is told where. No network inside a transaction."""

from collections.abc import Callable
from dataclasses import replace
from typing import Final, NamedTuple

from django.db.models import QuerySet

from conversations import attachments
from conversations.models import Attachment, ItemKind
from discord import api, channels, outbox, wording
from discord.api import Upload
from discord.models import DiscordInteraction, DiscordPlace, DiscordPost, PostState
from median_site.lib import secrets
from median_site.lib.db import in_thread
from median_site.lib.strict_json import Json
from tools import calls
from tools.characters import plain
from tools.client import Outbound
from webhooks.told import Told

_PRIVATE_THREAD: Final = 12
_WEEK: Final = 10_080  # minutes without a message after which Discord archives a thread; it is opened by the next one
_SECONDARY: Final = 2
_NO_CHANNEL: Final = "10003"
_ELSEWHERE: Final = "Try it in another channel, or in direct messages with this bot."


class _Step(NamedTuple):
    """One request, and what its answer does: whether there is more to do now."""

    outbound: Outbound
    record: Callable[[Told], bool]


async def run(post: DiscordPost) -> None:
    """Post a claimed item. A process that dies on the way leaves the rest of it to be posted."""
    while step := await in_thread(_next, post):
        told = api.read(await calls.client().send(step.outbound, limit=api.ANSWER_LIMIT))
        if not await in_thread(step.record, told):
            return


def _next(post: DiscordPost) -> _Step | None:
    """What comes next; None when there is nothing, or nothing that could be done."""
    if post.state == PostState.FAILED:
        return _answer(post, f"has your message, but cannot answer here: {post.reason} {_ELSEWHERE}", goes_on=False)
    channel = channels.of(post.workspace_id)
    if channel is None:
        outbox.give_up(post, why="Discord is no longer connected.")
        return None
    token = channels.token_of(channel)
    place = DiscordPlace.objects.get(conversation_id=post.conversation_id)
    if not place.channel:
        return _open(post, place, token=token)
    if not place.joined:
        return _let_in(post, place, token=token)
    if step := _message(post, place, token=token):
        return step
    if step := _tell(post, place):
        return step
    outbox.posted(post)
    return None


def _open(post: DiscordPost, place: DiscordPlace, *, token: str) -> _Step:
    conversation = post.conversation
    name = f"{plain(conversation.workspace.name)[:40]} · {plain(conversation.customer.display_name)[:50]}"
    body: dict[str, Json] = {
        "name": name, "type": _PRIVATE_THREAD, "invitable": False, "auto_archive_duration": _WEEK,
    }  # fmt: skip

    def record(told: Told) -> bool:
        if told.verdict != "done":
            return _refused(post, told)
        _rows(place).update(channel=told.at("id")[:32], joined=False)
        return not outbox.paused(post, told)

    return _Step(api.call("POST", f"channels/{place.parent}/threads", body, token=token), record)


def _let_in(post: DiscordPost, place: DiscordPlace, *, token: str) -> _Step:
    def record(told: Told) -> bool:
        if told.verdict != "done":
            return _lost(post, place, told)
        _rows(place).update(joined=True)
        return not outbox.paused(post, told)

    return _Step(api.call("PUT", f"channels/{place.channel}/thread-members/{place.user_id}", token=token), record)


def _message(post: DiscordPost, place: DiscordPlace, *, token: str) -> _Step | None:
    """The next of its texts and then of its files."""
    item = post.item
    there = DiscordPost.objects.filter(conversation=post.conversation, state=PostState.POSTED, item__lt=item)
    is_first = not there.exists()
    texts = wording.messages(item, workspace=post.conversation.workspace, is_first=is_first)
    files = [] if item.kind == ItemKind.CUSTOMER else item.sent
    if post.done >= len(texts) + len(files):
        return None
    is_last = post.done == len(texts) + len(files) - 1
    body: dict[str, Json] = {
        "allowed_mentions": api.NO_MENTIONS, "flags": api.NO_EMBEDS,
        "nonce": f"{post.id[-20:]}-{post.done}", "enforce_nonce": True,
    }  # fmt: skip
    file = None
    if post.done < len(texts):
        body["content"] = texts[post.done]
    else:
        file = _upload(files[post.done - len(texts)].id, workspace_id=post.workspace_id)
        body["attachments"] = [{"id": 0, "filename": file.name}]
    if is_last and (is_first or item.kind in {ItemKind.AGENT, ItemKind.TEAM}):
        press: Json = {
            "type": 2, "style": _SECONDARY, "label": "Reply", "custom_id": f"reply:{post.conversation_id}",
        }  # fmt: skip
        body["components"] = [{"type": 1, "components": [press]}]

    def record(told: Told) -> bool:
        if told.verdict != "done":
            return _lost(post, place, told)
        return outbox.advance(post, told)

    return _Step(api.call("POST", f"channels/{place.channel}/messages", body, token=token, file=file), record)


def _tell(post: DiscordPost, place: DiscordPlace) -> _Step | None:
    """Whoever used the command sees where it went."""
    at = f"<#{place.channel}>" if place.parent else "your direct messages with this bot"
    return _answer(post, f"has your message. The answers come in {at}.", goes_on=True)


def _answer(post: DiscordPost, text: str, *, goes_on: bool) -> _Step | None:
    """`text` follows the workspace's name. Nothing is lost if this fails: the message is in its thread."""
    asked = DiscordInteraction.objects.filter(item_id=post.item_id).exclude(sealed_reply="").first()
    if asked is None:
        return None

    def record(told: Told) -> bool:
        if goes_on and told.verdict in {"limited", "broken"}:
            outbox.failed(post, told)
            return False
        outbox.answered(asked)
        return goes_on

    name = api.escape(plain(post.conversation.workspace.name))
    body: dict[str, Json] = {"content": f"{name} {text}", "allowed_mentions": api.NO_MENTIONS}
    reply = secrets.unseal(asked.sealed_reply)
    return _Step(api.call("PATCH", f"webhooks/{reply}/messages/@original", body), record)


def _refused(post: DiscordPost, told: Told) -> bool:
    """Whether there is one to be told that it was given up."""
    if told.verdict == "limited" and outbox.paused(post, told):
        return False
    return outbox.failed(post, told)


def _lost(post: DiscordPost, place: DiscordPlace, told: Told) -> bool:
    """A thread that somebody deleted is opened anew, at the next attempt: what deletes every thread is not to find one
    after the other."""
    if place.parent and told.at("code") == _NO_CHANNEL:
        _rows(place).filter(channel=place.channel).update(channel="", joined=False)
        told = replace(told, verdict="broken")
    return _refused(post, told)


def _rows(place: DiscordPlace) -> QuerySet[DiscordPlace]:
    return DiscordPlace.objects.filter(conversation_id=place.conversation_id)


def _upload(attachment_id: str, *, workspace_id: str) -> Upload:
    row = Attachment.objects.get(workspace_id=workspace_id, id=attachment_id)
    return Upload(row.name, row.content_type, attachments.data_of(row))
