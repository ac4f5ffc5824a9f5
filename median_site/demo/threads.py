"""The threads that are open when the demo starts. Ana's kettle is not here: that one is the visitor's to begin."""

from typing import Final

from conversations.models import Channel
from median_site.demo.script import (
    DAY,
    HOUR,
    NO_REPLY,
    Answers,
    Approves,
    Call,
    Expires,
    HandsBack,
    Notes,
    Replies,
    Reply,
    Reviewed,
    Runs,
    TakesOver,
    Thread,
    Writes,
)

TOMAS: Final = Thread(
    "tomas.r",
    "0c7v5r9k2m4q8t1x6z3b7n0hd5s9w2ae",
    verified=False,
    unread=True,
    beats=(
        Writes(34, "hi i need to change the address on my order but the page won’t let me"),
        Answers(34, "An address is locked once we start packing. Which order is it, and what does the page say?"),
        Writes(28, "it keeps saying the address is locked, can a human look"),
        TakesOver(19, "sam"),
        Runs(
            17,
            "sam",
            Call(
                "flagForEngineering",
                {
                    "title": "Address form stays locked for orders that are not being packed",
                    "detail": "The address page says “locked” for every order since this morning’s release.\n"
                    "It should lock an order only when packing starts.",
                    "severity": "urgent",
                },
                Reply(200, {"filed": True, "reference": "ENG-411"}),
            ),
        ),
        Notes(16, "sam", "Locked for everybody since this morning, not only for him. It is ENG-411 now."),
        Replies(15, "sam", "Hi Tomas, Sam here. The page is broken on our side. Which order, and what is the address?"),
        Writes(10, "ORD-1047, Rua do Almada 210, 4050-032 Porto. it still says locked btw"),
    ),
)

MEI_LIN: Final = Thread(
    "Mei-Lin Chou",
    "user_317",
    email="meilin@example.com",
    unread=True,
    beats=(
        Writes(27, "Hello, when does my coffee plan renew?"),
        Answers(27, "Your plan is Dark blend, with both seats in use. It renews in 12 days.", Call("subscription")),
        Writes(21, "Please cancel from next month, the blend is too dark for us."),
        Answers(
            21,
            "I’m sorry to see you go, Mei-Lin. Cancelling needs a teammate’s sign-off, so I’ve asked the team."
            " You’ll get the answer here.",
            Call("cancelSubscription", {"reason": "other"}),
        ),
    ),
)

JONAS: Final = Thread(
    "Jonas Weber",
    "user_204",
    email="jonas.weber@example.com",
    unread=True,
    beats=(
        Writes(29, "My filter papers are late: ORD-1031 should have been here last week. It’s only $12, but still."),
        Answers(
            29,
            "I’m sorry, Jonas. ORD-1031 is late, and DHL expects it in three days. Shall I refund ORD-1031 in full"
            " ($12.00), back to the card you paid with?",
            Call("orderStatus", {"orderNumber": "ORD-1031"}),
        ),
        Writes(22, "Yes, and if they come after all I would like to keep them."),
        Answers(
            22,
            "Thank you. The refund is being checked now. You’ll get the answer here.",
            Call("refundSmallOrder", {"orderNumber": "ORD-1031", "reason": "late"}),
        ),
        Reviewed(20, "The refund needs a teammate’s approval after all, Jonas, so I’ve asked the team."),
    ),
)

HASSAN: Final = Thread(
    "حسن المصري",
    "user_402",
    email="hassan@example.com",
    unread=True,
    beats=(
        Writes(56, "لم يصل الطلب ORD-1037 حتى الآن، هل يمكنكم التحقق؟"),
        Answers(
            56,
            "أعتذر عن التأخير يا حسن. الطلب ORD-1037 في الطريق مع DHL، ومن المتوقع أن يصل غدًا."
            " هل تفضّل الانتظار، أم أطلب استرداد المبلغ؟",
            Call("orderStatus", {"orderNumber": "ORD-1037"}),
        ),
        Writes(51, "أسافر الليلة ولن أكون في البيت. أريد استرداد المبلغ من فضلك."),
        Answers(
            51,
            "شكرًا لك. استرداد المبلغ يحتاج إلى موافقة أحد أعضاء الفريق، وقد أرسلت الطلب إليهم. ستجد الرد هنا.",
            Call("refundOrder", {"orderNumber": "ORD-1037", "reason": "late"}),
        ),
    ),
)

VISITOR: Final = Thread(
    "",
    "1f8w3y6p0k5r9m2t7v4x1z8b3n6h4f2c",
    verified=False,
    beats=(
        Writes(58, "Do you ship the burr grinder to Norway?"),
        Answers(58, "Yes, we ship to Norway. It takes 2 to 5 days; customs are paid when the parcel arrives."),
    ),
)

OLIVER: Final = Thread(
    "Oliver Banks",
    "user_455",
    email="oliver@example.com",
    unread=True,
    beats=(
        Writes(2 * HOUR + 44, "Could you send me invoice INV-2031 again? Our accountant needs it today."),
        Answers(2 * HOUR + 44, "I can email a copy to your billing address. Shall I?"),
        Writes(2 * HOUR + 40, "Yes please."),
        Answers(
            2 * HOUR + 40,
            "I’m sorry, Oliver, the copy could not be sent just now. A teammate can look into it.",
            Call("resendInvoice", {"invoiceNumber": "INV-2031"}, NO_REPLY),
        ),
        Writes(2 * HOUR + 31, "Then somebody please should, it is for today."),
        TakesOver(2 * HOUR + 25, "jo"),
        Runs(2 * HOUR + 24, "jo", Call("resendInvoice", {"invoiceNumber": "INV-2031"}, NO_REPLY)),
        Replies(2 * HOUR + 20, "jo", "Hi Oliver, Jo here. Our mailer does not answer, so I’ll send it myself."),
        Writes(2 * HOUR + 1, "Still no invoice in my mailbox, INV-2031."),
    ),
)

GRETL: Final = Thread(
    "gretl",
    "284019377551998464",
    verified=False,
    channel=Channel.DISCORD,
    beats=(
        Writes(3 * HOUR + 12, "my login link says expired, even the fresh one"),
        Answers(3 * HOUR + 12, "That happens when a link is opened twice. Does an extension open it ahead of you?"),
        Writes(3 * HOUR + 7, "no idea, how would i know"),
        Replies(2 * HOUR + 49, "jo", "Hi, Jo here. Open the newest link in a private window: no extensions there."),
        HandsBack(2 * HOUR + 48, "jo"),
        Writes(2 * HOUR + 7, "ok that fixed it, thx"),
        Answers(2 * HOUR + 7, "Glad to hear it. Enjoy your coffee!"),
    ),
)

YUKI: Final = Thread(
    "Yuki Tanaka",
    "user_511",
    email="yuki@example.com",
    beats=(
        Writes(4 * HOUR + 5, "Can I move my delivery to Friday? It’s ORD-1051."),
        Answers(
            4 * HOUR + 5,
            "ORD-1051 is on its way with DHL and should arrive in three days. I can’t move the day myself.",
            Call("orderStatus", {"orderNumber": "ORD-1051"}),
        ),
        Writes(3 * HOUR + 40, "Can someone? I’m away until Friday."),
        TakesOver(3 * HOUR + 21, "sam"),
        Runs(3 * HOUR + 19, "sam", Call("orderStatus", {"orderNumber": "ORD-1051"})),
        Notes(3 * HOUR + 9, "sam", "Asked the depot to hold the parcel. They call back before five."),
        Replies(3 * HOUR, "sam", "Hi Yuki, Sam here. I’ve asked DHL to hold it and will tell you today."),
    ),
)

PAUL: Final = Thread(
    "Paul Meier",
    "user_618",
    email="paul.meier@example.com",
    beats=(
        Writes(6 * HOUR + 20, "The grinder from ORD-1049 smells of burning. I want my money back."),
        Answers(
            6 * HOUR + 20,
            "I’m sorry, Paul. Please unplug it. A refund needs a teammate’s sign-off, so I’ve asked the team.",
            Call("refundOrder", {"orderNumber": "ORD-1049", "reason": "damaged"}),
        ),
        Approves(
            6 * HOUR + 2,
            "jo",
            "Your refund was approved, Paul, but the payment did not go through. A teammate will write here.",
            Reply(500, {"error": {"code": "payment_provider_down", "message": "The card network is not reachable."}}),
        ),
    ),
)

LEA: Final = Thread(
    "Léa Fontaine",
    "user_540",
    email="lea@example.com",
    beats=(
        Writes(2 * DAY + 52, "Bonjour, je n’arrive plus à me connecter à mon compte."),
        Answers(
            2 * DAY + 52,
            "Bonjour Léa, je peux envoyer un nouveau lien à l’adresse de votre compte. Cela vous convient ?",
        ),
        Writes(2 * DAY + 46, "Oui, merci."),
        Answers(2 * DAY + 46, "C’est fait, le lien est en route vers votre adresse.", Call("sendPasswordReset")),
        Writes(2 * DAY + 41, "Merci, je vais essayer avec le nouveau lien."),
        Answers(2 * DAY + 41, "Très bien. Écrivez ici si quelque chose ne marche pas."),
    ),
)

RUTH: Final = Thread(
    "Ruth Adeyemi",
    "user_633",
    email="ruth@example.com",
    unread=True,
    beats=(
        Writes(3 * DAY + 35, "My trial ends on Sunday and I was ill all week. Could I have ten more days?"),
        Answers(
            3 * DAY + 35,
            "I hope you are better, Ruth. More days need a teammate’s sign-off, so I’ve asked the team.",
            Call("extendTrial", {"days": 10}),
        ),
        Expires(2 * DAY + 35),
    ),
)

OPEN: Final = (TOMAS, MEI_LIN, JONAS, HASSAN, VISITOR, OLIVER, GRETL, YUKI, PAUL, LEA, RUTH)
