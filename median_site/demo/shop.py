"""The example shop, asked in this process: what its endpoint serves, what its tools answer. No network is touched."""

from datetime import date

from conversations.models import Customer
from median_site.demo.script import Call, Reply
from median_site.lib import strict_json

try:
    from median_tools.testing import Client

    from examples.shop.records import fernhill
    from examples.shop.tools import shop_tools
except ImportError as error:
    raise ImportError(
        f"The demo needs the example shop and the SDK of this checkout ({error}). Start manage.py from the checkout, "
        "with its sdk/src on PYTHONPATH."
    ) from error


class Shop:
    """The shop as it is when it opens on `today`, behind the endpoint's `secret`."""

    def __init__(self, today: date, *, secret: str) -> None:
        self._client = Client(shop_tools(fernhill(today), secret=secret, issuer=None))

    def manifest(self) -> bytes:
        """What a sync reads."""
        return strict_json.dumps(self._client.manifest()).encode()

    def reply(self, call: Call, *, customer: Customer, approved_by: str | None) -> Reply:
        """What came back of a call for this customer."""
        if call.reply:
            return call.reply
        answered = self._client.call(
            call.tool,
            dict(call.input),
            external_id=customer.subject if customer.verified else None,
            approved_by=approved_by,
        )
        return Reply(answered.status, answered.data)
