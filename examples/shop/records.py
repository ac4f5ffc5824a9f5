"""The demo's customers, accounts, orders and invoices, dated around the day the shop starts."""

from datetime import UTC, date, datetime, time, timedelta

from examples.shop.data import Account, Invoice, Order, Shop

_CUSTOMERS = {
    "user_123": ("Ana Souza", "ana@example.com"),
    "user_204": ("Jonas Weber", "jonas.weber@example.com"),
    "user_317": ("Mei-Lin Chou", "meilin@example.com"),
    "user_402": ("حسن المصري", "hassan@example.com"),
    "user_455": ("Oliver Banks", "oliver@example.com"),
    "user_511": ("Yuki Tanaka", "yuki@example.com"),
    "user_540": ("Léa Fontaine", "lea@example.com"),
    "user_588": ("Nora Lind", "nora@example.com"),
}
# customer: plan, seats used and included, cups drawn and included this month, cents for those beyond
_PLANS = {
    "user_123": ("Office 12", 9, 12, 412, 600, 0),
    "user_204": ("Home", 1, 2, 96, 90, 240),
    "user_317": ("Dark blend", 2, 2, 58, 90, 0),
    "user_402": ("Home", 1, 2, 31, 90, 0),
    "user_455": ("Office 30", 31, 30, 1812, 1500, 7800),
    "user_511": ("Home", 2, 2, 44, 90, 0),
    "user_540": ("Office 12", 4, 12, 120, 600, 0),
    "user_588": ("Home", 1, 2, 12, 90, 0),
}
_Row = tuple[str, str, str, int, str, str | None, int | None, int | None]
# number, customer, items, cents, status, carrier, the carrier's number, days until it arrives
_ORDERS: list[_Row] = [
    ("ORD-1042", "user_123", "Stovetop kettle, 1 l", 4800, "delivered", "DHL", 4471, None),
    ("ORD-1029", "user_123", "Filter papers, 400", 1200, "late", "DHL", 4390, 1),
    ("ORD-1057", "user_123", "Burr grinder", 8600, "shipped", "UPS", 9120, 2),
    ("ORD-0988", "user_123", "Scale with timer", 3450, "refunded", "DHL", 4102, None),
    ("ORD-1031", "user_204", "Filter papers, 400", 1200, "late", "DHL", 4395, 3),
    ("ORD-1044", "user_204", "Pour-over set", 6400, "packing", None, None, 4),
    ("ORD-1039", "user_317", "Dark blend, 1 kg", 2200, "delivered", "UPS", 9066, None),
    ("ORD-1037", "user_402", "Cold brew jug", 2900, "shipped", "DHL", 4433, 1),
    ("ORD-1035", "user_455", "House blend, 5 kg", 9800, "delivered", "UPS", 9041, None),
    ("ORD-1051", "user_511", "Light roast, 500 g", 1450, "shipped", "DHL", 4502, 3),
    ("ORD-1048", "user_540", "Moka pot, 6 cups", 3900, "delivered", "DHL", 4488, None),
    ("ORD-1018", "user_588", "Milk jug", 1900, "refunded", "DHL", 4310, None),
]
_INVOICES = [
    Invoice("INV-2042", "user_123", "ana@example.com"),
    Invoice("INV-2044", "user_204", "jonas.weber@example.com"),
    Invoice("INV-2031", "user_455", "accounts@banks.example.com"),
]


def fernhill(today: date) -> Shop:
    """A fresh shop."""
    return Shop(
        accounts={customer_id: _account(customer_id, today) for customer_id in _CUSTOMERS},
        orders={row[0]: _order(row, today) for row in _ORDERS},
        invoices={invoice.number: invoice for invoice in _INVOICES},
    )


def _account(customer_id: str, today: date) -> Account:
    name, email = _CUSTOMERS[customer_id]
    plan, used, included, requests, requests_included, overage_cents = _PLANS[customer_id]
    return Account(
        id=customer_id,
        name=name,
        email=email,
        plan=plan,
        seats_used=used,
        seats_included=included,
        requests=requests,
        requests_included=requests_included,
        overage_cents=overage_cents,
        renews_on=today + timedelta(days=12),
        resets_on=(today.replace(day=1) + timedelta(days=32)).replace(day=1),
        trial_ends_on=today + timedelta(days=20),
    )


def _order(row: _Row, today: date) -> Order:
    number, customer_id, items, cents, status, carrier, parcel, days = row
    nine_days_ago = datetime.combine(today - timedelta(days=9), time(11, 37), tzinfo=UTC)
    return Order(
        number=number,
        customer_id=customer_id,
        items=items,
        total_cents=cents,
        status=status,
        carrier=carrier,
        tracking_url=f"https://{carrier.lower()}.example/{parcel}" if carrier else None,
        eta=None if days is None else today + timedelta(days=days),
        refunded_at=nine_days_ago if status == "refunded" else None,
    )
