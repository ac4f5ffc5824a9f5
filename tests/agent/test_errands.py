"""Write-ups by a model and what resolved conversations teach: kept where they hold, by one process, durably."""

import json
from datetime import timedelta

import pytest

from agent import borne_out, errands, learning, write_up
from agent.models.demo import DemoModel
from agent.models.openai import OpenAIModel
from agent.rows import Errand, ErrandKind
from conversations import lessons, threads
from conversations.models import Lesson, Status
from median_site.lib import clock, strict_json
from median_site.lib.errors import NotFound
from tests import agent_process
from tests.agent.conftest import Talk
from tests.model_server import ModelServer, Reply, calls, model_server, says
from tests.waiting import until
from tests.world import World
from tools import writeups
from tools.models import ToolRun
from tools.writeups import Row, WriteUp

RESULT = strict_json.loads(
    '{"order":"ORD-1042","refund":{"amount":48.50,"currency":"USD"},"done":true,"note":"Back in 5 days"}'
)


def written(headline: object, *rows: object) -> WriteUp | None:
    return write_up.read(json.dumps({"headline": headline, "rows": rows}), tool="Refund order", result=RESULT)


def test_what_the_output_bears_out_is_kept_with_its_exact_json() -> None:
    made = written("Refunded 48.50 USD for ORD-1042", ["Amount", "48.50"], ["Done", "true"], ["Note", "Back in 5 days"])
    assert made == WriteUp(
        "Refunded 48.50 USD for ORD-1042",
        (
            Row("Amount", "48.50", "48.50"),
            Row("Done", "Yes", "true"),
            Row("Note", "Back in 5 days", '"Back in 5 days"'),
        ),
    )


@pytest.mark.parametrize(
    "row",
    [
        ["Amount", "48.5"],
        ["Amount", "$48.50"],
        ["Amount", 48],
        ["Amount", "4"],
        ["Amount", "-48.50"],
        ["Amount", "forty-eight"],
        ["Order", "ORD-1042 USD"],
        ["Note", "Back in 5"],
        ["Done", "No"],
        ["Amount", None],
        ["Amount"],
        "Amount",
    ],
    ids=str,
)
def test_a_row_that_the_output_does_not_hold_is_dropped(row: object) -> None:
    assert written("Refunded", row, ["Currency", "USD"]) == WriteUp("Refunded", (Row("Currency", "USD", '"USD"'),))


@pytest.mark.parametrize("label", ["", "Paid on 3 May", "Sent to Bob", "Half of it"])
def test_a_label_that_is_not_in_words_of_its_field_is_the_fields_own(label: str) -> None:
    assert written("Refunded", [label, "USD"]) == WriteUp("Refunded", (Row("Refund currency", "USD", '"USD"'),))


@pytest.mark.parametrize("headline", ["", "  ", None, 7, "Refunded " * 20], ids=str)
def test_without_a_headline_none_of_it_counts(headline: object) -> None:
    assert written(headline, ["Currency", "USD"]) is None


# A result, and what may not be said of it.
UNTRUE = [
    ('{"amount":48.50}', "Refunded $48.50"),
    ('{"amount":48.50}', "Refunded 48.5"),
    ('{"amount":48.50}', "Refunded 48"),
    ('{"amount":48.50}', "Refunded 48,50"),
    ('{"amount":-48}', "Refunded 48"),
    ('{"amount":48}', "Refunded -48"),
    ('{"amount":48}', "Refunded forty-eight dollars"),
    ('{"share":0.5}', "Refunded ½"),
    ('{"order":"ORD-1042"}', "Refunded ORD-1043"),
    ('{"order":"ORD-1042"}', "Refunded ord-1042"),
    ('{"at":"2025-06-03"}', "Refunded on 3 June 2025"),
    ('{"at":"2025-06-03"}', "Refunded in 2025"),
    ('{"carrier":"DHL"}', "Order with UPS"),
    ('{"count":12}', "Twelve orders"),
    ('{"refunded":false}', "Order refunded"),
    ('{"refunded":"no","days":5}', "Refunded in 5 days"),
    ('{"status":"not delivered"}', "Order delivered"),
    ('{"status":"pending","amount":48}', "Refunded 48"),
    ('{"note":"5 items could not be refunded"}', "Refunded 5 items"),
    ('{"amount":48,"limit":{"reached":true}}', "Limit of 48 not reached"),
]


@pytest.mark.parametrize(("raw", "headline"), UNTRUE)
def test_a_headline_that_the_output_does_not_hold_gives_way_to_the_deterministic_one(raw: str, headline: str) -> None:
    result = strict_json.loads(raw)
    assert write_up.read(json.dumps({"headline": headline}), tool="Refund order", result=result) is None
    leaf, *_ = borne_out.leaves(result)
    made = write_up.read(
        strict_json.dumps({"headline": headline, "rows": [["", leaf.value]]}), tool="Refund order", result=result
    )
    plain = writeups.write_up(label="Refund order", result=result, refusal=None)
    assert made == WriteUp(
        plain.headline, (Row(leaf.label, writeups.spoken(leaf.value), strict_json.dumps(leaf.value)),)
    )


@pytest.mark.parametrize(
    ("raw", "headline"),
    [
        ('{"refunded":false,"reason":"too late"}', "Refund order: too late"),
        ('{"status":"not delivered"}', "Not delivered"),
        ('{"status":"pending","amount":-48}', "Refund of -48 is pending."),
        ('{"status":"ok","amount":48.50,"currency":"USD"}', "Refunded 48.50 USD"),
        ('{"order":{"number":"ORD-1042"},"express":true}', "Express order ORD-1042"),
        ('[{"sku":"KTL-9","left":0}]', "KTL-9: 0 left"),
    ],
)
def test_a_headline_of_whole_values_and_the_fields_words_is_kept(raw: str, headline: str) -> None:
    answer = json.dumps({"headline": headline})
    assert write_up.read(answer, tool="Refund order", result=strict_json.loads(raw)) == WriteUp(headline)


@pytest.mark.parametrize("answer", ["", "Refunded.", "[]", "null", '{"rows":[]}', '{"headline":"Refunded"', "{}{}"])
def test_another_shape_is_no_write_up(answer: str) -> None:
    assert write_up.read(answer, tool="Refund order", result=RESULT) is None


def test_a_fence_around_it_is_taken_off() -> None:
    answer = '```json\n{"headline":"Refunded"}\n```'
    assert write_up.read(answer, tool="Refund order", result=RESULT) == WriteUp("Refunded")


@pytest.fixture
def writer() -> ModelServer:
    with model_server() as server:
        yield server


def run_written_by(talk: Talk, writer: ModelServer, *replies: Reply) -> ToolRun:
    talk.company.answers = {"orderStatus": (200, b'{"status":"shipped","parcels":2}')}
    writer.script(replies)
    model = OpenAIModel(talk.model.url, key="", name="test")
    with agent_process.in_thread(model, writer=OpenAIModel(writer.url, key="", name="writer")):
        talk.ask(calls(("orderStatus", '{"orderNumber":"ORD-1042"}')), says("Shipped."))
        until(lambda: ToolRun.objects.exclude(headline="").exists() and not Errand.objects.exists())
    return ToolRun.objects.get()


def test_the_write_up_of_a_run_is_the_models(talk: Talk, writer: ModelServer) -> None:
    answer = says('{"headline":"Shipped in 2 parcels","rows":[["Parcels","2"],["Weight","3"]]}')
    run = run_written_by(talk, writer, answer)
    assert (run.headline, run.rows) == ("Shipped in 2 parcels", [["Parcels", "2", "2"]])
    assert len(writer.requests) == 1
    assert '{"status":"shipped","parcels":2}' in writer.requests[0].messages[1]["content"]


@pytest.mark.parametrize(
    "reply", [says('{"headline":"Shipped in 3 parcels"}'), Reply(status=500)], ids=["false", "failed"]
)
def test_without_one_that_holds_it_is_the_deterministic_one(talk: Talk, writer: ModelServer, reply: Reply) -> None:
    run = run_written_by(talk, writer, reply)
    assert run.headline == "Order status: shipped"
    assert run.rows == [["Status", "shipped", '"shipped"'], ["Parcels", "2", "2"]]
    assert len(writer.requests) == 1


def test_an_errand_goes_to_one_process_and_is_due_again_when_that_dies(world: World) -> None:
    errands.ask(ErrandKind.LESSON, workspace_id=world.fernhill.id, subject_id="a conversation")
    errands.ask(ErrandKind.LESSON, workspace_id=world.fernhill.id, subject_id="a conversation")
    [errand] = errands.claim(ErrandKind.LESSON, limit=8)
    assert errands.claim(ErrandKind.LESSON, limit=8) == []
    Errand.objects.update(due_at=clock.now() - timedelta(seconds=1))
    [again] = errands.claim(ErrandKind.LESSON, limit=8)
    assert (again.id, again.attempts) == (errand.id, 2)
    errands.ask(ErrandKind.WRITE_UP, workspace_id=world.fernhill.id, subject_id="a conversation")
    [other] = errands.claim(ErrandKind.WRITE_UP, limit=8)
    errands.give_back([again.id])
    [third] = errands.claim(ErrandKind.LESSON, limit=8)
    assert errands.claim(ErrandKind.WRITE_UP, limit=8) == []
    errands.done([other])
    assert third.attempts == 2
    errands.ask(ErrandKind.LESSON, workspace_id=world.fernhill.id, subject_id="a conversation")
    errands.done([third])  # it was read before what it was asked for again for
    [fourth] = errands.claim(ErrandKind.LESSON, limit=8)
    assert fourth.attempts == 1
    errands.done([fourth])
    assert not Errand.objects.exists()


def resolve(talk: Talk) -> None:
    threads.end(talk.world.conversation.id, by=talk.world.sam.actor, to=Status.RESOLVED)
    until(lambda: not Errand.objects.exists())


def test_a_resolved_conversation_teaches_a_few_facts(ana: Talk) -> None:
    ana.ask(says("It ships from Berlin."), text="I always order for my bakery. Where from?")
    facts = ["Orders for a bakery.", "x" * 300, "\u200b", 7, "Third", "Fourth", "Fifth", "Sixth"]
    ana.model.script([says(json.dumps({"facts": facts}))])
    resolve(ana)
    kept = list(Lesson.objects.order_by("created_at").values_list("text", flat=True))
    assert sorted(kept) == sorted(["Orders for a bakery.", "x" * 199 + "…", "Third", "Fourth", "Fifth"])
    assert set(Lesson.objects.values_list("conversation_id", flat=True)) == {ana.world.conversation.id}
    material = ana.model.requests[-1].messages[1]["content"]
    assert material.endswith("Customer: I always order for my bakery. Where from?\n\nAgent: It ships from Berlin.")
    assert "tools" not in ana.model.requests[-1].body


@pytest.mark.parametrize("answer", ["", "Nothing.", '{"facts":"all"}', "[]", '{"facts":[]}'])
def test_an_answer_of_another_shape_teaches_nothing(answer: str) -> None:
    assert learning.read(answer) == []


def test_the_demo_model_learns_nothing(talk: Talk) -> None:
    talk.write()
    with agent_process.in_thread(DemoModel()):
        talk.settle(turns=1)
        resolve(talk)
    assert not Lesson.objects.exists()


def test_a_teammate_deletes_a_lesson_and_nobody_elses_does(world: World) -> None:
    lessons.keep(world.conversation, ["Orders for a bakery."])
    lesson = Lesson.objects.get()
    with pytest.raises(NotFound):
        lessons.forget(lesson.id, by=world.mallory.actor)
    assert Lesson.objects.exists()
    lessons.forget(lesson.id, by=world.sam.actor)
    assert lessons.about(world.ana.id) == []
    with pytest.raises(NotFound):
        lessons.forget(lesson.id, by=world.sam.actor)
