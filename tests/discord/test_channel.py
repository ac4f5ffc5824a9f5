"""Customers write in Discord and are answered there, each thing once, and nothing in it passes for more than text."""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta

import pytest
from django.db import connections

from approvals import decisions
from conversations import attachments, threads
from conversations.models import Channel, Conversation, Customer, Item, ItemKind, Status
from discord import channels
from discord.models import DiscordChannel, DiscordInteraction, DiscordPost, PostState
from median_site.lib import clock
from team.events import Kind
from team.models import Event
from tests.alerts.json_server import Reply
from tests.approvals.requests import request
from tests.discord.conftest import later, work
from tests.discord.server import CHANNEL, DIRECT, GRETL, GUILD, TOKEN, Discord, Person, post
from tests.world import World

HINT = "\n-# What is typed here is not read. Write more with the button, or with /support."
PING = b'{"type":1}'


def conversation() -> Conversation:
    return Conversation.objects.filter(channel=Channel.DISCORD).latest("created_at")


def reply(world: World, text: str, **more: list[str]) -> None:
    threads.reply(conversation().id, by=world.sam.actor, body=text, **more)
    work()


def lines() -> list[str]:
    return list(conversation().items.filter(kind=ItemKind.LINE).order_by("number").values_list("text", flat=True))


def test_a_customer_writes_and_both_sides_go_on_in_a_private_thread(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    for _ in range(3):  # Discord may tell of it more than once
        answer = gretl.writes("my login link says expired", id="77")
        assert (answer.status_code, answer.json()) == (200, {"type": 5, "data": {"flags": 64}})
    assert not Conversation.objects.filter(channel=Channel.DISCORD).exists()  # acknowledged before anything is done
    work()

    [(thread_id, thread)] = discord.threads.items()
    assert (thread.parent, thread.name, thread.members) == (CHANNEL, "Fernhill · Gretl", {GRETL["id"]})
    assert discord.texts() == ["**Gretl**\n> my login link says expired" + HINT]
    assert discord.originals == {"interaction-token": f"Fernhill has your message. The answers come in <#{thread_id}>."}
    customer = Customer.objects.get(subject=f"discord:{GRETL['id']}")
    assert (customer.verified, customer.name, conversation().claims) == (False, "Gretl", {})

    reply(fernhill, "Open the **newest** link.")
    assert discord.texts()[1:] == ["**Sam** · Fernhill\nOpen the **newest** link."]
    [button] = discord.messages[1].buttons
    assert discord.messages[0].buttons == [button]
    form = gretl.presses(button).json()
    assert (form["type"], form["data"]["custom_id"]) == (9, button)
    assert [field["component"]["type"] for field in form["data"]["components"]] == [4, 19]
    for _ in range(2):
        assert gretl.replies(button, "that fixed it", id="78").json() == {"type": 6}
    work()

    said = conversation().items.filter(kind=ItemKind.CUSTOMER).order_by("number")
    assert list(said.values_list("text", flat=True)) == ["my login link says expired", "that fixed it"]
    assert discord.texts()[2:] == ["**Gretl**\n> that fixed it"]
    assert {message.channel for message in discord.messages} == {thread_id}
    assert len(discord.threads) == 1
    assert DiscordPost.objects.filter(state=PostState.POSTED).count() == 3
    assert set(DiscordInteraction.objects.values_list("text", "sealed_reply")) == {("", "")}


def test_told_and_worked_on_at_once_by_several_it_happens_once(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    def at_once(do: Callable[[], object]) -> None:
        def alone(_: int) -> None:
            try:
                do()
            finally:
                connections.close_all()

        with ThreadPoolExecutor(4) as pool:
            list(pool.map(alone, range(4)))

    at_once(lambda: gretl.writes("hello", id="77"))
    gretl.writes("are you there?", id="78")
    at_once(work)
    work()
    threads.reply(conversation().id, by=fernhill.sam.actor, body="Hi!")
    threads.reply(conversation().id, by=fernhill.sam.actor, body="Yes.")
    at_once(work)
    work()
    assert discord.texts() == [
        "**Gretl**\n> hello" + HINT,
        "**Gretl**\n> are you there\\?",
        "**Sam** · Fernhill\nHi!",
        "**Sam** · Fernhill\nYes.",
    ]
    assert len([call for call in discord.calls if call.endswith("/messages")]) == 4
    assert len(discord.threads) == 1


def test_in_direct_messages_there_is_no_thread(fernhill: World, discord: Discord, gretl: Person) -> None:
    gretl.channel, gretl.guild_id = {"id": DIRECT, "type": 1}, ""
    gretl.writes("\u200b")  # shows as nothing
    work()
    reply(fernhill, "Hi!")
    assert [(message.channel, message.text) for message in discord.messages] == [
        (DIRECT, "**Gretl**\n> \\(The message has no text\\.\\)" + HINT),
        (DIRECT, "**Sam** · Fernhill\nHi!"),
    ]
    assert discord.threads == {}
    assert discord.originals["interaction-token"].endswith("The answers come in your direct messages with this bot.")


def test_nothing_pings_hides_a_link_or_speaks_for_somebody_else(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    gretl.user["global_name"] = "**Sam** \u202e@everyone"
    gretl.writes("@everyone <@1>\n-# **Signed off** [here](https://evil.example) ||x||")
    work()
    reply(fernhill, "<@1> [Approve](https://evil.example) `a_b` ||x||\n# Big\n-# small\n- item")
    echo, answer = discord.texts()
    assert echo == (
        "**\\*\\*Sam\\*\\* ⟦U\\+202E⟧\\@everyone**\n> \\@everyone \\<\\@1\\>\n"
        "> \\-\\# \\*\\*Signed off\\*\\* \\[here\\]\\(https\\:\\/\\/evil\\.example\\) \\|\\|x\\|\\|" + HINT
    )
    assert answer == (
        "**Sam** · Fernhill\n\\<\\@1> \\[Approve\\](https://evil.example) `a_b` \\|\\|x\\|\\|"
        "\n\\# Big\n-\\# small\n- item"
    )
    assert all(message.body["flags"] == 4 for message in discord.messages)


@pytest.mark.parametrize("text", ["word " * 1_500, "注" * 6_000, "😀" * 3_000, "[x]\n" * 1_500 + "end", "*" * 4_000])
def test_a_long_answer_is_several_messages_and_nothing_is_lost(
    fernhill: World, discord: Discord, gretl: Person, text: str
) -> None:
    gretl.writes("hello")
    work()
    reply(fernhill, text)
    parts = discord.messages[1:]
    whole = "".join(part.text for part in parts).removeprefix("**Sam** · Fernhill\n").replace("\\", "")
    assert "".join(whole.split()) == "".join(text.split())
    assert [bool(part.buttons) for part in parts] == [False] * (len(parts) - 1) + [True]


def test_whoever_waits_for_a_sign_off_sees_that(fernhill: World, discord: Discord, gretl: Person) -> None:
    gretl.writes("please refund ORD-1042")
    work()
    fernhill.conversation = conversation()
    approval = request(fernhill)
    work()
    decisions.approve(approval.id, by=fernhill.kim.actor)
    work()
    request(fernhill, tool="closeAccount", input_text="{}")
    threads.end(conversation().id, by=fernhill.sam.actor, to=Status.RESOLVED)
    work()
    at = Item.objects.get(ref=Kind.APPROVED).created_at
    assert discord.texts()[1:] == [
        "-# **Waiting for sign-off** · A teammate is looking at your request. The answer will be here.",
        f"-# **Signed off** · Answered at {at:%H:%M} by the Fernhill team.",
        "-# **Waiting for sign-off** · A teammate is looking at your request. The answer will be here.",
        "-# **No longer waiting for sign-off** · Write again if you still need it.",
    ]


def test_files_go_both_ways_within_their_limits(fernhill: World, discord: Discord, gretl: Person) -> None:
    discord.files = {"small": b"A receipt", "large": b"x" * (attachments.SIZE_LIMIT + 1)}
    urls = {"receipt.txt": "small", "huge.bin": "large", "gone.txt": "gone"}
    gretl.writes(" \u200b", files={name: f"{discord.url}/cdn/{path}" for name, path in urls.items()})
    work()
    [item] = conversation().items.filter(kind=ItemKind.CUSTOMER)
    assert [(file.name, file.size) for file in item.sent] == [("receipt.txt", 9)]
    assert lines() == [
        "A file out of Discord was not kept: “huge.bin” is too large. “gone.txt” could not be fetched from Discord."
    ]
    row = attachments.store(None, name='a "b".txt', data=b"Ours", by=fernhill.sam.actor)
    reply(fernhill, "", files=[row.id])
    assert discord.messages[0].text == "**Gretl**\n> \\(file\\: receipt\\.txt\\)" + HINT
    assert discord.messages[1].text == "**Sam** · Fernhill\n"
    assert list(discord.messages[2].body["files"].values()) == [b"Ours"]
    assert [bool(message.buttons) for message in discord.messages] == [True, False, True]


def test_a_pause_is_kept_whether_discord_asks_for_it_late_or_ahead(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    gretl.writes("hello")
    work()
    used_up = Reply(body={"id": "1"}, headers={"X-RateLimit-Remaining": "0", "X-RateLimit-Reset-After": "4.5"})
    discord.replies.extend([used_up, Reply(429, {"retry_after": 12.5, "global": True}, {"Retry-After": "13"})])
    before = len(discord.calls)
    reply(fernhill, "word " * 500)
    work()
    assert len(discord.calls) == before + 1
    later(timedelta(seconds=5))
    work()
    assert len(discord.calls) == before + 2
    assert DiscordChannel.objects.get().quiet_until > clock.now() + timedelta(seconds=6)
    later(timedelta(seconds=14))
    work()
    assert [bool(message.buttons) for message in discord.messages] == [True, True]
    assert (DiscordPost.objects.filter(state=PostState.POSTED).count(), lines()[1:]) == (2, [])


def test_sent_again_after_a_crash_a_message_is_the_same_one(fernhill: World, discord: Discord, gretl: Person) -> None:
    gretl.writes("hello")
    work()
    reply(fernhill, "Hi!")
    waits = {"state": PostState.WAITING, "done": 0, "due_at": clock.now(), "attempts": 0}
    DiscordPost.objects.update(**waits)  # it never came to be recorded
    work()
    assert discord.texts() == ["**Gretl**\n> hello" + HINT, "**Sam** · Fernhill\nHi!"]
    assert len(discord.threads) == 1


def test_a_thread_that_was_deleted_is_opened_anew_and_a_failure_is_tried_again(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    gretl.writes("hello")
    work()
    discord.threads.clear()
    discord.replies.append(Reply(502))
    reply(fernhill, "Hi!")
    assert [post.reason for post in DiscordPost.objects.filter(state=PostState.WAITING)] == ["It answered 502."]
    later(timedelta(seconds=6))
    work()
    assert discord.threads == {}  # not at once: it may be that something deletes each
    later(timedelta(seconds=35))
    work()
    [thread] = discord.threads
    assert discord.messages[-1].channel == thread
    assert not Event.objects.filter(kind=Kind.DISCORD_FAILED).exists()


def test_where_the_bot_may_not_be_the_customer_and_the_team_are_told(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    gretl.channel = {"id": "666666666666666666", "type": 0}
    gretl.writes("hello")
    work()
    why = "The bot is not in the server, or may not see the channel."
    assert lines() == [f"The message of Gretl could not be posted in Discord: {why}"]
    assert discord.originals["interaction-token"] == (
        f"Fernhill has your message, but cannot answer here: {why} Try it in another channel, or in direct messages"
        " with this bot."
    )
    assert Event.objects.get(kind=Kind.DISCORD_FAILED).outcome == "failed"
    held = conversation()
    assert held.attention > 0
    gretl.channel = {"id": CHANNEL, "type": 0}
    gretl.writes("hello again")
    work()
    assert conversation() == held
    assert discord.texts() == ["**Gretl**\n> hello again" + HINT]


def test_a_token_that_discord_refuses_stops_everything_until_it_is_mended(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    discord.replies.append(Reply(401, {"code": 0, "message": "401: Unauthorized"}))
    gretl.writes("hello")
    work()
    assert DiscordChannel.objects.get().off == "Discord does not know the bot token."
    assert (len(discord.calls), Event.objects.filter(kind=Kind.DISCORD_CHANNEL_STOPPED).count()) == (1, 1)
    DiscordChannel.objects.update(off="")
    work()
    assert discord.texts() == ["**Gretl**\n> hello" + HINT]


def test_an_answer_that_nobody_will_read_says_so(fernhill: World, discord: Discord, gretl: Person) -> None:
    gretl.writes("hello")
    work()
    channels.remove(by=fernhill.sam.actor)
    reply(fernhill, "Hi!")
    assert lines()[1:] == ["The message of Sam Okafor could not be posted in Discord: Discord is no longer connected."]
    channels.connect(by=fernhill.sam.actor, guild_id=GUILD, token=TOKEN, application=discord.application)
    reply(fernhill, "Hi again!")
    assert discord.texts()[1:] == ["**Sam** · Fernhill\nHi again!"]


def test_after_a_closed_conversation_a_new_one_goes_on_in_the_same_thread(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    gretl.writes("hello")
    work()
    first, [thread] = conversation(), discord.threads
    threads.end(first.id, by=fernhill.sam.actor, to=Status.CLOSED)
    gretl.channel = {"id": thread, "type": 12, "parent_id": CHANNEL}
    gretl.replies(f"reply:{first.id}", "one more thing")
    work()
    assert conversation() != first
    assert [(message.channel, message.text) for message in discord.messages[1:]] == [
        (thread, "**Gretl**\n> one more thing" + HINT)
    ]
    assert len(discord.threads) == 1


def test_what_is_not_discords_or_not_theirs_changes_nothing(fernhill: World, discord: Discord, gretl: Person) -> None:
    path = f"/channels/discord/{fernhill.fernhill.id}/"
    assert (post(path, PING).status_code, post(path, PING).json()) == (200, {"type": 1})
    assert post(f"/channels/discord/{fernhill.elsewhere.id}/", PING).status_code == 401
    now = int(clock.now().timestamp())
    bad = [{"X-Signature-Ed25519": odd} for odd in ("", "00", "zz", "ab" * 64)]
    bad += [{"X-Signature-Timestamp": odd} for odd in ("1e9", "-5", str(now - 361), str(now + 361), f"{now}000")]
    for headers in bad:
        answer = post(path, PING, **headers)
        assert (answer.status_code, answer.content) == (401, b"The signature is not right."), headers

    gretl.writes("hello")
    work()
    button = f"reply:{conversation().id}"
    bob = Person(fernhill.fernhill.id, user={"id": "1" * 18, "username": "bob"})
    for answer in (bob.presses(button), bob.replies(button, "me too"), gretl.presses("reply:nothing")):
        assert answer.json()["data"]["content"] == (
            "Only the one whose thread this is can reply here. Write with /support."
        )
    elsewhere = Person(fernhill.fernhill.id, guild_id="999999999999999999")
    assert elsewhere.writes("hello").json()["data"] == {
        "content": "Nobody answers in this server.", "flags": 64, "allowed_mentions": {"parse": []},
    }  # fmt: skip
    for odd in (
        b"",
        b"[]",
        b"nope",
        b'{"type":2,"data":7}',
        json.dumps({"type": 3, "data": {"custom_id": "x"}}).encode(),
    ):
        assert post(path, odd).json()["type"] == 4
    assert DiscordInteraction.objects.count() == 1


def test_who_writes_too_much_is_told_and_gets_their_words_back(
    fernhill: World, discord: Discord, gretl: Person
) -> None:
    for _ in range(30):
        assert gretl.writes("hello").json()["type"] == 5
    told = gretl.writes("and *this*").json()
    assert told["data"]["content"] == (
        "That is a lot of messages at once. Wait a few minutes, then send this one again:\n\nand \\*this\\*"
    )
    assert DiscordInteraction.objects.count() == 30
