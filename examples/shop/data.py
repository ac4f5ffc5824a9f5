"""The shop's records and what may be done to them. In memory, behind one lock; knows nothing of Median."""

import threading
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime, timedelta


@dataclass(frozen=True)
class Order:
    number: str
    customer_id: str
    items: str
    total_cents: int
    status: str
    carrier: str | None = None
    tracking_url: str | None = None
    eta: date | None = None
    refunded_at: datetime | None = None


@dataclass(frozen=True)
class Invoice:
    number: str
    customer_id: str
    billing_email: str


@dataclass(frozen=True)
class Account:
    """A customer and their subscription. `requests` are the cups they drew from it this month."""

    id: str
    name: str
    email: str
    plan: str
    seats_used: int
    seats_included: int
    requests: int
    requests_included: int
    overage_cents: int
    renews_on: date
    resets_on: date
    trial_ends_on: date
    status: str = "active"


@dataclass(frozen=True)
class Refund:
    order_number: str
    amount_cents: int
    reason: str
    approved_by: str | None


@dataclass(frozen=True)
class Cancellation:
    customer_id: str
    reason: str | None
    approved_by: str | None


@dataclass(frozen=True)
class Extension:
    customer_id: str
    days: int
    ends_on: date
    approved_by: str | None


@dataclass(frozen=True)
class Mail:
    to: str
    subject: str


@dataclass(frozen=True)
class Issue:
    key: str
    title: str
    severity: str
    body: str


@dataclass
class Shop:
    """Every write takes `key`, the call's id: a second write with the same key answers as the first and does nothing.

    Reads and writes about a customer's things take the customer's id, so that nobody reaches another's.
    """

    accounts: dict[str, Account]
    orders: dict[str, Order]
    invoices: dict[str, Invoice]
    refunds: dict[str, Refund] = field(default_factory=dict)
    mails: dict[str, Mail] = field(default_factory=dict)
    issues: dict[str, Issue] = field(default_factory=dict)
    cancellations: dict[str, Cancellation] = field(default_factory=dict)
    extensions: dict[str, Extension] = field(default_factory=dict)
    _lock: threading.RLock = field(default_factory=threading.RLock, repr=False)

    def account(self, customer_id: str) -> Account | None:
        with self._lock:
            return self.accounts.get(customer_id)

    def order(self, customer_id: str, number: str) -> Order | None:
        with self._lock:
            order = self.orders.get(number)
        return order if order and order.customer_id == customer_id else None

    def orders_of(self, customer_id: str) -> list[Order]:
        with self._lock:
            return [order for order in self.orders.values() if order.customer_id == customer_id]

    def invoice(self, customer_id: str, number: str) -> Invoice | None:
        invoice = self.invoices.get(number)
        return invoice if invoice and invoice.customer_id == customer_id else None

    def send(self, mail: Mail, *, key: str) -> None:
        with self._lock:
            self.mails.setdefault(key, mail)

    def file_issue(self, title: str, *, severity: str, body: str, key: str) -> Issue:
        with self._lock:
            return self.issues.setdefault(key, Issue(f"ENG-{412 + len(self.issues)}", title, severity, body))

    def refund(self, order: Order, *, reason: str, approved_by: str | None, key: str) -> Refund | None:
        """Refunds the order in full. None when another call has refunded it since it was read."""
        with self._lock:
            if key in self.refunds:
                return self.refunds[key]
            if self.orders[order.number].refunded_at:
                return None
            self.orders[order.number] = replace(order, status="refunded", refunded_at=datetime.now(UTC))
            self.refunds[key] = Refund(order.number, order.total_cents, reason, approved_by)
            return self.refunds[key]

    def cancel_at_period_end(self, customer_id: str, *, cancellation: Cancellation, key: str) -> Account:
        """The account, which ends on its `renews_on`. Raises KeyError for no such account."""
        with self._lock:
            if key not in self.cancellations:
                self.cancellations[key] = cancellation
                self.accounts[customer_id] = replace(self.accounts[customer_id], status="cancelled")
            return self.accounts[customer_id]

    def extend_trial(self, customer_id: str, days: int, *, approved_by: str | None, key: str) -> Extension:
        """The extension, with the day on which the trial now ends. Raises KeyError for no such account."""
        with self._lock:
            if key not in self.extensions:
                account = self.accounts[customer_id]
                ends_on = account.trial_ends_on + timedelta(days=days)
                self.accounts[customer_id] = replace(account, trial_ends_on=ends_on)
                self.extensions[key] = Extension(customer_id, days, ends_on, approved_by)
            return self.extensions[key]
