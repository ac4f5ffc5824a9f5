"""Sixty-four people in several processes press at the same moment, two hundred times: one outcome each, everywhere."""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from datetime import timedelta
from itertools import chain

import pytest
from django.db.models import Count, F
from median_tools.server import Server

from agent.rows import Turn, TurnState
from approvals.models import Review, ReviewState, State, ToolApproval
from conversations import threads
from conversations.models import Conversation, Item, ItemKind
from median_site.lib import clock, secrets
from team.models import Event, Role
from tests import agent_process
from tests import world as worlds
from tests.approvals.racers import HEAD_START_S, PEOPLE, PROCESSES, THREADS, Racers, racing
from tests.approvals.requests import request
from tests.endpoint import Endpoint
from tests.world import World
from tools.models import Endpoint as EndpointRow
from tools.models import RunState, Tool, ToolRun

ROUNDS = 200
# So many press in each round, one of each process; the others are at the next rounds.
PRESSING = PROCESSES
PACE_S = 0.05
# Where the moment counts, so that a busy machine keeps up.
SLOW_PACE_S = 0.3
Act = tuple[str, Sequence[object]]

ENDS = ["approval.approved", "approval.denied", "approval.expired"]


@pytest.fixture(scope="module")
def racers(django_db_setup: None) -> Iterator[Racers]:
    with racing(agent_process.database_url()) as racers:
        yield racers


@pytest.fixture
def endpoint() -> Iterator[Endpoint]:
    """An endpoint that says yes to every call and keeps what came."""
    endpoint = Endpoint()

    def yes(environ: object, start_response: Callable[..., object]) -> list[bytes]:
        start_response("200 OK", [("Content-Type", "application/json")])
        return [b'{"done":true}']

    with Server(endpoint.wrap(yes)) as server:
        server.start()
        endpoint.url = f"{server.url}/tools"
        yield endpoint


@pytest.fixture
def world(transactional_db: None, endpoint: Endpoint) -> World:
    return worlds.build(endpoint_url=endpoint.url)


@pytest.fixture
def people(world: World) -> list[list[str]]:
    """Sixty-three teammates and the API, as the racers take them."""
    named = [worlds.teammate(world.fernhill, f"P {n}", f"p{n}@fernhill.example", Role.MEMBER) for n in range(1, PEOPLE)]
    return [["teammate", world.fernhill.id, one.id, one.name] for one in named] + [
        ["api", world.fernhill.id, "key", ""]
    ]


def requests_of(world: World, tools: Sequence[Tool] = (), *, state: State = State.PENDING) -> list[ToolApproval]:
    """One request in each of two hundred conversations, each with an input of its own."""
    at, made = clock.now(), []
    tools = tools or [world.tool("refundOrder")] * ROUNDS
    for number, tool in enumerate(tools):
        conversation = Conversation(workspace=world.fernhill, customer=world.ana, last_at=at, waiting=1, mark="waiting")
        made.append(
            ToolApproval(
                workspace=world.fernhill, conversation=conversation, tool=tool, endpoint_id=tool.endpoint_id,
                tool_name=tool.name, tool_label=tool.label, risk=tool.risk, schema_hash=tool.content_hash,
                input=f'{{"orderNumber":"ORD-{number}","reason":"damaged"}}', turn_id="turn", state=state,
                requested_at=at, expires_at=at + timedelta(hours=24),
            )
        )  # fmt: skip
    Conversation.objects.bulk_create(approval.conversation for approval in made)
    return ToolApproval.objects.bulk_create(made)


def race(
    racers: Racers, acts: Callable[[int, int], Act], *, from_s: float = 0, pace_s: float = PACE_S
) -> list[Counter]:
    """Let `acts(round, person)` go for four people a round; what they got, counted, by round."""
    places = [(number, person) for number in range(ROUNDS) for person in range(number % THREADS, PEOPLE, THREADS)]
    scripts: list[list[object]] = [[] for _ in range(PEOPLE)]
    for number, person in places:
        scripts[person].append((from_s + number // THREADS * pace_s, *acts(number, person)))
    results = [iter(each) for each in racers.race(scripts)]
    counted = [Counter() for _ in range(ROUNDS)]
    for number, person in places:
        counted[number][json.dumps(next(results[person]))] += 1
    return counted


def is_second(person: int) -> bool:
    """Half of those who press in a round."""
    return person // THREADS % 2 == 1


def let_leave(racers: Racers, requests: Sequence[ToolApproval]) -> None:
    """Every approved call is sent by two at once."""
    queued = set(ToolRun.objects.values_list("id", flat=True))
    calls = [asked.id for asked in requests if asked.id in queued]
    places = [calls[person % 32 :: 32] for person in range(PEOPLE)]
    sent = racers.race([[(0, "send", [call]) for call in share] for share in places])
    assert sorted(chain.from_iterable(sent)) == [False] * len(calls) + [True] * len(calls)


def check_all_agree(endpoint: Endpoint, requests: Sequence[ToolApproval]) -> Counter[str]:
    """Rows, lines, events and what the endpoint got tell one story of each request. Gives the states, counted."""
    rows = ToolApproval.objects.in_bulk([asked.id for asked in requests])
    runs = ToolRun.objects.in_bulk()
    got = Counter(call.body["toolCallId"] for call in endpoint.calls)
    ends = Event.objects.filter(kind__in=ENDS).values_list("subject_id", "kind", "conversation_id")
    lines = Item.objects.filter(kind=ItemKind.LINE, ref__in=ENDS).values_list("conversation_id", "ref")
    assert Counter((conversation, kind) for _, kind, conversation in ends) == Counter(lines)
    assert len(ends) == len(rows) == len({subject for subject, _, _ in ends})
    kinds = {subject: kind for subject, kind, _ in ends}
    for row in rows.values():
        run = runs.pop(row.id, None)
        wanted = {State.DENIED: "approval.denied", State.EXPIRED: "approval.expired"}
        assert kinds[row.id] == wanted.get(State(row.state), "approval.approved")
        assert (run is None) == (row.state in wanted)
        assert got.pop(row.id, 0) == (1 if run and run.http_status else 0)
        assert row.decided_at is None or row.decided_at < row.expires_at
    assert (runs, got) == ({}, {})
    assert not Conversation.objects.filter(waiting__gt=0).exists()
    by_id = {row.id: row.input for row in rows.values()}
    assert all(b'"input":' + by_id[call.body["toolCallId"]].encode() + b"," in call.raw for call in endpoint.calls)
    return Counter(row.state for row in rows.values())


def test_two_hundred_times_four_approvals_make_one_decision_and_one_call(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    requests = requests_of(world)
    for results in race(racers, lambda number, person: ("approve", [requests[number].id, people[person]])):
        assert results == {'"executing"': 1, '"already_reviewed"': PRESSING - 1}

    let_leave(racers, requests)

    assert check_all_agree(endpoint, requests) == {"completed": ROUNDS}
    assert len(endpoint.calls) == ROUNDS


def test_approvals_and_denials_never_both_win(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    requests = requests_of(world)

    def press(number: int, person: int) -> Act:
        # By turns, since one half may always be a little quicker on a busy machine.
        denies = is_second(person) == (number % 2 == 0)
        return "deny" if denies else "approve", [requests[number].id, people[person]]

    for results in race(racers, press):
        assert results.pop('"already_reviewed"') == PRESSING - 1
        assert results in ({'"executing"': 1}, {'"denied"': 1})
    let_leave(racers, requests)
    states = check_all_agree(endpoint, requests)
    assert states.total() == ROUNDS
    assert set(states) == {"completed", "denied"}
    assert len(endpoint.calls) == states["completed"]


def test_all_sixty_four_on_one_request_make_one_decision(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    asked = request(world)
    scripts = [[(0, "deny" if person % 2 else "approve", [asked.id, people[person]])] for person in range(PEOPLE)]
    results = Counter(result for [result] in racers.race(scripts))
    assert results.pop("already_reviewed") == PEOPLE - 1
    assert results in ({"executing": 1}, {"denied": 1})
    racers.race([[(0, "send", [asked.id])]] * PEOPLE)
    assert check_all_agree(endpoint, [asked]).total() == 1


# What the reviewer does in a round, twice at once, as if its process had died and another had read again.
VERDICTS = ("approve", "deny", "pass_on", "unchecked")


def test_a_teammates_answer_and_the_reviewers_never_both_count(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    requests = requests_of(world, state=State.REVIEWING)
    Review.objects.bulk_create(
        Review(workspace=world.fernhill, approval=asked, queued_at=asked.requested_at) for asked in requests
    )
    judge = ["reviewer", world.fernhill.id, "", ""]

    def press(number: int, person: int) -> Act:
        answer = "approve" if number % 8 < 4 else "deny"
        act, who = (VERDICTS[number % 4], judge) if is_second(person) else (answer, people[person])
        return act, [requests[number].id, who]

    results = race(racers, press)
    let_leave(racers, requests)
    states = check_all_agree(endpoint, requests)
    assert states.total() == ROUNDS
    assert set(states) == {"completed", "denied"}
    assert len(endpoint.calls) == states["completed"]
    rows, reviews = ToolApproval.objects.in_bulk(), Review.objects.in_bulk()
    for number, asked in enumerate(requests):
        row, outcome, got = rows[asked.id], reviews[asked.id].outcome, results[number]
        if row.decided_by_kind == "reviewer":
            assert outcome == ("denied" if row.state == State.DENIED else "approved")
            assert got == {f'"{"denied" if outcome == "denied" else "executing"}"': 2, '"already_reviewed"': 2}
        else:
            passed = "passed" if VERDICTS[number % 4] == "pass_on" else "unchecked"
            assert outcome == (passed if got["true"] else "dropped")
            assert got['"executing"'] + got['"denied"'] == 1
            assert got["true"] <= 1
    left = Event.objects.filter(kind__in=["approval.passed_on", "approval.unchecked"])
    assert left.count() == sum(got["true"] for got in results)
    assert {review.state for review in reviews.values()} == {ReviewState.DONE}


def test_at_the_24th_hour_it_is_decided_or_expired(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    requests = requests_of(world)
    first = clock.now() + timedelta(seconds=3)
    for number, asked in enumerate(requests):
        asked.expires_at = first + timedelta(seconds=number // THREADS * SLOW_PACE_S + number % THREADS / 200)
    ToolApproval.objects.bulk_update(requests, ["expires_at"])

    def press(number: int, person: int) -> Act:
        return ("expire_due", []) if is_second(person) else ("approve", [requests[number].id, people[person]])

    from_s = (first - clock.now()).total_seconds() - HEAD_START_S
    for results in race(racers, press, from_s=from_s, pace_s=SLOW_PACE_S):
        said = {key: results[key] for key in ('"executing"', '"already_reviewed"', '"expired"')}
        assert sum(said.values()) == PRESSING // 2
        assert said['"executing"'] == (0 if said['"expired"'] else 1)
    racers.race([[(0, "expire_due", [])]] * PEOPLE)
    let_leave(racers, requests)
    states = check_all_agree(endpoint, requests)
    assert states.total() == ROUNDS
    assert set(states) <= {"completed", "expired"}


def test_an_ending_conversation_expires_or_finds_it_decided(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    requests = requests_of(world)

    def press(number: int, person: int) -> Act:
        asked = requests[number]
        return ("end", [asked.conversation_id, people[person]]) if is_second(person) else (
            "approve", [asked.id, people[person]]
        )  # fmt: skip

    for results in race(racers, press):
        assert results.pop('"resolved"') == PRESSING // 2
        assert results in (
            {'"conversation_ended"': PRESSING // 2},
            {'"executing"': 1, '"already_reviewed"': PRESSING // 2 - 1},
        )
    let_leave(racers, requests)
    states = check_all_agree(endpoint, requests)
    assert states.total() == ROUNDS
    assert set(states) <= {"completed", "expired"}
    assert Event.objects.filter(kind="conversation.resolved").count() == ROUNDS


def test_removing_its_endpoint_expires_it_or_lets_one_call_out_or_none(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    tools = _a_tool_for_each_round(world, endpoint, own_endpoints=True)
    requests = requests_of(world, tools)

    def press(number: int, person: int) -> Act:
        if is_second(person):
            return "remove_endpoint", [requests[number].endpoint_id, people[person]]
        return "approve_and_send", [requests[number].id, people[person]]

    for results in race(racers, press):
        assert results.pop("null") + results.pop('"not_found"', 0) == PRESSING // 2
        assert results in (
            {'"endpoint_removed"': PRESSING // 2},
            {'"executing"': 1, '"already_reviewed"': PRESSING // 2 - 1},
        )
    states = check_all_agree(endpoint, requests)
    assert states.total() == ROUNDS
    assert set(states) <= {"completed", "failed", "expired"}
    assert _errors() <= {"The tool is no longer available."}
    assert ToolRun.objects.filter(state=RunState.COMPLETED).count() == len(endpoint.calls) == states["completed"]


def test_switching_a_tool_off_lets_an_approved_call_out_or_fails_it(
    racers: Racers, world: World, people: list[object], endpoint: Endpoint
) -> None:
    requests = requests_of(world, _a_tool_for_each_round(world, endpoint))

    def press(number: int, person: int) -> Act:
        if is_second(person):
            return "switch_off", [requests[number].tool_name, people[person]]
        return "approve_and_send", [requests[number].id, people[person]]

    for results in race(racers, press):
        assert results == {"false": PRESSING // 2, '"executing"': 1, '"already_reviewed"': PRESSING // 2 - 1}
    states = check_all_agree(endpoint, requests)
    assert states.total() == ROUNDS
    assert set(states) <= {"completed", "failed"}
    assert _errors() <= {"The tool is no longer available."}
    assert states["completed"] == len(endpoint.calls)
    assert Event.objects.filter(kind="tool.switched").count() == ROUNDS


def _errors() -> set[str]:
    return set(ToolRun.objects.exclude(error="").values_list("error", flat=True))


def _a_tool_for_each_round(world: World, endpoint: Endpoint, *, own_endpoints: bool = False) -> list[Tool]:
    like = world.tool("refundOrder")
    rows = [
        EndpointRow(workspace=world.fernhill, url=f"{endpoint.url}?{number}", sealed_secret=secrets.seal(worlds.SECRET))
        for number in range(ROUNDS)
    ]
    served_by = EndpointRow.objects.bulk_create(rows) if own_endpoints else [world.endpoint] * ROUNDS
    return Tool.objects.bulk_create(
        Tool(
            workspace=world.fernhill, endpoint=each, name=f"refundOrder{number}", label="Refund order", risk=like.risk,
            input_schema=like.input_schema, content_hash=like.content_hash,
        )
        for number, each in enumerate(served_by)
    )  # fmt: skip


def test_each_turn_is_claimed_once_and_never_two_of_a_conversation(racers: Racers, world: World) -> None:
    conversations = [threads.start(world.ana).id for _ in range(ROUNDS)]
    scripts: list[list[object]] = [[(0, "claim_turns", [f"process {person}"])] for person in range(PEOPLE)]
    for number, conversation in enumerate(conversations):
        for person in (number, number + 7):
            scripts[person % PEOPLE].insert(0, (0, "ask_turn", [conversation]))
            scripts[(person + 1) % PEOPLE].append((0, "claim_turns", [f"process {(person + 1) % PEOPLE}"]))
    claimed = Counter(chain.from_iterable(chain.from_iterable(filter(None, result) for result in racers.race(scripts))))
    claimed.update(chain.from_iterable(racers.race([[(0, "claim_turns", ["last"])]] * PEOPLE)[0]))

    assert set(claimed.values()) == {1}
    assert set(claimed) == set(Turn.objects.filter(state=TurnState.RUNNING).values_list("id", flat=True))
    in_each = Turn.objects.values("conversation", "state").annotate(count=Count("id"))
    assert {(row["state"], row["count"]) for row in in_each} <= {("running", 1), ("queued", 1)}
    assert Turn.objects.filter(state=TurnState.RUNNING).count() == ROUNDS
    assert set(Turn.objects.filter(state=TurnState.RUNNING).values_list("attempts", flat=True)) == {1}


def test_sixty_four_sweeps_at_once_expire_each_request_once(racers: Racers, world: World, endpoint: Endpoint) -> None:
    requests = requests_of(world)
    ToolApproval.objects.update(expires_at=F("requested_at"))
    results = racers.race([[(0, "expire_due", [])]] * PEOPLE)
    assert sum(expired for [expired] in results) == ROUNDS
    assert check_all_agree(endpoint, requests) == {"expired": ROUNDS}


def test_of_a_race_for_the_last_places_three_requests_stand(racers: Racers, world: World) -> None:
    tools = ["refundOrder", "cancelSubscription", "extendTrial", "closeAccount"]
    ids = [threads.start(world.ana).id for _ in range(PEOPLE)]
    scripts = [[(0, "request", [id, tools[number % 4]]) for id in ids[number // 4 :: 16]] for number in range(PEOPLE)]
    got = Counter(str(result)[:5] for result in chain.from_iterable(racers.race([*scripts[::2], *scripts[1::2]])))
    assert got == {"call_": 3 * PEOPLE, "too_m": PEOPLE}
    held = ToolApproval.objects.values("conversation").annotate(
        count=Count("id"), tools=Count("tool_name", distinct=True)
    )
    assert sorted((row["count"], row["tools"]) for row in held) == [(3, 3)] * PEOPLE
