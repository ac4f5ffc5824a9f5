"""The demo model in whole conversations: what it says, what it asks first, what it calls and never calls."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from agent.models.base import ToolSpec
from median_site.lib.strict_json import Json
from tests.agent.models.chat import RESULTS, SHOP, SIGN_OFF, TEXT, Chat, tool

ABILITIES = (
    "I can look up an order, check your usage, check your plan, ask for a refund, cancel a subscription, extend a"
    " trial, send a password reset link, resend an invoice and report a bug. For anything else, a teammate can step in."
)


async def test_a_refund_is_looked_up_asked_for_and_told() -> None:
    chat = Chat()
    assert await chat.write("Hi, my order ORD-1042 arrived with a dented lid. I'd like a refund.") == SIGN_OFF
    assert chat.made == [
        ("orderStatus", {"orderNumber": "ORD-1042"}),
        ("refundOrder", {"orderNumber": "ORD-1042", "reason": "damaged"}),
    ]
    assert await chat.ends("refundOrder", "completed", result={"refunded": True, "amount": 48}) == (
        "Good news, Ana: $48.00 is on its way back to the card you paid with. Banks usually show it within 3 to 5 days."
    )
    assert await chat.write("Thanks!") == "You're welcome, Ana. Is there anything else I can do?"
    assert chat.made == []


OFFER = "I can ask for a full refund to the card you paid with. Would you like that, or a replacement instead?"


async def test_without_a_wish_it_offers_and_waits() -> None:
    chat = Chat()
    chat.results["orderStatus"] = {"status": "delivered", "carrier": "DHL", "trackingUrl": "https://x", "eta": None}
    said = await chat.write("Hi, my order ORD-1042 came this morning. The lid is dented and it doesn’t close.")
    assert said == f"I'm sorry about that, Ana. ORD-1042 was delivered by DHL. {OFFER}"
    assert chat.made == [("orderStatus", {"orderNumber": "ORD-1042"})]
    assert await chat.write("A refund please, I already bought another one.") == SIGN_OFF
    assert chat.made == [("refundOrder", {"orderNumber": "ORD-1042", "reason": "damaged"})]


@pytest.mark.parametrize(
    ("reply", "said", "made"),
    [
        ("yes", SIGN_OFF, [("refundOrder", {"orderNumber": "ORD-5", "reason": "damaged"})]),
        ("no", "All right, Ana, I'll leave it as it is. Is there anything else I can do?", []),
        ("hm, let me think", "Shall I ask the team to refund ORD-5?", []),
        ("yes but don't refund it yet", "All right, Ana, I'll leave it as it is. Is there anything else I can do?", []),
        (
            "Yes, a replacement please",
            "I can't send a replacement myself, Ana. A teammate will step in here to arrange it.",
            [],
        ),
    ],
)
async def test_only_a_clear_yes_takes_the_offer(reply: str, said: str, made: list[tuple[str, Json]]) -> None:
    chat = Chat()
    await chat.write("My kettle ORD-5 is broken")
    assert await chat.write(reply) == said
    assert chat.made == made


SMALL = "Shall I refund ORD-1029 in full ($12.00), back to the card you paid with?"


async def test_a_small_refund_waits_for_the_customers_yes() -> None:
    chat = Chat()
    assert await chat.write("Can I have the $12 for ORD-1029 back? It came two weeks late") == SMALL
    assert chat.made == [("orderStatus", {"orderNumber": "ORD-1029"})]
    assert await chat.write("What is my plan?") != SMALL
    assert await chat.write("Please refund ORD-1029, it came late") == SMALL
    assert chat.made == []
    said = await chat.write("Yes please")
    assert said == "Thanks, Ana. The refund is being checked now. You'll get the answer here."
    assert chat.made == [("refundSmallOrder", {"orderNumber": "ORD-1029", "reason": "late"})]


async def test_a_yes_for_another_order_is_asked_anew() -> None:
    chat = Chat()
    await chat.write("Can I have the $12 for ORD-1029 back? It came two weeks late")
    said = await chat.write("Yes, and the $12 for ORD-1030, it was late too")
    assert said == "Shall I refund ORD-1030 in full ($12.00), back to the card you paid with?"
    assert chat.made == [("orderStatus", {"orderNumber": "ORD-1030"})]


@pytest.mark.parametrize(("total", "name"), [(50, "refundSmallOrder"), (50.01, "refundOrder")])
async def test_a_total_of_the_look_up_decides_which_refund(total: float, name: str) -> None:
    chat = Chat()
    chat.results["orderStatus"] = {"status": "delivered", "total": total}
    await chat.write("Please refund ORD-7, it was the wrong item. It cost $20")
    if name == "refundSmallOrder":
        await chat.write("yes")
    assert chat.made[-1] == (name, {"orderNumber": "ORD-7", "reason": "wrong_item"})


async def test_over_the_limit_the_team_is_asked_after_a_yes() -> None:
    chat = Chat()
    await chat.write("Can I have the $12 for ORD-1029 back? It came two weeks late")
    await chat.write("Yes")
    given: Json = {"orderNumber": "ORD-1029", "reason": "late"}
    refusal: Json = {"reason": "over_limit", "detail": "Orders over $50 go through refundOrder."}
    said = await chat.ends("refundSmallOrder", "completed", input=given, refusal=refusal)
    assert said == "That order is over the limit for a quick refund. Shall I ask the team to refund ORD-1029?"
    assert await chat.write("Yes please") == SIGN_OFF
    assert chat.made == [("refundOrder", given)]


async def test_it_asks_for_one_missing_thing_at_a_time() -> None:
    chat = Chat()
    assert await chat.write("I want my money back") == "Which order is it? The number looks like ORD-1042."
    reason = "What went wrong with it: did it arrive damaged, did it come late, or was it the wrong item?"
    assert await chat.write("ord-1042") == reason
    assert await chat.write("I just don't like it") == SIGN_OFF
    assert chat.made == [("refundOrder", {"orderNumber": "ORD-1042", "reason": "goodwill"})]


@pytest.mark.parametrize(
    "written", ["ORD-1042", "ord 1042", "Order 1042, please", "it's order no. 1042", "#1042", "1042"]
)
async def test_an_order_is_known_by_its_number_however_it_is_written(written: str) -> None:
    chat = Chat()
    await chat.write("Where is my parcel?")
    await chat.write(written)
    assert chat.made == [("orderStatus", {"orderNumber": "ORD-1042"})]


async def test_what_is_asked_instead_of_an_answer_is_not_met_with_the_same_question() -> None:
    chat = Chat()
    await chat.write("Where is my parcel?")
    assert (
        await chat.write("Which kettle is the best?") == f"I'm the demo model, Ana, so I can't answer that. {ABILITIES}"
    )
    await chat.write("ORD-1042")
    assert chat.made == [("orderStatus", {"orderNumber": "ORD-1042"})]


async def test_a_question_can_be_dropped() -> None:
    chat = Chat()
    await chat.write("I want a refund")
    said = await chat.write("Never mind, thanks")
    assert said == "All right, Ana, I'll leave it as it is. Is there anything else I can do?"


@pytest.mark.parametrize(
    "text",
    [
        "I don't want a refund for ORD-1042",
        "Where is my refund for ORD-1042?",
        "What is your refund policy for ORD-1042?",
        "How do refunds work? I have ORD-1042",
        "Please don't cancel my subscription, just tell me about ORD-1042",
    ],
)
async def test_talk_about_refunds_is_not_a_wish(text: str) -> None:
    chat = Chat()
    await chat.write(text)
    assert {name for name, _ in chat.made} <= {"orderStatus", "subscription"}


async def test_an_order_that_is_refunded_already_is_not_refunded_again() -> None:
    chat = Chat()
    chat.results["orderStatus"] = {"status": "refunded", "carrier": "DHL", "trackingUrl": None, "eta": None}
    for made in ([("orderStatus", {"orderNumber": "ORD-988"})], []):
        assert await chat.write("Refund ORD-988, it is broken") == "ORD-988 has been refunded."
        assert chat.made == made


@pytest.mark.parametrize(
    ("result", "said"),
    [
        (
            {"status": "packing", "carrier": None, "eta": "2025-06-03"},
            "is being packed. It should arrive on 2025-06-03.",
        ),
        ({"status": "late", "carrier": "DHL"}, "is running late with DHL."),
        ({"status": "delivered"}, "was delivered."),
        ({"status": "held_at_customs"}, "is held at customs."),
        ({}, "is on file."),
    ],
)
async def test_every_status_of_an_order_reads_well(result: Json, said: str) -> None:
    chat = Chat()
    chat.results["orderStatus"] = result
    assert await chat.write("Where is ORD-7?") == f"ORD-7 {said}"


async def test_look_ups_of_one_message_go_out_together() -> None:
    chat = Chat()
    said = await chat.write("Where are ORD-1 and ORD-2? What's my plan, and how much quota is left?")
    track = "is on its way with DHL. It should arrive on 3 June. You can follow it here: https://track.example/1"
    assert said == (
        f"ORD-1 {track} ORD-2 {track} You have used 8,200 of 10,000 requests this month. Extra usage so far comes to"
        " $1.50. The count starts again on 2025-07-01. You are on the Team plan. You use 4 of 5 seats. It renews on"
        " 2025-07-01."
    )
    assert chat.made == [
        ("orderStatus", {"orderNumber": "ORD-1"}),
        ("orderStatus", {"orderNumber": "ORD-2"}),
        ("usageThisMonth", {}),
        ("subscription", {}),
    ]
    assert [len(message.tool_calls) for message in chat.messages if message.role == "assistant"] == [4, 0]


ASKED_FIRST = [
    (
        "I forgot my password",
        "Shall I email you a fresh password reset link? It replaces any earlier one.",
        ("sendPasswordReset", {}),
        "Done. A fresh password reset link is on its way to the address on your account.",
    ),
    (
        "Please resend invoice inv-2031",
        "Shall I email a copy of INV-2031 to your billing address?",
        ("resendInvoice", {"invoiceNumber": "INV-2031"}),
        "Done. A copy of INV-2031 is on its way to billing@example.com.",
    ),
    (
        "The export page crashes when I press Save. It is urgent!",
        "Shall I file a bug report for our engineers?",
        (
            "flagForEngineering",
            {
                "title": "The export page crashes when I press Save.",
                "detail": "The export page crashes when I press Save. It is urgent!",
                "severity": "urgent",
            },
        ),
        "Thanks for telling us. I've filed it for our engineers as ENG-12.",
    ),
]


@pytest.mark.parametrize(("wish", "question", "call", "done"), ASKED_FIRST)
async def test_medium_actions_are_asked_first(wish: str, question: str, call: tuple[str, Json], done: str) -> None:
    chat = Chat()
    assert (await chat.write(wish), chat.made) == (question, [])
    assert (await chat.write("What's the weather?"), chat.made) == (question, [])
    assert (await chat.write("Yes please"), chat.made) == (done, [call])


@pytest.mark.parametrize(
    ("wish", "call", "done", "result"),
    [
        (
            "Cancel my subscription, it's too expensive",
            ("cancelSubscription", {"reason": "too_expensive"}),
            "Your subscription is cancelled. It stays active until 2025-07-01.",
            {"cancelled": True, "activeUntil": "2025-07-01"},
        ),
        (
            "Please cancel my plan",
            ("cancelSubscription", {}),
            "Your subscription is cancelled.",
            {"cancelled": True},
        ),
        (
            "Can you extend my trial by 7 days?",
            ("extendTrial", {"days": 7}),
            "Good news, Ana: your trial now ends on 2025-06-20.",
            {"extended": True, "endsOn": "2025-06-20"},
        ),
        (
            "Two more weeks of trial would help, can it be longer?",
            ("extendTrial", {"days": 14}),
            "Good news, Ana: your trial is longer now.",
            {"extended": True},
        ),
    ],
)
async def test_high_actions_go_to_the_team(wish: str, call: tuple[str, Json], done: str, result: Json) -> None:
    chat = Chat()
    what = {"cancelSubscription": "cancellation", "extendTrial": "trial extension"}[call[0]]
    asked = f"A {what} needs a teammate's sign-off, so I've asked the team. You'll get the answer here."
    assert (await chat.write(wish), chat.made) == (f"Thanks, Ana. {asked}", [call])
    assert await chat.ends(call[0], "completed", result=result) == done


async def test_trial_days_are_asked_for() -> None:
    chat = Chat()
    assert await chat.write("Please extend my trial") == "How many more days would you like?"
    await chat.write("7")
    assert chat.made == [("extendTrial", {"days": 7})]


ENGLISH_ONLY = "I'm sorry, Ana, the demo model only understands English. A teammate can step in here."


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("order status please", "Which order is it? The number looks like ORD-1042."),
        ("Where's my stuff?", "Which order is it? The number looks like ORD-1042."),
        ("I can't log in", "Shall I email you a fresh password reset link? It replaces any earlier one."),
        ("Send me the receipt again", "Which invoice is it? The number looks like INV-2031."),
        ("The export button does nothing", "Shall I file a bug report for our engineers?"),
    ],
)
async def test_everyday_words_for_a_tool_are_understood(text: str, said: str) -> None:
    chat = Chat()
    assert (await chat.write(text), chat.made) == (said, [])


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("Hello!", f"Hi Ana, I'm Median AI. How can I help? {ABILITIES}"),
        ("What's the weather like?", f"I'm the demo model, Ana, so I can't answer that. {ABILITIES}"),
        ("Do you ship to Norway?", f"I'm the demo model, Ana, so I can't answer that. {ABILITIES}"),
        ("", f"I'm the demo model, Ana, so I can't answer that. {ABILITIES}"),
        ("What can you do?", f"I'm Median AI, and the demo model answers for me. {ABILITIES}"),
        ("are you a robot", f"I'm Median AI, and the demo model answers for me. {ABILITIES}"),
        ("Quiero un reembolso", ENGLISH_ONLY),
        ("Wo ist meine Bestellung?", ENGLISH_ONLY),
        ("注文はどこですか", ENGLISH_ONLY),
        ("Can I talk to a human?", "Of course, Ana. A teammate will step in here."),
        ("No thanks", "All right, Ana. Write here whenever you need something."),
        ("yes", "Gladly, Ana. What would you like me to do?"),
        ("Yes please!", "Gladly, Ana. What would you like me to do?"),
        ("Any news?", "I have no new answer yet, Ana. As soon as there is one, you'll get it here."),
        (
            "Please cancel my order ORD-4",
            "I can't change orders or addresses myself, Ana. A teammate will step in here.",
        ),
    ],
)
async def test_talk_without_a_tool(text: str, said: str) -> None:
    chat = Chat()
    assert (await chat.write(text), chat.made) == (said, [])


@pytest.mark.parametrize(
    ("system", "greeting"),
    [
        ("Your name is Robin. You answer customers of K.\n\nThey go by the name Ana Souza.", "Hi Ana, I'm Robin."),
        ("Your name is Robin.\nThe customer's name is Zoë O'Hara.", "Hi Zoë, I'm Robin."),
        ('Your name is Robin. Customer: {"name": "Ana Souza"}', "Hi Ana, I'm Robin."),
        ("Your name is Robin.\n- Name: Ana", "Hi Ana, I'm Robin."),
        ("Your name is {name}. Customer name: unknown", "Hi, I'm {name}."),
        ("", "Hi, I'm the demo model."),
    ],
)
async def test_names_come_from_the_instructions(system: str, greeting: str) -> None:
    said = await Chat(tools=[], system=system).write("hi")
    assert said == f"{greeting} How can I help? For anything else, a teammate can step in."


WISHES = [
    "ORD-1042 arrived broken, refund please",
    "Can I have the $12 for ORD-1029 back? It came late",
    "Where is ORD-1042?",
    "What is my plan?",
    "How much quota is left?",
    "I forgot my password",
    "Resend invoice INV-2031",
    "The app crashes",
    "Cancel my subscription",
    "Extend my trial by 7 days",
]


@pytest.mark.parametrize("wish", WISHES)
async def test_without_tools_it_calls_nothing(wish: str) -> None:
    chat = Chat(tools=[tool("sendVoucher")])
    for text in (wish, "yes", "yes please"):
        await chat.write(text)
        assert chat.made == []


@pytest.mark.parametrize(
    "other",
    [
        ToolSpec("subscription", "", {"type": "object", "properties": {"id": TEXT}, "required": ["id"]}),
        ToolSpec("subscription", "", {"type": "object", "properties": [], "required": []}),
    ],
)
async def test_a_tool_of_the_same_name_and_another_input_is_left_alone(other: ToolSpec) -> None:
    chat = Chat(tools=[other])
    await chat.write("What is my plan?")
    assert chat.made == []


async def test_without_a_refund_tool_it_says_so() -> None:
    chat = Chat(tools=SHOP[:1])
    assert await chat.write("Refund ORD-1, it is broken") == "I can't refund orders here, Ana. A teammate will step in."
    said = await chat.write("ORD-1 is broken")
    assert said.endswith("https://track.example/1 A teammate will step in here and put it right.")


LINES = [*WISHES, "yes", "no", "hm", "ORD-1042", "it was late", "7", "a replacement", "", "thanks", "any news?"]
ODD: list[Json] = [
    None,
    7,
    "text",
    [],
    {},
    {"status": "error"},
    {"refused": True},
    {"status": 7, "seats": {}, "to": []},
]


@settings(max_examples=60, deadline=None)
@given(
    lines=st.lists(st.sampled_from(LINES), min_size=1, max_size=6),
    results=st.fixed_dictionaries({name: st.sampled_from([RESULTS[name], *ODD]) for name in RESULTS}),
    offered=st.sets(st.sampled_from(range(len(SHOP)))),
)
async def test_no_talk_loops_or_calls_what_is_not_offered(
    lines: list[str], results: dict[str, Json], offered: set[int]
) -> None:
    """`Chat.turn` fails on the fifth step; every call is of an offered tool and no two of a turn are the same."""
    chat = Chat(tools=[SHOP[place] for place in sorted(offered)], results=results)
    names = {spec.name for spec in chat.tools}
    for line in lines:
        assert await chat.write(line) != ""
        asked = [json.dumps(call) for call in chat.made]
        assert len(asked) == len(set(asked))
        assert {name for name, _ in chat.made} <= names
