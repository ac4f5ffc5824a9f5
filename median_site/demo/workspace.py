"""The demo's workspace: made once, and afterwards only kept in touch with where the shop is. People's changes stay."""

from datetime import timedelta
from typing import Final, TypedDict
from urllib.parse import urlsplit

from django.conf import settings
from django.db import transaction
from django.utils.crypto import salted_hmac

from conversations.models import SavedReply
from median_site.demo import history, seed, threads
from median_site.demo.shop import Shop
from median_site.lib import clock, env, secrets
from median_site.lib.actors import Actor, system
from team import api_keys, events
from team.events import Kind
from team.models import Role, Teammate, User, Workspace
from tools import endpoints, keys, manifest, sync
from tools.models import Endpoint

SLUG: Final = "fernhill"
AGE: Final = timedelta(days=14)  # of the workspace, when it is made
INSTRUCTIONS: Final = """\
Fernhill sells coffee and what it is made with. We ship to the EU, the UK, Norway and Switzerland in 2 to 5 days.
Offer a refund before a voucher; a refund goes back to the card that was paid with and takes 3 to 5 days."""
SAVED_REPLIES: Final = {
    "Refund timing": "Refunds reach the card in 3 to 5 days.",
    "Dented parcel": "I’m sorry it arrived like that. Could you send a photo of the box and of what is damaged?",
}


class Person(TypedDict):
    """A teammate and how to sign in as them. The passwords are no secret: they are for a demo on one's own machine."""

    name: str
    email: str
    password: str


TEAM: Final[dict[str, tuple[Person, Role]]] = {
    "sam": (Person(name="Sam Okafor", email="sam@fernhill.example", password="fernhill-demo"), Role.OWNER),  # noqa: S106
    "jo": (Person(name="Jo Lindqvist", email="jo@fernhill.example", password="fernhill-demo"), Role.ADMIN),  # noqa: S106
}


class Facts(TypedDict):
    """How to reach what was made. Holds secrets: never to be logged."""

    workspace: str
    issuer: str
    widget_url: str
    shop_secret: str
    api_key: str
    teammates: list[Person]


def prepare() -> Facts:
    """Make the workspace if there is none, point its endpoint at the shop, and say how to reach it all.

    One transaction. Again it makes nothing twice and gives the same facts. Raises UnsealError when the installation's
    secret is not the one that the workspace was made with.
    """
    shop_url = env.url("MEDIAN_SHOP_URL", default="http://127.0.0.1:8765")
    with transaction.atomic():
        workspace, is_new = Workspace.objects.get_or_create(
            slug=SLUG,
            defaults={"name": "Fernhill", "instructions": INSTRUCTIONS, "widget_origins": _origin(shop_url)},
        )
        if is_new:
            _fill(workspace, shop_url)
        return _facts(workspace, secret=_secret_at(shop_url, workspace))


def _fill(workspace: Workspace, shop_url: str) -> None:
    keys.ensure(workspace.id)
    api_keys.create(workspace, name="The shop", scopes=["sessions"], plain=_api_key())
    team = {key: _teammate(workspace, person, role) for key, (person, role) in TEAM.items()}
    for title, text in SAVED_REPLIES.items():
        SavedReply.objects.create(workspace=workspace, title=title, text=text)
    now = clock.now()
    with clock.at(now - AGE):
        endpoint, secret = endpoints.add(f"{shop_url}/tools", by=team["sam"])
        shop = Shop(now.date(), secret=secret)
        sync.store(endpoint, manifest.parse(shop.manifest()))
    seed.play(workspace, [*threads.OPEN, *history.ENDED], team=team, shop=shop)


def _teammate(workspace: Workspace, person: Person, role: Role) -> Actor:
    user = User.objects.filter(email__iexact=person["email"]).first()
    user = user or User.objects.create_user(person["email"], person["password"], name=person["name"])
    return Teammate.objects.create(workspace=workspace, user=user, name=person["name"], role=role).actor


def _secret_at(shop_url: str, workspace: Workspace) -> str:
    """The secret of the shop's endpoint, which follows the shop to the port that it has this time.

    It is the workspace's first endpoint, whatever its address was, even if the team has removed it since.
    """
    endpoint = Endpoint.objects.filter(workspace=workspace).order_by("created_at")[0]
    old, url = _origin(endpoint.url), f"{shop_url}/tools"
    if endpoint.url != url:
        Endpoint.objects.filter(id=endpoint.id).update(url=url)
        events.record(Kind.ENDPOINT_CHANGED, by=system(workspace.id), subject_id=endpoint.id, data={"url": url})
        origins = [_origin(shop_url) if line == old else line for line in workspace.widget_origins.splitlines()]
        Workspace.objects.filter(id=workspace.id).update(widget_origins="\n".join(origins))
    return secrets.unseal(endpoint.sealed_secret)


def _facts(workspace: Workspace, *, secret: str) -> Facts:
    return Facts(
        workspace=workspace.name,
        issuer=workspace.issuer,
        widget_url=f"{settings.MEDIAN_URL}/widget/{workspace.slug}/",
        shop_secret=secret,
        api_key=_api_key(),
        teammates=[person for person, _ in TEAM.values()],
    )


def _api_key() -> str:
    """The same at every start, and known only to who knows the installation's secret: its row holds just a hash."""
    return f"mdn_{salted_hmac('the API key of the demo', SLUG, algorithm='sha256').hexdigest()[:40]}"


def _origin(url: str) -> str:
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"
