"""Signing in and out, and choosing a new password."""

import re
from collections.abc import Callable

import pytest
from django.contrib.sessions.models import Session
from django.core import mail
from django.core.cache import cache
from django.test import Client
from django.urls import reverse

from median_site.lib import clock
from team.models import User
from tests.world import World

LOGIN = "/accounts/login/"
WRONG = "Email and password do not match. Check both and try again."
PASSWORD = "correct horse battery"


@pytest.fixture(autouse=True)
def nothing_throttled(db: None) -> None:
    cache.clear()


def sign_in(email: str, password: str, *, browser: Client | None = None):
    return (browser or Client()).post(LOGIN, {"login": email, "password": password})


def is_signed_in(browser: Client) -> bool:
    return "_auth_user_id" in browser.session


def test_the_page(world: World) -> None:
    page = Client().get(LOGIN)
    assert page.status_code == 200
    assert "<h1>Sign in to Median</h1>" in page.text
    inline = r'<script(?! src="/static/| data-allauth-onload="[.\w]+" type="application/json")|<style|\sstyle=|\son\w+='
    assert not re.search(inline, page.text)


@pytest.mark.parametrize("email", ["sam@fernhill.example", "Sam@Fernhill.Example"])
def test_the_right_password(world: World, email: str) -> None:
    browser = Client()
    answer = sign_in(email, PASSWORD, browser=browser)
    assert (answer.status_code, answer["Location"]) == (302, "/inbox/")
    assert is_signed_in(browser)


def test_back_to_where_one_was_going_and_nowhere_else(world: World) -> None:
    there = Client().post(LOGIN, {"login": "sam@fernhill.example", "password": PASSWORD, "next": "/agent/tools/"})
    assert there["Location"] == "/agent/tools/"
    for away in (
        "https://evil.example/",
        "//evil.example",
        "/\\evil.example",
        "https:evil.example",
        "javascript:alert(1)",
    ):
        elsewhere = Client().post(LOGIN, {"login": "sam@fernhill.example", "password": PASSWORD, "next": away})
        assert elsewhere["Location"] == "/inbox/"


def test_a_wrong_password_and_an_unknown_address_look_alike(world: World) -> None:
    browser = Client()
    wrong = sign_in("sam@fernhill.example", "wrong horse", browser=browser)
    unknown = sign_in("nobody@fernhill.example", "wrong horse")
    for answer in [wrong, unknown]:
        assert answer.status_code == 200
        assert answer.text.count(WRONG) == 1
        assert "wrong horse" not in answer.text
    token = re.compile(r'name="csrfmiddlewaretoken" value="\w+"')
    assert token.sub("", wrong.text).replace("sam@", "nobody@") == token.sub("", unknown.text)
    assert 'value="sam@fernhill.example"' in wrong.text
    assert not is_signed_in(browser)


def test_a_switched_off_account(world: World) -> None:
    User.objects.filter(pk=world.sam.user_id).update(is_active=False)
    browser = Client()
    sign_in("sam@fernhill.example", PASSWORD, browser=browser)
    assert not is_signed_in(browser)


def test_five_wrong_tries_are_enough(world: World) -> None:
    for _ in range(5):
        assert WRONG in sign_in("sam@fernhill.example", "wrong horse").text
    browser = Client()
    answer = sign_in("sam@fernhill.example", PASSWORD, browser=browser)
    assert "Too many tries with this address. Wait five minutes and try again." in answer.text
    assert not is_signed_in(browser)


def test_nobody_signs_up(world: World) -> None:
    page = Client().get(reverse("account_signup"))
    assert "<h1>Accounts are by invitation</h1>" in page.text
    Client().post(reverse("account_signup"), {"email": "new@evil.example", "password1": PASSWORD})
    assert not User.objects.filter(email="new@evil.example").exists()


def test_signing_out_takes_a_press(world: World) -> None:
    browser = Client()
    browser.force_login(world.sam.user)
    page = browser.get(reverse("account_logout"))
    assert "Signed in as sam@fernhill.example" in page.text
    assert is_signed_in(browser)
    browser.post(reverse("account_logout"))
    assert not is_signed_in(browser)


@pytest.mark.parametrize("over", ["expired", "deleted"])
def test_a_session_that_is_over(world: World, browser_of: Callable[..., Client], over: str) -> None:
    browser = browser_of(world.sam)
    assert browser.get("/inbox/").status_code == 200
    if over == "expired":
        Session.objects.update(expire_date=clock.now())
    else:
        Session.objects.all().delete()
    answer = browser.get("/inbox/")
    assert (answer.status_code, answer.headers["Location"]) == (302, f"{LOGIN}?next=/inbox/")
    assert not is_signed_in(browser)


def test_a_forgotten_password(world: World) -> None:
    browser = Client()
    browser.post(reverse("account_reset_password"), {"email": "sam@fernhill.example"})
    (letter,) = mail.outbox
    assert letter.to == ["sam@fernhill.example"]
    assert letter.subject.endswith("Choose a new password for Median")
    link = re.search(r"http://testserver(/\S+)", letter.body)
    assert link
    form = browser.get(link[1], follow=True)
    path = form.redirect_chain[-1][0]
    assert "<h1>Choose a new password</h1>" in form.text
    refused = browser.post(path, {"password1": "short", "password2": "short"})
    assert "at least 10 characters" in refused.text
    done = browser.post(path, {"password1": "another long one", "password2": "another long one"}, follow=True)
    assert "<h1>Your password is changed</h1>" in done.text
    assert sign_in("sam@fernhill.example", "another long one").status_code == 302
    assert WRONG in sign_in("sam@fernhill.example", PASSWORD).text
    assert "<h1>This link no longer works</h1>" in Client().get(link[1], follow=True).text


def test_a_forgotten_password_of_nobody_looks_the_same(world: World) -> None:
    known = Client().post(reverse("account_reset_password"), {"email": "kim@fernhill.example"}, follow=True)
    unknown = Client().post(reverse("account_reset_password"), {"email": "no@fernhill.example"}, follow=True)
    assert "If that address signs in here, a link is on its way to it." in known.text
    assert known.text == unknown.text
    assert "no account here has this address" in mail.outbox[1].body
    assert "http://" not in mail.outbox[1].body.replace("http://testserver", "")


@pytest.mark.parametrize("name", ["account_change_password", "account_reauthenticate", "account_email"])
def test_every_page_of_the_package_has_our_frame(world: World, name: str) -> None:
    browser = Client()
    browser.force_login(world.sam.user)
    page = browser.get(reverse(name))
    assert page.status_code == 200
    assert '<body class="gate">' in page.text
    assert not re.search(r"<script|<style|\sstyle=|\son\w+=", page.text)
