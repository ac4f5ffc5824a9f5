"""Teammates, their roles, and how people come in: by whom, once, and never so that a workspace is without an owner."""

import threading
from collections.abc import Callable
from datetime import timedelta
from functools import partial
from io import StringIO

import pytest
from django.conf import settings
from django.contrib.auth import SESSION_KEY
from django.core.management import CommandError, call_command
from django.db import connections
from django.test import Client

from median_site.lib import clock
from median_site.lib.errors import DomainError
from team import invitations, roster
from team.events import Kind
from team.models import Event, Invitation, Role, Teammate, User, Workspace
from tests import world as worlds
from tests.world import World

SignIn = Callable[[Teammate], Client]
PEOPLE = "/settings/people/"
LAST = "A workspace always keeps an owner. Make somebody else an owner first."


def role_of(teammate: Teammate) -> str:
    return Teammate.objects.get(id=teammate.id).role


def told(world: World) -> list[tuple[str, str, dict[str, object]]]:
    rows = Event.objects.filter(workspace=world.fernhill, type="team").order_by("id")
    return list(rows.values_list("kind", "actor_id", "data"))


@pytest.fixture
def lee(world: World) -> Teammate:
    return worlds.teammate(world.fernhill, "Lee Park", "lee@fernhill.example", Role.ADMIN)


def test_a_role_is_changed_and_the_log_says_so(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)

    menu, dialogs = sam.get(PEOPLE).content.decode().split("<dialog", 1)
    assert (menu.count('name="role" value="owner"'), dialogs.count('name="role" value="owner"')) == (0, 1)
    answer = sam.post(f"{PEOPLE}{world.kim.id}/role", {"role": "admin"})
    again = sam.post(f"{PEOPLE}{world.kim.id}/role", {"role": "admin"})

    assert (answer.status_code, answer["Location"], again.status_code) == (302, PEOPLE, 302)
    assert role_of(world.kim) == "admin"
    assert told(world) == [(Kind.ROLE_CHANGED, world.sam.id, {"name": "Kim Ito", "role": "admin"})]


@pytest.mark.parametrize("role", ["", "root", "OWNER"])
def test_a_role_that_is_none_changes_nothing(world: World, browser_of: SignIn, role: str) -> None:
    assert browser_of(world.sam).post(f"{PEOPLE}{world.kim.id}/role", {"role": role}).status_code == 400
    assert (role_of(world.kim), told(world)) == ("member", [])


def test_members_change_nobody_and_admins_no_owner(world: World, lee: Teammate, browser_of: SignIn) -> None:
    kim, admin = browser_of(world.kim), browser_of(lee)

    refused = [
        kim.post(f"{PEOPLE}{world.kim.id}/role", {"role": "owner"}),
        kim.post(f"{PEOPLE}{lee.id}/remove"),
        kim.post(f"{PEOPLE}invite", {"email": "new@fernhill.example", "role": "member"}),
        admin.post(f"{PEOPLE}{lee.id}/role", {"role": "owner"}),
        admin.post(f"{PEOPLE}{world.kim.id}/role", {"role": "owner"}),
        admin.post(f"{PEOPLE}{world.sam.id}/role", {"role": "member"}),
        admin.post(f"{PEOPLE}{world.sam.id}/remove"),
        admin.post(f"{PEOPLE}invite", {"email": "new@fernhill.example", "role": "owner"}),
    ]

    assert [answer.status_code for answer in refused] == [403] * 8
    assert "Only owners and admins can do this." in refused[0].content.decode()
    assert "Only owners make, change and remove owners." in refused[3].content.decode()
    assert [role_of(each) for each in (world.sam, lee, world.kim)] == ["owner", "admin", "member"]
    assert (told(world), Invitation.objects.count()) == ([], 0)


def test_the_last_owner_stays(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    for path, data in (("role", {"role": "member"}), ("remove", {})):
        answer = sam.post(f"{PEOPLE}{world.sam.id}/{path}", data)
        assert answer.status_code == 409
        assert LAST in answer.content.decode()
    assert (role_of(world.sam), told(world)) == ("owner", [])

    sam.post(f"{PEOPLE}{world.kim.id}/role", {"role": "owner"})
    assert sam.post(f"{PEOPLE}{world.sam.id}/role", {"role": "member"}).status_code == 302
    assert (role_of(world.sam), role_of(world.kim)) == ("member", "owner")


def test_a_removed_teammate_is_out_at_once(world: World, browser_of: SignIn) -> None:
    kim = browser_of(world.kim)
    assert kim.get("/settings/").status_code == 200

    answer = browser_of(world.sam).post(f"{PEOPLE}{world.kim.id}/remove")

    assert (answer.status_code, answer["Location"]) == (302, PEOPLE)
    assert kim.get("/settings/").status_code == 403
    assert told(world) == [(Kind.TEAMMATE_REMOVED, world.sam.id, {"name": "Kim Ito"})]
    assert "kim@fernhill.example" not in browser_of(world.sam).get(PEOPLE).content.decode()
    assert browser_of(world.sam).post(f"{PEOPLE}{world.kim.id}/remove").status_code == 404


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_remove_each_other_at_once_leave_one(world: World) -> None:
    """Twenty times over."""
    for number in range(20):
        Teammate.objects.filter(workspace=world.fernhill).update(role=Role.OWNER, removed_at=None)
        act = roster.remove if number % 2 else partial(roster.change_role, role="member")
        pairs = [(world.sam, world.kim), (world.kim, world.sam)]
        outcomes = _at_once([partial(act, other.id, by=by.actor) for by, other in pairs])

        left = Teammate.objects.filter(workspace=world.fernhill, role=Role.OWNER, removed_at=None).count()
        assert (left, sorted(outcomes)) == (1, ["done", "not_allowed"])


@pytest.mark.django_db(transaction=True)
def test_two_owners_who_step_down_at_once_leave_one(world: World) -> None:
    for _ in range(20):
        Teammate.objects.filter(workspace=world.fernhill).update(role=Role.OWNER)
        people = (world.sam, world.kim)
        outcomes = _at_once([partial(roster.change_role, who.id, role="member", by=who.actor) for who in people])

        left = Teammate.objects.filter(workspace=world.fernhill, role=Role.OWNER).count()
        assert (left, sorted(outcomes)) == (1, ["done", "last_owner"])


@pytest.mark.django_db(transaction=True)
def test_a_link_lets_one_of_eight_in(world: World) -> None:
    _, token = invitations.make(by=world.sam.actor, email="new@fernhill.example", role="member")
    users = [User.objects.create_user(f"u{n}@x.example", "correct horse battery", name=f"U {n}") for n in range(8)]

    outcomes = _at_once([partial(invitations.accept, token, user=user) for user in users])

    assert sorted(outcomes) == ["done"] + ["invitation_used"] * 7
    assert Teammate.objects.filter(workspace=world.fernhill).count() == 3
    assert Event.objects.filter(kind=Kind.TEAMMATE_JOINED).count() == 1


def _at_once(acts: list[Callable[[], object]]) -> list[str]:
    """Each in a thread and a transaction of its own, let go together; what came of them."""
    gate, outcomes = threading.Barrier(len(acts)), []

    def run(act: Callable[[], object]) -> None:
        gate.wait(10)
        try:
            act()
            outcomes.append("done")
        except DomainError as error:
            outcomes.append(error.code)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[act]) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(30)
    return outcomes


def invite(browser: Client, *, email: str = "new@fernhill.example", role: str = "member") -> str:
    """The path of the link that the page shows."""
    page = browser.post(f"{PEOPLE}invite", {"email": email, "role": role}).content.decode()
    return "/join/" + page.split("/join/", 1)[1].split("<", 1)[0]


def test_an_invited_person_sets_a_password_and_is_in(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    link = invite(sam, role="admin")
    assert link not in sam.get(PEOPLE).content.decode()
    token = link.split("/")[2]
    assert len(token) == 43
    assert token not in str(list(Invitation.objects.values()))

    nina = Client()
    page = nina.get(link)
    assert (page.status_code, "Join Fernhill" in page.content.decode()) == (200, True)
    assert "You were invited as an admin." in page.content.decode()
    assert page["Cache-Control"] == "max-age=0, no-cache, no-store, must-revalidate, private"
    short = nina.post(link, {"name": "Nina Roy", "password": "short"})
    assert short.status_code == 400
    assert "at least 10 characters" in short.content.decode()
    assert not User.objects.filter(email="new@fernhill.example").exists()
    joined = nina.post(link, {"name": " Nina  Roy ", "password": "correct horse battery"})

    assert (joined.status_code, joined["Location"]) == (302, "/inbox/")
    teammate = Teammate.objects.get(user__email="new@fernhill.example")
    assert (teammate.name, teammate.role, teammate.workspace_id) == ("Nina Roy", "admin", world.fernhill.id)
    assert nina.session[SESSION_KEY] == teammate.user_id
    assert nina.get("/settings/").status_code == 200
    assert told(world) == [
        (Kind.INVITATION_MADE, world.sam.id, {"email": "new@fernhill.example", "role": "admin"}),
        (Kind.TEAMMATE_JOINED, teammate.id, {"role": "admin"}),
    ]
    assert nina.get(link).status_code == Client().get(link).status_code == 404
    assert Client().post(link, {"name": "Eve", "password": "correct horse battery"}).status_code == 404
    assert Teammate.objects.filter(workspace=world.fernhill).count() == 3


def test_a_person_who_is_signed_in_joins_as_themselves(world: World, browser_of: SignIn) -> None:
    link = invite(browser_of(world.sam), email="mallory@elsewhere.example")

    assert "Sign in to join" in Client().get(link).content.decode()
    refused = Client().post(link, {"name": "Not Mallory", "password": "correct horse battery"})
    assert refused.status_code == 400
    mallory = browser_of(world.mallory)
    assert "Join as mallory@elsewhere.example" in mallory.get(link).content.decode()
    assert not Teammate.objects.filter(workspace=world.fernhill, user=world.mallory.user).exists()
    assert mallory.post(link).status_code == 302

    there = Teammate.objects.get(workspace=world.fernhill, user=world.mallory.user)
    assert there.role == "member"
    assert mallory.session["teammate"] == there.id


def test_somebody_who_was_removed_may_be_invited_again(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    assert sam.post(f"{PEOPLE}invite", {"email": "KIM@fernhill.example", "role": "member"}).status_code == 409
    sam.post(f"{PEOPLE}{world.kim.id}/remove")
    link = invite(sam, email="kim@fernhill.example", role="admin")

    assert browser_of(world.kim).post(link).status_code == 302

    kim = Teammate.objects.get(id=world.kim.id)
    assert (kim.role, kim.removed_at) == ("admin", None)


def test_a_link_ends_after_seven_days_and_when_it_is_withdrawn(world: World, browser_of: SignIn) -> None:
    sam = browser_of(world.sam)
    old, withdrawn = invite(sam, email="a@x.example"), invite(sam, email="b@x.example")
    with clock.at(clock.now() + timedelta(days=7) - timedelta(minutes=1)):
        assert Client().get(old).status_code == 200
    with clock.at(clock.now() + timedelta(days=7)):
        assert Client().get(old).status_code == 404
        assert "a@x.example" not in sam.get(PEOPLE).content.decode()
    row = Invitation.objects.get(email="b@x.example")

    assert sam.post(f"/settings/invitations/{row.id}/withdraw").status_code == 302

    gone = Client().get(withdrawn)
    assert gone.status_code == 404
    assert "This invitation was used already, withdrawn, or is older than seven days." in gone.content.decode()
    assert Event.objects.filter(kind=Kind.INVITATION_WITHDRAWN).count() == 1
    assert sam.post(f"/settings/invitations/{row.id}/withdraw").status_code == 404


@pytest.mark.parametrize("email", ["", "kim", "kim@", "a b@x.example"])
def test_an_address_that_is_none_invites_nobody(world: World, browser_of: SignIn, email: str) -> None:
    assert browser_of(world.sam).post(f"{PEOPLE}invite", {"email": email, "role": "member"}).status_code == 400
    assert Invitation.objects.count() == 0


def test_a_teammate_is_called_otherwise_from_then_on(world: World, browser_of: SignIn) -> None:
    kim = browser_of(world.kim)

    typed = ("  Kim  Itō ", "Kim Itō", " ")
    answers = [kim.post("/settings/account/name", {"name": name}).status_code for name in typed]

    assert answers == [302, 302, 400]
    assert 'value="Kim Itō"' in kim.get("/settings/account/").content.decode()
    assert told(world) == [(Kind.TEAMMATE_RENAMED, world.kim.id, {"name": "Kim Itō"})]


def test_an_operator_makes_a_workspace_and_its_first_owner_joins_by_the_link(world: World) -> None:
    made = (_begun("acme", "ann@acme.example", name="Acme Ltd"), _begun("acme", "ann@acme.example"))

    for link in made:  # the second is for a first one that went astray
        shown = Client().get(link).content.decode()
        assert "Join Acme Ltd" in shown
        assert "You were invited as an owner." in shown
    Client().post(made[1], {"name": "Ann Lee", "password": "a good long password"})

    ann = Teammate.objects.get(workspace__slug="acme")
    assert (ann.name, ann.role) == ("Ann Lee", Role.OWNER)
    with pytest.raises(CommandError, match="Somebody is in this workspace already"):
        _begun("acme", "eve@acme.example")
    for slug, owner, said in (("a b", "ann@acme.example", "slug: "), ("new", "ann", "Write an email address")):
        with pytest.raises(CommandError, match=said):
            _begun(slug, owner)
    assert not Workspace.objects.exclude(slug__in=["fernhill", "elsewhere", "acme"]).exists()


def _begun(slug: str, owner: str, *, name: str | None = None) -> str:
    """The path of the link that the command prints."""
    said = StringIO()
    call_command("create_workspace", slug, owner, name=name, stdout=said)
    return said.getvalue().splitlines()[-1].removeprefix(settings.MEDIAN_URL)
