"""A passkey from adding it to signing in with nothing else, with Chromium's own authenticator in place of a device."""

import re

import pytest
from allauth.mfa.models import Authenticator
from playwright.sync_api import Page, expect

from tests.browser.conftest import OpenWindow
from tests.web_process import WebProcess
from tests.world import World

pytestmark = pytest.mark.django_db(transaction=True)


def with_a_device(page: Page) -> None:
    """From now on this window has a device that holds passkeys, and a finger on it."""
    session = page.context.new_cdp_session(page)
    session.send("WebAuthn.enable")
    device = {
        "protocol": "ctap2",
        "transport": "internal",
        "hasResidentKey": True,
        "hasUserVerification": True,
        "isUserVerified": True,
        "automaticPresenceSimulation": True,
    }
    session.send("WebAuthn.addVirtualAuthenticator", {"options": device})


def test_a_passkey_signs_in(world: World, web: WebProcess, open_window: OpenWindow) -> None:
    page = open_window(f"http://localhost:{web.port}")  # browsers know passkeys on https, and here
    with_a_device(page)
    page.goto("/accounts/login/?next=/settings/account/")
    page.get_by_label("Email").fill("sam@fernhill.example")
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in", exact=True).click()
    page.locator(".setting", has_text="Passkeys").get_by_role("link", name="Add").click()
    page.get_by_label("Password").fill("correct horse battery")  # signing in earlier is not enough for this
    page.get_by_role("button", name="Go on").click()

    page.goto("/accounts/2fa/webauthn/")
    expect(page.get_by_text("None yet. A passkey signs you in with this device or a security key.")).to_be_visible()
    page.get_by_role("button", name="Add a passkey").click()
    page.get_by_label("Name").fill("This laptop")
    page.get_by_role("button", name="Add it").click()
    page.wait_for_url(lambda url: "webauthn/add" not in url)
    assert Authenticator.objects.get(user=world.sam.user, type="webauthn").wrap().name == "This laptop"

    page.goto("/inbox/")
    page.locator(".rail .avatar").click()
    page.get_by_role("button", name="Sign out").click()
    expect(page).to_have_url(re.compile("/accounts/login/"))
    page.get_by_role("button", name="Use a passkey").click()
    expect(page).to_have_url(re.compile("/inbox/"))
    expect(page.get_by_text("Sam Okafor, your account")).to_be_attached()
