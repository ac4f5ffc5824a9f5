"""The named world of the tests: Sam and Kim work at Fernhill, Ana is their customer, Mallory works somewhere else."""

import json
from dataclasses import dataclass

from conversations import threads
from conversations.models import Conversation, Customer
from median_site.lib import clock, secrets
from team.models import Role, Teammate, User, Workspace
from tools import keys, manifest, session_tokens, signing, sync
from tools.models import Endpoint, Tool

SECRET = signing.new_secret()

ORDER = {
    "type": "object",
    "properties": {"orderNumber": {"type": "string", "description": "The order number."}},
    "required": ["orderNumber"],
    "additionalProperties": False,
}
REFUND = {
    "type": "object",
    "properties": {
        "orderNumber": {"type": "string", "description": "The order number to refund."},
        "reason": {"type": "string", "enum": ["damaged", "late", "wrong_item", "goodwill"]},
    },
    "required": ["orderNumber", "reason"],
    "additionalProperties": False,
}
TOOLS = [
    {"name": "orderStatus", "description": "Look up an order.", "input": ORDER},
    {"name": "subscription", "description": "The customer's plan."},
    {"name": "resendInvoice", "description": "Email an invoice.", "risk": "medium", "input": ORDER},
    {"name": "refundSmallOrder", "description": "Refund $50 or less.", "risk": "reviewed", "input": REFUND},
    {"name": "refundOrder", "description": "Refund an order in full.", "risk": "high", "input": REFUND},
    {"name": "cancelSubscription", "description": "Cancel the subscription.", "risk": "high"},
    {"name": "extendTrial", "description": "Give more trial days.", "risk": "high"},
    {"name": "closeAccount", "description": "Close the account.", "risk": "high"},
]


@dataclass(slots=True)
class World:
    fernhill: Workspace
    sam: Teammate
    kim: Teammate
    ana: Customer
    conversation: Conversation
    endpoint: Endpoint
    elsewhere: Workspace
    mallory: Teammate

    def tool(self, name: str) -> Tool:
        return Tool.objects.get(workspace=self.fernhill, name=name)


def build(*, endpoint_url: str = "http://127.0.0.1:9/tools") -> World:
    """The world in the database. Nothing listens at the endpoint unless the test gives the address of a server."""
    fernhill = Workspace.objects.create(slug="fernhill", name="Fernhill")
    elsewhere = Workspace.objects.create(slug="elsewhere", name="Elsewhere")
    keys.ensure(fernhill.id)
    ana = Customer.objects.create(
        workspace=fernhill, subject="user_123", verified=True, name="Ana Souza", email="ana@example.com"
    )
    endpoint = Endpoint.objects.create(workspace=fernhill, url=endpoint_url, sealed_secret=secrets.seal(SECRET))
    sync.store(endpoint, manifest.parse(json.dumps({"version": 1, "tools": TOOLS}).encode()))
    return World(
        fernhill=fernhill,
        sam=teammate(fernhill, "Sam Okafor", "sam@fernhill.example", Role.OWNER),
        kim=teammate(fernhill, "Kim Ito", "kim@fernhill.example", Role.MEMBER),
        ana=ana,
        conversation=threads.start(ana),
        endpoint=endpoint,
        elsewhere=elsewhere,
        mallory=teammate(elsewhere, "Mallory Fox", "mallory@elsewhere.example", Role.OWNER),
    )


def session_token(customer: Customer) -> str:
    """What the company's server would hand to this customer's page."""
    return session_tokens.mint(
        keys.current(customer.workspace_id), issuer=customer.workspace.issuer, subject=customer.subject,
        anonymous=False, claims={}, email=customer.email, name=customer.name, now=clock.now(),
    )  # fmt: skip


def teammate(workspace: Workspace, name: str, email: str, role: Role) -> Teammate:
    user = User.objects.create_user(email, "correct horse battery", name=name)
    return Teammate.objects.create(workspace=workspace, user=user, name=name, role=role)
