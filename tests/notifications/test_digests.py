"""Mail to teammates: what they have not seen, in their rhythm, once, with a way out."""

from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import pytest
from asgiref.sync import async_to_sync
from django.core import mail
from django.test import Client
from time_machine import travel

from approvals import decisions
from conversations import handling
from median_site.lib import clock
from notifications import digests, preferences
from notifications.models import Preference, Rhythm, Topic
from team import notifications
from team.models import Teammate, Workspace
from tests.approvals.requests import request
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)  # mail leaves from threads of its own
BrowserOf = Callable[[Teammate], Client]


def choose(teammate: Teammate, rhythm: str = "hourly", **changes: object) -> Preference:
    given: dict[str, object] = {"push": [], "mail": Topic.values, "hour": "8"}
    return preferences.save(teammate, rhythm=rhythm, **(given | changes))  # type: ignore[arg-type]


def send_due() -> int:
    due = digests.claim(limit=100)
    for preference in due:
        async_to_sync(digests.run)(preference)
    return len(due)


def be_due() -> None:
    Preference.objects.exclude(mail_due_at=None).update(mail_due_at=clock.now())


def test_a_mail_gathers_what_was_not_seen(world: World) -> None:
    choose(world.kim)
    handling.assign(world.conversation.id, to=world.kim.id, by=world.sam.actor)
    approval = request(world)
    assert send_due() == 0
    be_due()
    assert send_due() == 1
    [letter] = mail.outbox
    assert letter.to == ["kim@fernhill.example"]
    assert letter.subject == "2 things wait for you in Fernhill"
    assert "Sam assigned the thread to you" in letter.body
    assert "Needs approval: Refund order" in letter.body
    assert f"http://testserver/approvals/{approval.id}/" in letter.body
    assert f"http://testserver/inbox/{world.conversation.id}/" in letter.body
    assert letter.extra_headers["Auto-Submitted"] == "auto-generated"
    html = str(letter.alternatives[0].content)
    assert f'<a href="http://testserver/approvals/{approval.id}/">Needs approval: Refund order</a>' in html
    be_due()
    assert send_due() == 1
    assert len(mail.outbox) == 1  # told already


def test_a_mail_says_when_by_date_and_zone_since_it_may_be_read_on_any_day(world: World) -> None:
    Workspace.objects.filter(pk=world.fernhill.pk).update(zone="Asia/Tokyo")
    evening = datetime(2026, 6, 3, 20, 14, tzinfo=UTC)
    with travel(evening, tick=False) as now:
        choose(world.kim)
        now.shift(60)
        handling.assign(world.conversation.id, to=world.kim.id, by=world.sam.actor)
        be_due()
        assert send_due() == 1
    [letter] = mail.outbox
    for said in (letter.body, str(letter.alternatives[0].content)):
        assert ", 4 June at 05:15" in said
        assert "Times are in Asia/Tokyo." in said


def test_names_are_text(world: World) -> None:
    world.fernhill.name = '"><img src=x onerror=alert(1)> {{7*7}}'
    world.fernhill.save(update_fields=["name"])
    choose(world.kim)
    request(world)
    be_due()
    assert send_due() == 1
    [letter] = mail.outbox
    assert letter.subject == f"1 thing waits for you in {world.fernhill.name}"
    html = str(letter.alternatives[0].content)
    assert "in &#34;&gt;&lt;img src=x onerror=alert(1)&gt; {{7*7}}:" in html
    assert "<img" not in html


def test_what_was_seen_or_decided_is_not_told(world: World) -> None:
    choose(world.kim)
    handling.assign(world.conversation.id, to=world.kim.id, by=world.sam.actor)
    approval = request(world)
    notifications.read_all(by=world.kim.actor, up_to=10**9)
    decisions.deny(approval.id, by=world.sam.actor)
    be_due()
    assert send_due() == 1
    assert mail.outbox == []


def test_only_the_chosen_and_only_ones_own(world: World) -> None:
    choose(world.kim, mail=["assigned"])
    choose(world.mallory)
    handling.assign(world.conversation.id, to=world.kim.id, by=world.sam.actor)
    request(world)
    be_due()
    send_due()
    [letter] = mail.outbox
    assert letter.subject == "1 thing waits for you in Fernhill"
    assert "Needs approval" not in letter.body


def test_a_failed_mail_comes_later_with_everything(world: World, settings: pytest.FixtureRequest) -> None:
    choose(world.kim)
    request(world)
    be_due()
    settings.EMAIL_BACKEND, settings.EMAIL_PORT = "django.core.mail.backends.smtp.EmailBackend", 1
    send_due()
    due_at = Preference.objects.get().mail_due_at
    assert due_at
    assert timedelta(0) < due_at - clock.now() <= digests.HELD
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"
    be_due()
    send_due()
    assert [letter.subject for letter in mail.outbox] == ["1 thing waits for you in Fernhill"]


def test_one_that_died_before_it_recorded_sends_the_same_again(world: World) -> None:
    choose(world.kim)
    request(world)
    be_due()
    [taken] = digests.claim(limit=1)
    assert digests.claim(limit=1) == []
    first, again = (digests.written(taken, until=clock.now()) for _ in range(2))
    assert first
    assert again
    assert first.extra_headers["Message-ID"] == again.extra_headers["Message-ID"]
    assert first.body == again.body


def test_soon_is_ten_minutes_later_unless_it_is_seen_before(world: World) -> None:
    choose(world.kim, "soon")
    due_at = Preference.objects.get().mail_due_at
    assert due_at
    assert timedelta(minutes=9) < due_at - clock.now() <= timedelta(minutes=10)


@pytest.mark.parametrize(
    ("now", "due"),
    [
        (datetime(2026, 6, 3, 5, 0, tzinfo=UTC), datetime(2026, 6, 3, 6, 0, tzinfo=UTC)),
        (datetime(2026, 6, 3, 6, 0, tzinfo=UTC), datetime(2026, 6, 4, 6, 0, tzinfo=UTC)),
        (datetime(2026, 10, 24, 7, 0, tzinfo=UTC), datetime(2026, 10, 25, 7, 0, tzinfo=UTC)),  # the clocks go back
    ],
)
def test_the_hour_is_the_workspaces(now: datetime, due: datetime) -> None:
    chosen = Preference(rhythm=Rhythm.DAILY, hour=8)
    assert preferences.next_mail(chosen, zone="Europe/Berlin", after=now) == due


@pytest.mark.parametrize("zone", ["UTC", "Europe/Berlin", "America/Sao_Paulo"])
@pytest.mark.parametrize("day", [datetime(2026, 3, 28, 12, tzinfo=UTC), datetime(2026, 10, 24, 12, tzinfo=UTC)])
def test_every_hour_comes_once_a_day_when_the_clocks_change(zone: str, day: datetime) -> None:
    for hour in range(24):
        chosen, due, days = Preference(rhythm=Rhythm.DAILY, hour=hour), day, []
        for _ in range(3):
            following = preferences.next_mail(chosen, zone=zone, after=due)
            assert following
            assert following > due
            due = following
            days.append(due.astimezone(ZoneInfo(zone)).date())
        assert [later - days[0] for later in days] == [timedelta(days=n) for n in range(3)]


def test_the_link_stops_it_for_whoever_has_the_mail(world: World) -> None:
    choose(world.kim)
    request(world)
    be_due()
    send_due()
    headers = mail.outbox[0].extra_headers
    assert headers["List-Unsubscribe-Post"] == "List-Unsubscribe=One-Click"
    path = headers["List-Unsubscribe"].strip("<>").removeprefix("http://testserver")
    stranger = Client(enforce_csrf_checks=True)
    assert "Stop the mail?" in stranger.get(path).content.decode()
    assert Preference.objects.get().rhythm == Rhythm.HOURLY
    assert "No more mail" in stranger.post(path, {"List-Unsubscribe": "One-Click"}).content.decode()
    assert Preference.objects.get().mail_due_at is None
    assert stranger.post(path[:-3] + "xxx").status_code == 404


def test_switched_off_while_it_was_under_way_stays_off(world: World) -> None:
    choose(world.kim)
    be_due()
    with travel(clock.now(), tick=True):
        [taken] = digests.claim(limit=1)
        preferences.stop_mail(world.kim.id)
        digests.sent(taken, until=clock.now())
    assert Preference.objects.get().mail_due_at is None
