"""Settings and Agent over HTTP: what each role sees and changes, what is shown once, and what the log says."""

import re
from collections.abc import Callable
from contextlib import AbstractContextManager
from datetime import UTC, datetime, timedelta
from itertools import pairwise

import pytest
from allauth.mfa.models import Authenticator
from allauth.mfa.totp.internal import auth as totp
from allauth.usersessions.models import UserSession
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from approvals.models import Review, ReviewOutcome, ReviewState, State, ToolApproval
from median_site.lib import clock, times
from median_site.lib.db import in_thread as database
from team import api_keys, roster
from team.events import Kind
from team.models import ApiKey, Event, Teammate, Workspace
from tests.approvals.requests import request
from tests.dashboard.test_socket import open_socket, watch
from tests.dashboard.threads_at_hand import many
from tests.page_socket import Closed
from tests.world import World

SignIn = Callable[[Teammate], Client]
PASSWORD = "correct horse battery"
PAGES = ["/settings/", "/settings/people/", "/settings/account/", "/agent/", "/agent/reviewer/"]


def words(page: str) -> str:
    return " ".join(re.sub(r"<[^>]+>", " ", page[page.index("<main") :]).split())


def kinds(world: World) -> list[str]:
    return list(
        Event.objects.filter(workspace=world.fernhill, type="team").order_by("id").values_list("kind", flat=True)
    )


def signed_in(teammate: Teammate, *, agent: str = "Mozilla/5.0 (X11; Linux x86_64) Firefox/140.0") -> Client:
    """A browser that signed in with its password."""
    client = Client(headers={"User-Agent": agent, "X-Median-As": teammate.id})
    answer = client.post("/accounts/login/", {"login": teammate.user.email, "password": PASSWORD})
    assert (answer.status_code, answer["Location"]) == (302, "/inbox/")
    return client


@pytest.mark.parametrize("path", PAGES)
def test_every_teammate_may_look_and_the_cost_is_small(world: World, browser_of: SignIn, path: str) -> None:
    for teammate in (world.sam, world.kim):
        browser = browser_of(teammate)
        with CaptureQueriesContext(
            connection,
        ) as asked:
            page = browser.get(path)
        assert page.status_code == 200
        # Session, person and teammate, the rail; then at most two of the page's own.
        assert len(asked) <= 5
        assert ("<fieldset" not in page.content.decode()) or (
            ('<fieldset class="panel" disabled>' in page.content.decode()) == (teammate is world.kim)
        )
    assert Client().get(path)["Location"] == f"/accounts/login/?next={path}"


def test_the_cost_of_the_team_does_not_grow_with_it(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    with CaptureQueriesContext(connection) as few:
        sam.get("/settings/people/")
    for number in range(20):
        user = type(world.sam.user).objects.create_user(f"u{number}@x.example", name=f"U {number}")
        Teammate.objects.create(workspace=world.fernhill, user=user, name=user.name)
    with CaptureQueriesContext(connection) as more:
        assert sam.get("/settings/people/").content.decode().count("@x.example</") == 20
    assert len(more) == len(few) == 5


def test_the_workspace_is_renamed_and_its_times_are_written_in_its_zone(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)

    answer = sam.post("/settings/workspace", {"name": " Fernhill  Homeware ", "zone": "Asia/Tokyo"})
    sam.post("/settings/workspace", {"name": "Fernhill Homeware", "zone": "Asia/Tokyo"})

    assert (answer.status_code, answer["Location"]) == (302, "/settings/")
    row = Workspace.objects.get(id=world.fernhill.id)
    assert (row.name, row.zone) == ("Fernhill Homeware", "Asia/Tokyo")
    assert kinds(world) == [Kind.WORKSPACE_CHANGED]
    at = datetime(2026, 3, 1, 22, 30, tzinfo=UTC)
    key, _ = api_keys.create(world.fernhill, name="Old", scopes=["read"])
    ApiKey.objects.filter(id=key.id).update(created_at=at)
    with clock.at(at + timedelta(hours=1)):
        assert "Made 07:30" in words(sam.get("/settings/keys/").content.decode())
    assert times.clock(at) == "22:30"


def test_a_page_has_one_first_heading_and_the_others_go_down_by_steps(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    for path in (
        "/inbox/",
        f"/inbox/{world.conversation.id}/",
        "/customers/",
        "/assistant/",
        "/logs/?q=none",
        PAGES[1],
    ):
        levels = [int(found) for found in re.findall(r"<h(\d)", sam.get(path).content.decode())]
        assert (path, levels.count(1)) == (path, 1)
        assert all(after - before < 2 for before, after in pairwise(levels)), (path, levels)


def test_the_hour_that_comes_twice_says_which_it_is() -> None:
    first = datetime(2026, 10, 25, 0, 30, tzinfo=UTC)
    with times.in_zone("Europe/Berlin"):
        moments = [first, first + timedelta(hours=1), first + timedelta(hours=2), datetime(2026, 3, 29, 1, tzinfo=UTC)]
        assert [times.clock(moment) for moment in moments] == ["02:30 CEST", "02:30 CET", "03:30", "03:00"]
        assert times.seconds(first) == "02:30:00 CEST"
    assert times.clock(first) == "00:30"


@pytest.mark.parametrize(("name", "zone"), [("", "UTC"), ("x" * 101, "UTC"), ("Fernhill", "Mars/Olympus"), ("A", "")])
def test_what_cannot_be_kept_is_refused(world: World, browser_of: SignIn, name: str, zone: str) -> None:
    assert browser_of(world.sam).post("/settings/workspace", {"name": name, "zone": zone}).status_code == 400
    assert (Workspace.objects.get(id=world.fernhill.id).name, kinds(world)) == ("Fernhill", [])


def test_the_agent_is_renamed_and_instructed(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    answer = sam.post("/agent/change", {"agent_name": "Fern", "instructions": "Be kind.\r\nBe brief. "})

    assert (answer.status_code, answer["Location"]) == (302, "/agent/")
    row = Workspace.objects.get(id=world.fernhill.id)
    assert (row.agent_name, row.instructions) == ("Fern", "Be kind.\nBe brief.")
    event = Event.objects.get(kind=Kind.AGENT_CHANGED)
    assert event.data == {"fields": ["agent_name", "instructions"]}
    assert sam.post("/agent/change", {"agent_name": "F" * 61}).status_code == 400
    assert sam.post("/agent/change", {"agent_name": "F", "instructions": "x" * 20_001}).status_code == 400
    assert "Demo model" in words(sam.get("/agent/").content.decode())


def test_the_model_is_named_and_its_key_is_not(
    world: World, browser_of: SignIn, settings: pytest.FixtureRequest
) -> None:
    settings.MEDIAN_MODEL_URL, settings.MEDIAN_MODEL_NAME = "https://models.example/v1", "large-3"
    settings.MEDIAN_MODEL_KEY = "sk-secret"
    page = browser_of(world.kim).get("/agent/").content.decode()
    assert "Conversations Reads the thread, answers, and calls tools. large-3" in words(page)
    assert "sk-secret" not in page


def test_the_reviewers_record_counts_thirty_days_in_one_query(world: World, browser_of: SignIn) -> None:
    outcomes = [*["approved"] * 3, *["denied"] * 2, "passed", "unchecked", "dropped"]
    for row, outcome in zip(many(world, 9), [*outcomes, "approved"], strict=True):
        approval = request(world)
        ToolApproval.objects.filter(id=approval.id).update(conversation=row, state=State.DENIED)
        asked_at = clock.now() - timedelta(days=29)
        Review.objects.create(
            workspace=world.fernhill, approval_id=approval.id, state=ReviewState.DONE,
            outcome=ReviewOutcome(outcome), queued_at=asked_at,
        )  # fmt: skip
    Review.objects.filter(approval_id=approval.id).update(queued_at=clock.now() - timedelta(days=31))

    page = words(browser_of(world.kim).get("/agent/reviewer/").content.decode())

    assert "Approved 3 Denied 2 Passed to the team 1 Could not check 1 1 more were decided" in page


def test_members_change_nothing(world: World, browser_of: SignIn) -> None:
    kim = browser_of(world.kim)
    key, _ = api_keys.create(world.fernhill, name="Deploy", scopes=["read"])
    answers = [
        kim.get("/settings/keys/"),
        kim.post("/settings/workspace", {"name": "Kim's", "zone": "UTC"}),
        kim.post("/settings/keys/make", {"name": "Mine", "scopes": ["read"]}),
        kim.post(f"/settings/keys/{key.id}/revoke"),
        kim.post("/agent/change", {"agent_name": "Kim"}),
    ]
    assert [answer.status_code for answer in answers] == [403] * 5
    assert (Workspace.objects.get(id=world.fernhill.id).name, kinds(world)) == ("Fernhill", [])
    assert list(ApiKey.objects.values_list("name", "revoked_at")) == [("Deploy", None)]


def test_a_key_is_shown_once_works_and_is_revoked(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)

    may = words(sam.get("/settings/keys/").content.decode())
    assert "run Run tools, write as a customer, change conversations" in may
    assert "manage Change endpoints, tools, versions and webhooks, test tools" in may
    page = sam.post("/settings/keys/make", {"name": "Deploy script", "scopes": ["read", "decide"]}).content.decode()

    plain = re.search(r"mdn_[0-9a-z]{40}", page)[0]
    assert plain not in sam.get("/settings/keys/").content.decode()
    shown = "May read requests, runs, tools, conversations and the log; approve and deny requests. Made"
    assert re.search(f"{shown} .* never used", words(sam.get("/settings/keys/").content.decode()))
    program = Client(headers={"Authorization": f"Bearer {plain}"})
    assert program.get("/v1/tools").status_code == 200
    assert "last used" in words(sam.get("/settings/keys/").content.decode())
    key = ApiKey.objects.get()
    assert (key.name, key.scopes) == ("Deploy script", ["decide", "read"])
    for _ in range(2):
        assert sam.post(f"/settings/keys/{key.id}/revoke")["Location"] == "/settings/keys/"
    assert program.get("/v1/tools").status_code == 401
    assert kinds(world) == [Kind.API_KEY_MADE, Kind.API_KEY_REVOKED]
    assert "No keys yet" in words(sam.get("/settings/keys/").content.decode())


@pytest.mark.parametrize("data", [{"name": "", "scopes": "read"}, {"name": "A"}, {"name": "A", "scopes": "root"}])
def test_a_key_that_says_too_little_is_not_made(world: World, browser_of: SignIn, data: dict[str, str]) -> None:
    assert browser_of(world.sam).post("/settings/keys/make", data).status_code == 400
    assert ApiKey.objects.count() == 0


def test_sessions_are_listed_and_ended(world: World) -> None:
    here = signed_in(world.sam)
    there = signed_in(world.sam, agent="Mozilla/5.0 (iPhone; CPU iPhone OS) Safari/604.1")
    signed_in(world.kim)
    page = words(here.get("/settings/account/").content.decode())
    assert "Firefox on Linux This one" in page
    assert page.index("Firefox on Linux") < page.index("Safari on iPhone")
    other = UserSession.objects.get(session_key=there.session.session_key)
    kims = UserSession.objects.get(user=world.kim.user)

    assert here.post(f"/settings/account/sessions/{kims.pk}/end").status_code == 404
    assert here.post(f"/settings/account/sessions/{other.pk}/end").status_code == 302

    assert there.get("/inbox/")["Location"] == "/accounts/login/?next=/inbox/"
    assert here.get("/settings/account/").status_code == 200
    assert UserSession.objects.count() == 2
    assert kinds(world) == [Kind.SESSION_ENDED]
    signed_in(world.sam)
    here.post("/settings/account/sessions/end-others")
    assert UserSession.objects.filter(user=world.sam.user).count() == 1


@pytest.mark.django_db(transaction=True)
async def test_an_open_page_goes_dead_with_its_teammate(world: World) -> None:
    page, _ = await open_socket(world.kim)
    await watch(page, world)

    await database(roster.remove, world.kim.id, by=world.sam.actor)

    with pytest.raises(Closed, match="4403"):
        await page.hear()


def test_a_new_password_ends_the_other_sessions(world: World) -> None:
    here, there = signed_in(world.sam), signed_in(world.sam)
    data = {"oldpassword": PASSWORD, "password1": "a much newer battery", "password2": "a much newer battery"}
    assert here.post("/accounts/password/change/", data).status_code == 302
    assert here.get("/settings/account/").status_code == 200
    assert there.get("/settings/account/").status_code == 302
    assert sorted(kinds(world)) == [Kind.PASSWORD_CHANGED, Kind.SESSION_ENDED]


def test_an_authenticator_app_is_asked_for_after_the_password(
    world: World, django_capture_on_commit_callbacks: Callable[..., AbstractContextManager[object]]
) -> None:
    sam = signed_in(world.sam)
    asked = sam.get("/accounts/2fa/totp/activate/")["Location"]
    assert asked == "/accounts/reauthenticate/?next=%2Faccounts%2F2fa%2Ftotp%2Factivate%2F"
    assert sam.post(asked, {"password": PASSWORD}).status_code == 302
    page = sam.get("/accounts/2fa/totp/activate/").content.decode()
    assert "<svg" in page
    assert not re.search(r"data:|style=|<script", page)
    secret = re.search(r'<code class="secret">(\w+)</code>', page)[1]
    assert "not right" in sam.post("/accounts/2fa/totp/activate/", {"code": "000000"}).content.decode()

    with django_capture_on_commit_callbacks(execute=True):
        answer = sam.post("/accounts/2fa/totp/activate/", {"code": code_of(secret)})

    assert answer["Location"] == "/accounts/2fa/recovery-codes/"
    codes = re.findall(r"<li><code>(\d{8})</code></li>", sam.get(answer["Location"]).content.decode())
    assert len(codes) == 10
    assert secret not in str(list(Authenticator.objects.values()))
    assert kinds(world) == [Kind.SECOND_STEP_ADDED, Kind.SECOND_STEP_ADDED]
    assert "On: signing in asks" in words(sam.get("/settings/account/").content.decode())

    client = Client()
    asked = client.post("/accounts/login/", {"login": "sam@fernhill.example", "password": PASSWORD})
    assert asked["Location"] == "/accounts/2fa/authenticate/"
    assert client.get("/inbox/").status_code == 302
    assert client.post(asked["Location"], {"code": "000000"}).status_code == 200
    assert client.post(asked["Location"], {"code": codes[0]})["Location"] == "/inbox/"
    assert client.get("/inbox/raw/none").status_code == 404


def code_of(secret: str) -> str:
    return totp.format_hotp_value(totp.hotp_value(secret, list(totp.yield_hotp_counters_from_time())[1]))


def test_pages_of_the_package_lead_to_ours(world: World, browser_of: SignIn) -> None:
    for path in ("/accounts/2fa/", "/accounts/sessions/"):
        assert browser_of(world.sam).get(path)["Location"] == "/settings/account/"
