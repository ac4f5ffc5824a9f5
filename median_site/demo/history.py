"""The threads that have ended when the demo starts."""

from typing import Final

from conversations.models import Channel, Status
from median_site.demo.script import (
    DAY,
    HOUR,
    Answers,
    Approves,
    Call,
    Denies,
    Ends,
    Notes,
    Replies,
    Reply,
    Reviewed,
    Thread,
    Writes,
)

# What the shop said of the scale before it was refunded.
DELIVERED: Final = Reply(200, {"status": "delivered", "carrier": "DHL", "eta": None})

# Closed, not resolved: so what the visitor writes as Ana begins a thread of its own and reopens nothing.
ANA: Final = Thread(
    "Ana Souza",
    "user_123",
    email="ana@example.com",
    beats=(
        Writes(9 * DAY + 31, "Hi, ORD-0988 came today, but it is the wrong item: a scale without a timer, for $34.50."),
        Answers(
            9 * DAY + 31,
            "I’m sorry about that, Ana. Shall I refund ORD-0988 in full ($34.50), back to the card you paid with?",
            Call("orderStatus", {"orderNumber": "ORD-0988"}, DELIVERED),
        ),
        Writes(9 * DAY + 26, "Yes please!"),
        Answers(
            9 * DAY + 26,
            "Thank you. The refund has to be checked before it is made. You’ll get the answer here.",
            Call("refundSmallOrder", {"orderNumber": "ORD-0988", "reason": "wrong_item"}),
        ),
        Reviewed(
            9 * DAY + 25,
            "Your refund of $34.50 for ORD-0988 is on its way. It reaches your card in 3 to 5 days.",
            Reply(200, {"refunded": True, "amount": 34.5}),
        ),
        Writes(9 * DAY + 12, "Great, thank you!"),
        Answers(9 * DAY + 12, "You’re welcome, Ana."),
        Ends(8 * DAY + 20 * HOUR, "sam", Status.CLOSED),
    ),
)

NORA: Final = Thread(
    "Nora Lind",
    "user_588",
    email="nora@example.com",
    beats=(
        Writes(5 * HOUR + 10, "I sent the milk jug back two weeks ago. Can you refund ORD-1018, please?"),
        Answers(
            5 * HOUR + 10,
            "A refund needs a teammate’s sign-off, so I’ve asked the team. You’ll get the answer here.",
            Call("refundOrder", {"orderNumber": "ORD-1018", "reason": "goodwill"}),
        ),
        Approves(
            4 * HOUR + 41,
            "jo",
            "ORD-1018 was refunded already, so nothing was sent twice. Some banks take a week to show it.",
        ),
        Writes(4 * HOUR + 30, "Oh, I see it now. Sorry!"),
        Answers(4 * HOUR + 30, "No harm done, Nora."),
        Ends(4 * HOUR + 15, "jo", Status.RESOLVED),
    ),
)

LEO: Final = Thread(
    "Leo Brandt",
    "leo.brandt@mail.example",
    email="leo.brandt@mail.example",
    verified=False,
    channel=Channel.EMAIL,
    beats=(
        Writes(22 * HOUR + 40, "Please refund ORD-1012, I changed my mind about the moka pot."),
        Answers(
            22 * HOUR + 40,
            "Hello Leo, a refund needs a teammate’s sign-off, so I’ve asked the team. You’ll get the answer here.",
            Call("refundOrder", {"orderNumber": "ORD-1012", "reason": "goodwill"}),
        ),
        Denies(
            21 * HOUR + 55,
            "sam",
            "He writes from another address than the one on the order.",
            "I’m sorry, Leo, the team did not approve this refund. A teammate will tell you more.",
        ),
        Replies(21 * HOUR + 50, "sam", "Hi Leo, Sam here. Please write from the address that you ordered with."),
        Ends(20 * HOUR, "sam", Status.RESOLVED),
    ),
)

INES: Final = Thread(
    "Ines Duarte",
    "user_602",
    email="ines@example.com",
    beats=(
        Writes(30 * HOUR + 20, "I’d like to stop my subscription, it has become too expensive."),
        Answers(
            30 * HOUR + 20,
            "I’m sorry to hear that, Ines. Cancelling needs a teammate’s sign-off, so I’ve asked the team.",
            Call("cancelSubscription", {"reason": "too_expensive"}),
        ),
        Notes(29 * HOUR + 30, "sam", "Called her: she takes the Home plan instead and stays."),
        Ends(29 * HOUR + 28, "sam", Status.RESOLVED),
    ),
)

ENDED: Final = (ANA, NORA, LEO, INES)
