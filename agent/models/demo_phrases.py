"""The sentences with which the demo model tells a customer what a tool brought. Pure; claims only what results show."""

import re
from collections.abc import Mapping
from dataclasses import dataclass

from agent.models.demo_reading import Kind
from median_site.lib.strict_json import Json

ASKED = "You'll get the answer here."
NOT_DONE = "I'm sorry{name}, the {what} did not go through. A teammate will look into it."
NOT_READ = "I'm sorry{name}, I can't look that up just now. A teammate can step in and check."
NEUTRAL = "A teammate is looking at the {what}. " + ASKED

# How a call that brought no data yet, or none at all, is told.
STANDINGS: dict[Kind, str] = {
    "waiting": "Thanks{name}. A {what} needs a teammate's sign-off, so I've asked the team. " + ASKED,
    "checking": "Thanks{name}. The {what} is being checked now. " + ASKED,
    "still_waiting": "I've already asked for the {what}, and it is still waiting. " + ASKED,
    "too_many": "Several requests are already waiting for the team. Once one is answered, I can ask for the {what}.",
    "denied_before": "I asked for the {what} before, and it was not approved. A teammate can talk it over with you.",
}
# How a request ended, except with a result; pending: the reviewer left it to the team.
ENDINGS = {
    "pending": "The {what} needs a teammate's approval after all, so I've asked the team. " + ASKED,
    "failed": NOT_DONE,
    "denied": "The team did not approve the {what}. If you'd like to talk it over, a teammate can step in here.",
    "expired": "Nobody on the team answered the request for the {what} in time, so nothing was done.",
}
# What an order's status reads like: of one that needs no following any more, and of one that does.
SETTLED = {"delivered": "was delivered", "refunded": "has been refunded", "cancelled": "was cancelled"}
UNDER_WAY = {
    "packing": "is being packed",
    "shipped": "is on its way",
    "in_transit": "is on its way",
    "late": "is running late",
}
REFUSALS = {
    "not_signed_in": "Please sign in first{name}. Then I can help you with that.",
    "not_found": "I can't find that number on your account{name}. Could you check it?",
    "already_refunded": "That order has already been refunded{name}, so there is nothing more to pay back.",
    "over_limit": "That order is over the limit for a quick refund.",
}


@dataclass(frozen=True, slots=True)
class Done:
    """What a call brought: its input, the fields of its result, and the customer's first name, "" when not known."""

    inputs: Mapping[str, Json]
    result: Mapping[str, Json]
    name: str


def phrase(template: str, *, name: str, what: str = "") -> str:
    """A template with the customer's name, where it is known, and what it is about."""
    return template.format(what=what, name=f", {name}" if name else "")


def refusal(said: Mapping[str, Json], *, name: str) -> str:
    """A tool's no, in words for the customer."""
    reason, detail = said.get("reason"), said.get("detail")
    if isinstance(reason, str) and reason in REFUSALS:
        return phrase(REFUSALS[reason], name=name)
    why = detail if isinstance(detail, str) and detail else _words(str(reason or "the tool said no"))
    return f"I'm afraid that isn't possible. {why[:1].upper()}{_short(why)[1:].rstrip('.')}."


def order(done: Done) -> str:
    status, carrier, eta, link = (_field(done.result, key) for key in ("status", "carrier", "eta", "trackingUrl"))
    number = _field(done.inputs, "orderNumber")
    if status in SETTLED:
        return f"{number} {SETTLED[status]}" + (f" by {carrier}." if carrier and status == "delivered" else ".")
    standing = UNDER_WAY.get(status) or f"is {_words(status) or 'on file'}"
    sentences = [f"{number} {standing}" + (f" with {carrier}." if carrier else ".")]
    if eta:
        sentences.append(f"It should arrive on {eta}.")
    if link:
        sentences.append(f"You can follow it here: {link}")
    return " ".join(sentences)


def subscription(done: Done) -> str:
    plan, renews = _field(done.result, "plan"), _field(done.result, "renewsOn")
    seats = done.result.get("seats")
    sentences = [f"You are on the {plan} plan." if plan else "I found your subscription."]
    if isinstance(seats, dict):
        sentences.append(f"You use {_field(seats, 'used')} of {_field(seats, 'included')} seats.")
    if renews:
        sentences.append(f"It renews on {renews}.")
    return " ".join(sentences)


def usage(done: Done) -> str:
    used, included, resets = (_field(done.result, key) for key in ("requests", "included", "resetsOn"))
    sentences = [f"You have used {used or 'none'} of {included or 'your'} requests this month."]
    if cost := _money(done.result.get("overageCost")):
        sentences.append(f"Extra usage so far comes to {cost}.")
    if resets:
        sentences.append(f"The count starts again on {resets}.")
    return " ".join(sentences)


def refund(done: Done) -> str:
    what = _money(done.result.get("amount")) or "the refund"
    news = f"{what} is on its way back to the card you paid with. Banks usually show it within 3 to 5 days."
    return _good_news(news, name=done.name)


def cancellation(done: Done) -> str:
    until = _field(done.result, "activeUntil")
    return "Your subscription is cancelled." + (f" It stays active until {until}." if until else "")


def trial(done: Done) -> str:
    ends = _field(done.result, "endsOn")
    return _good_news(f"your trial now ends on {ends}." if ends else "your trial is longer now.", name=done.name)


def password(done: Done) -> str:
    return "Done. A fresh password reset link is on its way to the address on your account."


def invoice(done: Done) -> str:
    number, to = _field(done.inputs, "invoiceNumber"), _field(done.result, "to")
    return f"Done. A copy of {number or 'the invoice'} is on its way to {to or 'your billing address'}."


def bug(done: Done) -> str:
    reference = _field(done.result, "reference")
    return "Thanks for telling us. I've filed it for our engineers" + (f" as {reference}." if reference else ".")


def anything(result: Json, *, label: str, name: str) -> str:
    """The result of a tool that the demo model does not know, told by its fields."""
    fields = result if isinstance(result, dict) else {"result": result}
    facts = [f"{_words(key)}: {_field(fields, key)}" for key in fields if _field(fields, key)]
    return _good_news(f"{label} is done.", name=name) + (f" {_short('; '.join(facts))}." if facts else "")


def _good_news(news: str, *, name: str) -> str:
    return (f"Good news, {name}: " if name else "Good news: ") + news


def _field(result: Mapping[str, Json], key: str) -> str:
    """A field as text: numbers with separators, "" for what is absent, empty or nested."""
    value = result.get(key)
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int | float):
        return f"{value:,}"
    return _short(value) if isinstance(value, str) else ""


def _money(value: Json) -> str:
    """An amount in dollars, "" for none."""
    is_amount = isinstance(value, int | float) and not isinstance(value, bool) and value > 0
    return f"${value:,.2f}" if is_amount else ""


def _words(name: str) -> str:
    """A field's or a status's name as words: in_transit, renewsOn."""
    return re.sub(r"(?<=[a-z])(?=[A-Z])|[_-]", " ", name).lower()


def _short(text: str) -> str:
    return text if len(text) <= 300 else text[:300] + "…"
