"""The ten tools that Fernhill's support agent may use. The customer is always the context's, never an input's."""

from collections.abc import Callable, Mapping
from typing import Any

from median_tools import Answer, Call, Json, ToolContext, Tools, define, p, refuse

from examples.shop.data import Account, Cancellation, Mail, Shop

# A tool's input has been checked against its schema, so its values are read as what the schema says they are.
Input = Mapping[str, Any]

SMALL_CENTS = 5000
_SIGN_IN = refuse("not_signed_in", "Ask the customer to sign in first.")
_NO_ORDER = refuse("not_found", "No order with that number on this account.")
_NO_INVOICE = refuse("not_found", "No invoice with that number on this account.")
_NO_ACCOUNT = refuse("not_found", "No account for this customer.")


def customer_id(context: ToolContext) -> str | None:
    """The shop's own id for the customer, or None when its server did not sign them in."""
    return context.visitor.external_id if context.visitor.verified else None


def shop_tools(
    shop: Shop,
    *,
    secret: str | None,
    issuer: str | None,
    after_call: Callable[[Call, Answer], None] | None = None,
) -> Tools:
    """The endpoint with all ten tools over this shop. Raises ValueError as `define` does."""
    tools = define(secret=secret, issuer=issuer, name="fernhill", after_call=after_call)
    _lookups(tools, shop)
    _messages(tools, shop)
    _refunds(tools, shop)
    _plans(tools, shop)
    return tools


def _lookups(tools: Tools, shop: Shop) -> None:
    @tools.tool(
        description="Look up one of the signed in customer's orders: where it is and when it should arrive.",
        input={"orderNumber": p.string("The order number, like ORD-1042.")},
    )
    def orderStatus(input: Input, context: ToolContext) -> dict[str, Json]:
        customer = customer_id(context)
        if customer is None:
            return _SIGN_IN
        order = shop.order(customer, input["orderNumber"])
        if order is None:
            return _NO_ORDER
        eta = order.eta.isoformat() if order.eta else None
        return {"status": order.status, "carrier": order.carrier, "trackingUrl": order.tracking_url, "eta": eta}

    @tools.tool(description="The signed in customer's plan, seat count, and renewal date.")
    def subscription(context: ToolContext) -> dict[str, Json]:
        account = _account(shop, context)
        if not isinstance(account, Account):
            return account
        return {
            "plan": account.plan,
            "seats": {"used": account.seats_used, "included": account.seats_included},
            "renewsOn": account.renews_on.isoformat(),
            "status": account.status,
        }

    @tools.tool(description="How much of their monthly quota the customer has used.")
    def usageThisMonth(context: ToolContext) -> dict[str, Json]:
        account = _account(shop, context)
        if not isinstance(account, Account):
            return account
        return {
            "requests": account.requests,
            "included": account.requests_included,
            "overageCost": _dollars(account.overage_cents),
            "resetsOn": account.resets_on.isoformat(),
        }


def _messages(tools: Tools, shop: Shop) -> None:
    @tools.tool(description="Email a fresh password reset link to the address on the account.", risk="medium")
    def sendPasswordReset(context: ToolContext) -> dict[str, Json]:
        account = _account(shop, context)
        if not isinstance(account, Account):
            return account
        shop.send(Mail(account.email, "Your new password link"), key=context.tool_call_id)
        return {"sent": True}

    @tools.tool(
        description="Email a copy of one invoice to the account's billing address.",
        risk="medium",
        input={"invoiceNumber": p.string("The invoice number, like INV-2031.")},
    )
    def resendInvoice(input: Input, context: ToolContext) -> dict[str, Json]:
        customer = customer_id(context)
        if customer is None:
            return _SIGN_IN
        invoice = shop.invoice(customer, input["invoiceNumber"])
        if invoice is None:
            return _NO_INVOICE
        shop.send(Mail(invoice.billing_email, f"Invoice {invoice.number}"), key=context.tool_call_id)
        return {"sent": True, "to": invoice.billing_email}

    @tools.tool(
        description="File a bug report for something in this conversation that looks broken.",
        risk="medium",
        input={
            "title": p.string("One line, as an engineer would title it."),
            "detail": p.string("What breaks, what should happen, and any error text."),
            "severity": p.enum(["low", "normal", "urgent"]),
        },
    )
    def flagForEngineering(input: Input, context: ToolContext) -> dict[str, Json]:
        body = f"{input['detail']}\n\nMedian conversation: {context.conversation_id}"
        issue = shop.file_issue(input["title"], severity=input["severity"], body=body, key=context.tool_call_id)
        return {"filed": True, "reference": issue.key}


def _refunds(tools: Tools, shop: Shop) -> None:
    def refunded(input: Input, context: ToolContext, *, at_most_cents: int | None = None) -> dict[str, Json]:
        customer = customer_id(context)
        if customer is None:
            return _SIGN_IN
        order = shop.order(customer, input["orderNumber"])
        if order is None:
            return _NO_ORDER
        if order.refunded_at:
            return refuse("already_refunded")
        if at_most_cents is not None and order.total_cents > at_most_cents:
            return refuse("over_limit", "Orders over $50 go through refundOrder.")
        refund = shop.refund(order, reason=input["reason"], approved_by=context.approved_by, key=context.tool_call_id)
        # Two calls may have read the order before either refunded it; the shop refunds it for one.
        return {"refunded": True, "amount": _dollars(refund.amount_cents)} if refund else refuse("already_refunded")

    @tools.tool(
        description="Refund an order of $50 or less in full, back to the original payment method.",
        risk="reviewed",
        input={
            "orderNumber": p.string("The order number to refund."),
            "reason": p.enum(["damaged", "late", "wrong_item"]),
        },
    )
    def refundSmallOrder(input: Input, context: ToolContext) -> dict[str, Json]:
        return refunded(input, context, at_most_cents=SMALL_CENTS)

    @tools.tool(
        description="Refund an order in full, back to the original payment method.",
        risk="high",
        input={
            "orderNumber": p.string("The order number to refund."),
            "reason": p.enum(["damaged", "late", "wrong_item", "goodwill"]),
        },
    )
    def refundOrder(input: Input, context: ToolContext) -> dict[str, Json]:
        return refunded(input, context)


def _plans(tools: Tools, shop: Shop) -> None:
    @tools.tool(
        description="Cancel the customer's subscription at the end of the current period.",
        risk="high",
        input={"reason": p.enum(["too_expensive", "missing_feature", "switching", "other"]).optional()},
    )
    def cancelSubscription(input: Input, context: ToolContext) -> dict[str, Json]:
        account = _account(shop, context)
        if not isinstance(account, Account):
            return account
        cancellation = Cancellation(account.id, input.get("reason"), context.approved_by)
        cancelled = shop.cancel_at_period_end(account.id, cancellation=cancellation, key=context.tool_call_id)
        return {"cancelled": True, "activeUntil": cancelled.renews_on.isoformat()}

    @tools.tool(
        description="Give the customer more trial days.",
        risk="high",
        input={"days": p.number("How many days to add. Fourteen at most.")},
    )
    def extendTrial(input: Input, context: ToolContext) -> dict[str, Json]:
        account = _account(shop, context)
        if not isinstance(account, Account):
            return account
        days = input["days"]
        if days != int(days) or not 1 <= days <= 14:
            return refuse("out_of_range", "Trials can be extended by 1 to 14 days.")
        extension = shop.extend_trial(account.id, int(days), approved_by=context.approved_by, key=context.tool_call_id)
        return {"extended": True, "endsOn": extension.ends_on.isoformat()}


def _account(shop: Shop, context: ToolContext) -> Account | dict[str, Json]:
    """The signed in customer's account, or the refusal."""
    customer = customer_id(context)
    if customer is None:
        return _SIGN_IN
    return shop.account(customer) or _NO_ACCOUNT


def _dollars(cents: int) -> int | float:
    """4800 → 48, 1450 → 14.5."""
    return cents // 100 if cents % 100 == 0 else cents / 100
