"""`manage.py prepare_demo`: the workspace it makes, and that a second start changes nothing of it."""

import json
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from io import StringIO
from ipaddress import ip_network
from typing import Any

import pytest
from django.apps import apps
from django.core.management import CommandError, call_command
from django.db import models
from django.test import Client, override_settings
from pytest_django import DjangoDbBlocker

from agent.rows import Turn, TurnState
from approvals.models import ExpiredBecause, Review, ReviewState, State, ToolApproval
from conversations import threads
from conversations.models import Channel, Conversation, Customer, Item, ItemKind, ReadMark, Status
from median_site.lib import clock, strict_json
from team import api_keys
from team.models import Event, Teammate, Workspace
from tools.models import Endpoint, RunState, Starter, Tool, ToolRun

pytestmark = pytest.mark.django_db
QUICK_HASHER = "django.contrib.auth.hashers.MD5PasswordHasher"


def prepare() -> dict[str, Any]:
    out = StringIO()
    call_command("prepare_demo", "--json", stdout=out)
    facts: dict[str, Any] = json.loads(out.getvalue().splitlines()[-1])
    return facts


@pytest.fixture(scope="module")
def facts(django_db_setup: None, django_db_blocker: DjangoDbBlocker) -> Iterator[dict[str, Any]]:
    """Prepared once for all tests here, since it takes a second; each test's own changes are rolled back."""
    at_home = override_settings(MEDIAN_ALLOWED_NETWORKS=[ip_network("127.0.0.0/8")], PASSWORD_HASHERS=[QUICK_HASHER])
    with django_db_blocker.unblock(), at_home:
        yield prepare()
        call_command("flush", interactive=False, verbosity=0)


def everything() -> dict[str, list[dict[str, Any]]]:
    """Every row of our own apps."""
    ours = {"team", "conversations", "tools", "approvals", "agent"}
    found: list[type[models.Model]] = [model for model in apps.get_models() if model._meta.app_label in ours]
    return {model._meta.label: list(model._default_manager.order_by("pk").values()) for model in found}


def thread_of(name: str) -> Conversation:
    return Conversation.objects.get(customer__name=name)


def kinds_in(conversation: Conversation) -> list[str]:
    return [item.kind for item in conversation.items.order_by("number")]


def lines_in(conversation: Conversation) -> list[str]:
    lines = conversation.items.filter(kind=ItemKind.LINE).order_by("number")
    return [line.text for line in lines]


def test_it_says_how_to_reach_everything(facts: dict[str, Any]) -> None:
    endpoint = Endpoint.objects.get()
    assert facts == {
        "workspace": "Fernhill",
        "issuer": "http://testserver/w/fernhill",
        "widget_url": "http://testserver/widget/fernhill/",
        "shop_secret": facts["shop_secret"],
        "api_key": facts["api_key"],
        "teammates": [
            {"name": "Sam Okafor", "email": "sam@fernhill.example", "password": "fernhill-demo"},
            {"name": "Jo Lindqvist", "email": "jo@fernhill.example", "password": "fernhill-demo"},
        ],
    }
    assert facts["shop_secret"].startswith("whsec_")
    assert facts["shop_secret"] not in endpoint.sealed_secret
    assert endpoint.url == "http://127.0.0.1:8765/tools"
    assert Workspace.objects.get().widget_origins == "http://127.0.0.1:8765"


def test_the_api_key_opens_sessions_and_nothing_else(facts: dict[str, Any]) -> None:
    key = api_keys.find(f"Bearer {facts['api_key']}")
    assert (key.workspace.slug, key.scopes) == ("fernhill", ["sessions"])


def test_its_teammates_sign_in(facts: dict[str, Any]) -> None:
    for person in facts["teammates"]:
        browser = Client()
        answer = browser.post("/accounts/login/", {"login": person["email"], "password": person["password"]})
        assert (answer.status_code, answer.headers.get("Location")) == (302, "/inbox/")
    assert set(Teammate.objects.values_list("name", "role")) == {("Sam Okafor", "owner"), ("Jo Lindqvist", "admin")}


def test_a_second_start_changes_nothing_and_says_the_same(facts: dict[str, Any]) -> None:
    jo = Teammate.objects.get(name="Jo Lindqvist")
    jo.user.set_password("a password of her own")
    jo.user.save()
    Tool.objects.filter(name="extendTrial").update(switched_on=False)
    threads.reply(thread_of("Oliver Banks").id, by=jo.actor, body="Sent from my own mailbox now.")
    before = everything()
    assert prepare() == facts
    assert everything() == before


def test_a_second_start_migrates_and_hashes_nothing(facts: dict[str, Any], django_assert_max_num_queries: Any) -> None:
    with django_assert_max_num_queries(30):
        prepare()


def test_the_endpoint_follows_the_shop_to_another_port(facts: dict[str, Any], monkeypatch: pytest.MonkeyPatch) -> None:
    Workspace.objects.update(widget_origins="https://fernhill.example\nhttp://127.0.0.1:8765")
    monkeypatch.setenv("MEDIAN_SHOP_URL", "http://127.0.0.1:9001")
    assert prepare() == facts
    assert prepare() == facts
    assert Endpoint.objects.get().url == "http://127.0.0.1:9001/tools"
    assert Workspace.objects.get().widget_origins == "https://fernhill.example\nhttp://127.0.0.1:9001"
    assert Event.objects.filter(kind="endpoint.changed").count() == 1


def test_an_endpoint_that_the_team_removed_stays_removed(facts: dict[str, Any]) -> None:
    Endpoint.objects.update(removed_at=clock.now())
    assert prepare() == facts
    assert Endpoint.objects.get().removed_at is not None


def test_another_installation_secret_is_said_plainly(facts: dict[str, Any]) -> None:
    with override_settings(SECRET_KEY="another"), pytest.raises(CommandError, match="another installation secret"):
        prepare()


def test_without_json_people_can_read_it(facts: dict[str, Any]) -> None:
    out = StringIO()
    call_command("prepare_demo", stdout=out)
    assert "sam@fernhill.example   password  fernhill-demo" in out.getvalue()
    assert out.getvalue().startswith("The workspace Fernhill is ready.\n")


def test_the_tools_are_the_shops(facts: dict[str, Any]) -> None:
    assert sorted(Tool.objects.values_list("name", "risk")) == [
        ("cancelSubscription", "high"),
        ("extendTrial", "high"),
        ("flagForEngineering", "medium"),
        ("orderStatus", "low"),
        ("refundOrder", "high"),
        ("refundSmallOrder", "reviewed"),
        ("resendInvoice", "medium"),
        ("sendPasswordReset", "medium"),
        ("subscription", "low"),
        ("usageThisMonth", "low"),
    ]
    assert Tool.objects.usable().count() == 10


def test_fifteen_threads_of_all_kinds(facts: dict[str, Any]) -> None:
    counted = dict(Conversation.objects.values_list("status").annotate(models.Count("id")))
    assert counted == {Status.OPEN: 11, Status.RESOLVED: 3, Status.CLOSED: 1}
    assert set(Conversation.objects.values_list("channel", flat=True)) == {
        Channel.WIDGET,
        Channel.EMAIL,
        Channel.DISCORD,
    }
    assert set(Item.objects.values_list("kind", flat=True)) == set(ItemKind.values)
    held = Conversation.objects.filter(handler="teammate").values_list("customer__name", "assignee__name")
    assert sorted(held.filter(status=Status.OPEN)) == [
        ("Oliver Banks", "Jo Lindqvist"),
        ("Yuki Tanaka", "Sam Okafor"),
        ("tomas.r", "Sam Okafor"),
    ]
    assert Conversation.objects.get(customer__name="").customer.display_name == "Visitor 4f2c"


def test_every_end_of_a_request_is_there(facts: dict[str, Any]) -> None:
    rows = ToolApproval.objects.values_list("conversation__customer__name", "tool_name", "state", "expired_because")
    assert sorted(rows) == sorted(
        [
            ("Ana Souza", "refundSmallOrder", State.COMPLETED, ""),
            ("Ines Duarte", "cancelSubscription", State.EXPIRED, ExpiredBecause.CONVERSATION_ENDED),
            ("Jonas Weber", "refundSmallOrder", State.PENDING, ""),
            ("Leo Brandt", "refundOrder", State.DENIED, ""),
            ("Mei-Lin Chou", "cancelSubscription", State.PENDING, ""),
            ("Nora Lind", "refundOrder", State.COMPLETED, ""),
            ("Paul Meier", "refundOrder", State.FAILED, ""),
            ("Ruth Adeyemi", "extendTrial", State.EXPIRED, ExpiredBecause.UNANSWERED),
            ("حسن المصري", "refundOrder", State.PENDING, ""),
        ]
    )
    now = datetime.now(UTC)
    for row in ToolApproval.objects.all():
        assert row.expires_at == row.requested_at + timedelta(hours=24)
        assert row.is_decidable == (row.expires_at > now and row.state == State.PENDING)


def test_every_end_of_a_run_is_there(facts: dict[str, Any]) -> None:
    assert dict(ToolRun.objects.values_list("state").annotate(models.Count("id"))) == {
        RunState.COMPLETED: 10,
        RunState.FAILED: 3,
    }
    assert not ToolRun.objects.filter(state=RunState.COMPLETED, headline="").exists()
    by_hand = ToolRun.objects.filter(started_by=Starter.TEAMMATE).order_by("queued_at")
    assert list(by_hand.values_list("by_name", "tool_name", "state")) == [
        ("Sam Okafor", "orderStatus", RunState.COMPLETED),
        ("Jo Lindqvist", "resendInvoice", RunState.FAILED),
        ("Sam Okafor", "flagForEngineering", RunState.COMPLETED),
    ]
    refused = ToolRun.objects.get(conversation=thread_of("Nora Lind"))
    assert (refused.state, refused.refusal["reason"]) == (RunState.COMPLETED, "already_refunded")
    assert refused.approval["name"] == "Jo Lindqvist"
    failed = ToolRun.objects.get(conversation=thread_of("Paul Meier"))
    assert failed.error.startswith("The endpoint answered 500.")
    assert set(by_hand.filter(state=RunState.FAILED).values_list("error", flat=True)) == {
        "The endpoint did not answer in time."
    }
    looked_up = ToolRun.objects.get(conversation=thread_of("حسن المصري"))
    assert strict_json.loads(looked_up.raw)["carrier"] == "DHL"


def test_a_waiting_thread_reads_as_it_happened(facts: dict[str, Any]) -> None:
    thread = thread_of("Mei-Lin Chou")
    assert kinds_in(thread) == ["customer", "run", "agent", "customer", "line", "approval", "agent"]
    assert lines_in(thread) == ["Median AI asked the team to sign off on Cancel subscription"]
    assert (thread.waiting, thread.mark, thread.mark_label) == (1, "waiting", "Cancel subscription")
    assert timedelta(minutes=20) < datetime.now(UTC) - thread.last_at < timedelta(minutes=22)
    assert thread.created_at == thread.items.order_by("number")[0].created_at


def test_the_reviewer_has_decided_one_request_and_left_one_to_the_team(facts: dict[str, Any]) -> None:
    assert lines_in(thread_of("Ana Souza"))[:2] == [
        "Median AI asked to run Refund small order, and the reviewer is checking it",
        "The reviewer approved running Refund small order",
    ]
    jonas = thread_of("Jonas Weber")
    assert lines_in(jonas) == [
        "Median AI asked to run Refund small order, and the reviewer is checking it",
        "The reviewer passed the request to run Refund small order to the team",
    ]
    request = ToolApproval.objects.get(conversation=jonas)
    assert (request.review, request.review_reason) == ("passed", "The customer wrote more than a plain yes.")
    assert (jonas.waiting, jonas.mark) == (1, "waiting")
    assert not Review.objects.exclude(state=ReviewState.DONE).exists()


def test_an_ended_thread_reads_as_it_happened(facts: dict[str, Any]) -> None:
    assert lines_in(thread_of("Ines Duarte")) == [
        "Median AI asked the team to sign off on Cancel subscription",
        "Sam resolved the conversation",
        "the request to run Cancel subscription expired because the conversation ended",
    ]
    assert lines_in(thread_of("Leo Brandt")) == [
        "Median AI asked the team to sign off on Refund order",
        "Sam declined Median AI’s request to run Refund order",
        "Sam took the thread over from Median AI",
        "Sam resolved the conversation",
    ]
    assert lines_in(thread_of("Ruth Adeyemi"))[-1] == "the request to run Extend trial expired unanswered"


def test_unread_is_what_needs_a_person(facts: dict[str, Any]) -> None:
    for name in ("Sam Okafor", "Jo Lindqvist"):
        read = models.Subquery(
            ReadMark.objects.filter(conversation=models.OuterRef("id"), teammate__name=name).values("number")
        )
        unread = Conversation.objects.alias(read=models.functions.Coalesce(read, 0)).filter(
            attention__gt=models.F("read")
        )
        assert sorted(unread.values_list("customer__name", flat=True)) == sorted(
            ["tomas.r", "Mei-Lin Chou", "Jonas Weber", "حسن المصري", "Oliver Banks", "Ruth Adeyemi"]
        )


def test_the_agent_has_nothing_left_to_answer(facts: dict[str, Any]) -> None:
    answered = Turn.objects.exclude(state=TurnState.STOPPED)  # a teammate took these threads over
    assert dict(answered.values_list("state").annotate(models.Count("id"))) == {
        TurnState.DONE: Item.objects.filter(kind=ItemKind.AGENT).count()
    }
    assert (
        not ToolApproval.objects.exclude(state=State.PENDING)
        .filter(told_in_turn="", conversation__handler="agent", conversation__status=Status.OPEN)
        .exclude(state=State.EXPIRED)
        .exists()
    )


def test_time_runs_one_way(facts: dict[str, Any]) -> None:
    """Every thread and the log are in the order of time, and all of it is past."""
    for conversation in Conversation.objects.all():
        times = [item.created_at for item in conversation.items.order_by("number")]
        assert times == sorted(times)
    log = list(Event.objects.order_by("id").values_list("at", flat=True))
    assert log == sorted(log)
    assert log[-1] < datetime.now(UTC)


def test_what_ana_writes_begins_a_thread_of_its_own(facts: dict[str, Any]) -> None:
    ana = Customer.objects.get(name="Ana Souza")
    item = threads.from_customer(ana, channel=Channel.WIDGET, body="The lid is dented.", client_id="1")
    assert item.number == 1
    assert ana.conversations.count() == 2
    assert Turn.objects.filter(state=TurnState.QUEUED).get().conversation_id == item.conversation_id


def test_the_clock_can_be_held() -> None:
    moment = datetime(2025, 6, 3, 13, 58, tzinfo=UTC)
    with clock.at(moment):
        assert clock.now() == moment
        with clock.at(moment + timedelta(minutes=1)):
            assert clock.now() == moment + timedelta(minutes=1)
        assert clock.now() == moment
    assert abs(clock.now() - datetime.now(UTC)) < timedelta(seconds=5)
