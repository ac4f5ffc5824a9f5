"""The ten tools, signed in and not: every result and every refusal that they document."""

import threading
from datetime import date
from typing import Any

import pytest
from median_tools.testing import Client, Reply

from examples.shop.data import Cancellation, Mail, Refund, Shop
from examples.shop.records import fernhill
from examples.shop.tools import shop_tools

SECRET = "whsec_MDEyMzQ1Njc4OWFiY2RlZjAxMjM0NTY3ODlhYmNkZWY="
TODAY = date(2025, 6, 3)
NOT_SIGNED_IN = {"ok": False, "reason": "not_signed_in", "detail": "Ask the customer to sign in first."}
NO_ORDER = {"ok": False, "reason": "not_found", "detail": "No order with that number on this account."}


@pytest.fixture
def shop() -> Shop:
    return fernhill(TODAY)


@pytest.fixture
def client(shop: Shop) -> Client:
    return shop_tools(shop, secret=SECRET, issuer=None).test_client()


def ana(client: Client, tool: str, given: dict[str, Any] | None = None, **context: str) -> Any:
    reply = client.call(tool, given, external_id="user_123", **context)
    assert reply.status == 200
    return reply.data


def test_the_manifest_names_ten_tools_with_their_risks(client: Client) -> None:
    manifest: Any = client.manifest()
    assert [(tool["name"], tool["risk"], sorted(tool["input"]["properties"])) for tool in manifest["tools"]] == [
        ("orderStatus", "low", ["orderNumber"]),
        ("subscription", "low", []),
        ("usageThisMonth", "low", []),
        ("sendPasswordReset", "medium", []),
        ("resendInvoice", "medium", ["invoiceNumber"]),
        ("flagForEngineering", "medium", ["detail", "severity", "title"]),
        ("refundSmallOrder", "reviewed", ["orderNumber", "reason"]),
        ("refundOrder", "high", ["orderNumber", "reason"]),
        ("cancelSubscription", "high", ["reason"]),
        ("extendTrial", "high", ["days"]),
    ]


@pytest.mark.parametrize(
    ("tool", "given"),
    [
        ("orderStatus", {"orderNumber": "ORD-1042"}),
        ("subscription", {}),
        ("usageThisMonth", {}),
        ("sendPasswordReset", {}),
        ("resendInvoice", {"invoiceNumber": "INV-2042"}),
        ("refundSmallOrder", {"orderNumber": "ORD-1029", "reason": "late"}),
        ("refundOrder", {"orderNumber": "ORD-1042", "reason": "damaged"}),
        ("cancelSubscription", {}),
        ("extendTrial", {"days": 7}),
    ],
)
def test_nothing_of_an_account_moves_for_somebody_not_signed_in(
    client: Client, shop: Shop, tool: str, given: dict[str, Any]
) -> None:
    before = (dict(shop.accounts), dict(shop.orders))
    claims = client.call(tool, given, email="ana@example.com", visitor_name="Ana Souza")
    assert claims == Reply(200, dict(NOT_SIGNED_IN))
    assert (shop.accounts, shop.orders) == before
    assert (shop.mails, shop.refunds, shop.cancellations, shop.extensions) == ({}, {}, {}, {})


@pytest.mark.parametrize("tool", ["subscription", "usageThisMonth", "sendPasswordReset", "cancelSubscription"])
def test_a_customer_whom_the_shop_does_not_know_is_refused(client: Client, tool: str) -> None:
    reply = client.call(tool, external_id="user_999")
    assert reply == Reply(200, {"ok": False, "reason": "not_found", "detail": "No account for this customer."})


def test_order_status(client: Client) -> None:
    assert ana(client, "orderStatus", {"orderNumber": "ORD-1042"}) == {
        "status": "delivered",
        "carrier": "DHL",
        "trackingUrl": "https://dhl.example/4471",
        "eta": None,
    }
    assert ana(client, "orderStatus", {"orderNumber": "ORD-1057"}) == {
        "status": "shipped",
        "carrier": "UPS",
        "trackingUrl": "https://ups.example/9120",
        "eta": "2025-06-05",
    }


@pytest.mark.parametrize("number", ["ORD-1031", "ORD-9999", "", "ord-1042"])
def test_an_order_of_somebody_else_is_not_there(client: Client, shop: Shop, number: str) -> None:
    assert ana(client, "orderStatus", {"orderNumber": number}) == NO_ORDER
    assert ana(client, "refundOrder", {"orderNumber": number, "reason": "late"}) == NO_ORDER
    assert ana(client, "refundSmallOrder", {"orderNumber": number, "reason": "late"}) == NO_ORDER
    assert shop.refunds == {}


def test_the_customer_is_never_taken_from_the_input(client: Client) -> None:
    reply = client.call("orderStatus", {"orderNumber": "ORD-1031", "customerId": "user_204"}, external_id="user_123")
    assert (reply.status, reply.data) == (
        422,
        {
            "error": {
                "code": "invalid_input",
                "message": "customerId is not an input of this tool.",
                "field": "customerId",
            }
        },
    )


def test_subscription_and_usage(client: Client) -> None:
    assert ana(client, "subscription") == {
        "plan": "Office 12",
        "seats": {"used": 9, "included": 12},
        "renewsOn": "2025-06-15",
        "status": "active",
    }
    assert ana(client, "usageThisMonth") == {
        "requests": 412,
        "included": 600,
        "overageCost": 0,
        "resetsOn": "2025-07-01",
    }
    assert client.call("usageThisMonth", external_id="user_204").data == {
        "requests": 96,
        "included": 90,
        "overageCost": 2.4,
        "resetsOn": "2025-07-01",
    }


def test_mail_goes_to_the_address_on_the_account(client: Client, shop: Shop) -> None:
    assert ana(client, "sendPasswordReset", tool_call_id="call_1") == {"sent": True}
    assert client.call("resendInvoice", {"invoiceNumber": "INV-2031"}, external_id="user_455").data == {
        "sent": True,
        "to": "accounts@banks.example.com",
    }
    assert list(shop.mails.values()) == [
        Mail("ana@example.com", "Your new password link"),
        Mail("accounts@banks.example.com", "Invoice INV-2031"),
    ]
    assert ana(client, "resendInvoice", {"invoiceNumber": "INV-2031"}) == {
        "ok": False,
        "reason": "not_found",
        "detail": "No invoice with that number on this account.",
    }
    assert len(shop.mails) == 2


def test_a_bug_report_links_back_to_the_conversation_and_needs_no_sign_in(client: Client, shop: Shop) -> None:
    given = {"title": "Checkout is blank", "detail": "White page in Safari.", "severity": "urgent"}
    assert client.call("flagForEngineering", given, conversation_id="k57c", tool_call_id="call_1").data == {
        "filed": True,
        "reference": "ENG-412",
    }
    assert shop.issues["call_1"].body == "White page in Safari.\n\nMedian conversation: k57c"
    assert client.call("flagForEngineering", given).data == {"filed": True, "reference": "ENG-413"}
    assert client.call("flagForEngineering", {**given, "severity": "dire"}).status == 422


def test_a_refund_happens_once_whatever_asks_again(client: Client, shop: Shop) -> None:
    given = {"orderNumber": "ORD-1042", "reason": "damaged"}
    assert ana(client, "refundOrder", given, tool_call_id="call_1", approved_by="Sam Okafor") == {
        "refunded": True,
        "amount": 48,
    }
    assert ana(client, "refundOrder", given) == {"ok": False, "reason": "already_refunded"}
    assert ana(client, "refundSmallOrder", given) == {"ok": False, "reason": "already_refunded"}
    assert shop.refunds == {"call_1": Refund("ORD-1042", 4800, "damaged", "Sam Okafor")}
    assert ana(client, "orderStatus", {"orderNumber": "ORD-1042"})["status"] == "refunded"


def test_the_cap_of_a_small_refund_is_held_in_code(client: Client, shop: Shop) -> None:
    assert ana(client, "refundSmallOrder", {"orderNumber": "ORD-1057", "reason": "late"}) == {
        "ok": False,
        "reason": "over_limit",
        "detail": "Orders over $50 go through refundOrder.",
    }
    assert shop.refunds == {}
    assert ana(client, "refundSmallOrder", {"orderNumber": "ORD-1029", "reason": "late"}) == {
        "refunded": True,
        "amount": 12,
    }
    assert client.call("refundSmallOrder", {"orderNumber": "ORD-1042", "reason": "goodwill"}).status == 422


def test_twenty_refunds_of_one_order_at_once_pay_once(client: Client, shop: Shop) -> None:
    start, outcomes = threading.Barrier(20), []

    def refund() -> None:
        start.wait()
        outcomes.append(ana(client, "refundOrder", {"orderNumber": "ORD-1042", "reason": "late"}))

    threads = [threading.Thread(target=refund) for _ in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert outcomes.count({"refunded": True, "amount": 48}) == 1
    assert outcomes.count({"ok": False, "reason": "already_refunded"}) == 19
    assert len(shop.refunds) == 1


def test_writes_with_the_same_call_id_happen_once(shop: Shop) -> None:
    """What the replay check upholds on the wire, the shop upholds for itself."""
    order = shop.orders["ORD-1042"]
    for _ in range(2):
        refund = shop.refund(order, reason="late", approved_by=None, key="call_1")
        assert refund == Refund("ORD-1042", 4800, "late", None)
        assert shop.extend_trial("user_123", 7, approved_by=None, key="call_2").ends_on == date(2025, 6, 30)
        shop.send(Mail("ana@example.com", "Hello"), key="call_3")
    assert (len(shop.refunds), len(shop.extensions), len(shop.mails)) == (1, 1, 1)


def test_cancelling_keeps_the_period_and_records_who_approved(client: Client, shop: Shop) -> None:
    given = {"reason": "too_expensive"}
    cancelled = ana(client, "cancelSubscription", given, tool_call_id="call_1", approved_by="Sam Okafor")
    assert cancelled == {"cancelled": True, "activeUntil": "2025-06-15"}
    assert ana(client, "subscription")["status"] == "cancelled"
    assert shop.cancellations == {"call_1": Cancellation("user_123", "too_expensive", "Sam Okafor")}
    assert client.call("cancelSubscription", external_id="user_317").data == {
        "cancelled": True,
        "activeUntil": "2025-06-15",
    }


@pytest.mark.parametrize("days", [0, -1, 15, 7.5, 1e300])
def test_trial_days_out_of_range(client: Client, shop: Shop, days: float) -> None:
    assert ana(client, "extendTrial", {"days": days}) == {
        "ok": False,
        "reason": "out_of_range",
        "detail": "Trials can be extended by 1 to 14 days.",
    }
    assert shop.extensions == {}


@pytest.mark.parametrize(("days", "ends_on"), [(1, "2025-06-24"), (14, "2025-07-07"), (7.0, "2025-06-30")])
def test_trial_days_are_added(client: Client, days: float, ends_on: str) -> None:
    assert ana(client, "extendTrial", {"days": days}) == {"extended": True, "endsOn": ends_on}
