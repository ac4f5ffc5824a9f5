"""Settings > Discord: one token and one server, the rest is looked up and registered; what is missing is said."""

from collections.abc import Callable

import pytest
from django.test import Client

from discord import connecting
from discord.models import DiscordChannel
from team.events import Kind
from team.models import Event, Teammate
from tests.alerts.discord_server import PUBLIC
from tests.alerts.json_server import Reply
from tests.discord.server import APPLICATION, GUILD, TOKEN, Discord, Person, post
from tests.world import World

SignIn = Callable[[Teammate], Client]
GOOD = {"token": TOKEN, "guild": GUILD}
SAVE, TEST, REMOVE = "/settings/discord/save", "/settings/discord/test", "/settings/discord/remove"


@pytest.fixture
def sam(fernhill: World, browser_of: SignIn) -> Client:
    return browser_of(fernhill.sam)


def test_connecting_registers_the_command_and_the_address(fernhill: World, server: Discord, sam: Client) -> None:
    address = f"/channels/discord/{fernhill.fernhill.id}/"
    assert address in sam.get("/settings/discord/").text
    shown = sam.post(SAVE, GOOD).text
    for sentence in (
        "Discord knows it: Fernhill.", "The bot is in Fernhill’s kettles.", "/support is registered.",
        f"Discord tells {connecting.hook(fernhill.fernhill.id)}.",
    ):  # fmt: skip
        assert sentence in shown
    assert ("Missing" in shown, TOKEN in shown) == (False, False)
    row = DiscordChannel.objects.get()
    assert (row.application_id, row.public_key, row.guild_id) == (APPLICATION, PUBLIC, GUILD)
    assert TOKEN not in row.sealed_token
    assert server.application["interactions_endpoint_url"].endswith(address)
    [command] = server.commands.values()
    assert (command["name"], command["contexts"]) == ("support", [0, 1])

    server.calls.clear()
    assert "Missing" not in sam.post(TEST).text
    assert server.calls == [
        "GET applications/@me", f"GET guilds/{GUILD}", f"POST applications/{APPLICATION}/commands",
    ]  # fmt: skip
    sam.post(SAVE, {"token": "", "guild": "9" * 18})  # a blank token stays
    row.refresh_from_db()
    assert (row.guild_id, Event.objects.filter(kind=Kind.DISCORD_CHANNEL_CHANGED).count()) == ("9" * 18, 2)


def test_what_is_missing_is_said_with_the_way_to_mend_it(fernhill: World, server: Discord, sam: Client) -> None:
    server.guilds.clear()
    server.application["interactions_endpoint_url"] = "https://bot.example/hook"
    shown = sam.post(SAVE, GOOD).text
    assert "The bot is not in the server yet." in shown
    assert f"client_id={APPLICATION}&amp;scope=bot+applications.commands&amp;permissions=" in shown
    assert "This application’s interactions go to https://bot.example/hook already." in shown
    assert server.application["interactions_endpoint_url"] == "https://bot.example/hook"

    server.application["interactions_endpoint_url"] = None
    server.replies.extend([None, None, None, Reply(400, {"code": 50035})])
    assert "It has to be a public https address." in sam.post(TEST).text
    server.replies.append(Reply(401, {"code": 0}))
    DiscordChannel.objects.update(off="Discord does not know the bot token.")
    assert "Discord does not know the bot token." in sam.post(TEST).text
    assert "Nothing is posted." in sam.get("/settings/discord/").text
    sam.post(TEST)
    assert DiscordChannel.objects.get().off == ""
    assert Event.objects.filter(kind=Kind.DISCORD_CHANNEL_MENDED).count() == 1


@pytest.mark.parametrize(
    ("field", "value", "sentence"),
    [
        ("token", "short", "This is not a bot token."),
        ("token", "x" * 30, "Discord does not know the bot token."),
        ("guild", "my server", "A server’s ID has digits alone, like 1234567890123456789."),
    ],
)
def test_a_fault_names_its_field_and_nothing_is_stored(
    fernhill: World, server: Discord, sam: Client, field: str, value: str, sentence: str
) -> None:
    answer = sam.post(SAVE, GOOD | {field: value}, headers={"HX-Request": "true"})
    assert (answer.status_code, f'"field": "{field}"' in answer["HX-Trigger"]) == (400, True)
    assert sentence in answer.text + answer["HX-Trigger"].encode().decode("unicode_escape")
    assert not DiscordChannel.objects.exists()


def test_it_is_for_owners_and_admins_and_once_removed_it_is_deaf(
    fernhill: World, discord: Discord, gretl: Person, sam: Client, browser_of: SignIn
) -> None:
    kim = browser_of(fernhill.kim)
    assert [kim.get("/settings/discord/").status_code] == [403]
    assert [kim.post(path, GOOD).status_code for path in (SAVE, TEST, REMOVE)] == [403] * 3
    assert sam.post(REMOVE)["Location"] == "/settings/discord/"
    assert [sam.post(path).status_code for path in (TEST, REMOVE)] == [404, 404]
    assert gretl.writes("hello").status_code == 401
    assert post(f"/channels/discord/{fernhill.fernhill.id}/", b'{"type":1}').status_code == 401
    assert Event.objects.filter(kind=Kind.DISCORD_CHANNEL_REMOVED).count() == 1
