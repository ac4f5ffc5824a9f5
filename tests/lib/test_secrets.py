"""Sealing: what is sealed comes back under the same secret only, and never half."""

import base64
from string import ascii_letters, digits

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pytest_django.fixtures import Settings

from median_site.lib import secrets
from median_site.lib.secrets import UnsealError

OTHERS = "was sealed under another installation secret"


@given(st.text())
def test_text_comes_back(text: str) -> None:
    assert secrets.unseal(secrets.seal(text)) == text


def test_sealed_text_is_marked_hidden_and_never_the_same() -> None:
    first, second = secrets.seal("whsec_abc"), secrets.seal("whsec_abc")
    assert first.startswith("v1.")
    assert first != second
    assert b"whsec_abc" not in base64.urlsafe_b64decode(first.removeprefix("v1."))


def test_every_changed_character_is_noticed() -> None:
    sealed = secrets.seal("private")
    for place in range(len("v1."), len(sealed)):
        for other in set(ascii_letters + digits + "-_") - {sealed[place]}:
            with pytest.raises(UnsealError):
                secrets.unseal(sealed[:place] + other + sealed[place + 1 :])


@pytest.mark.parametrize(
    ("sealed", "message"),
    [
        ("", "not one that this version"),
        ("private", "not one that this version"),
        ("v2.AAAA", "not one that this version"),
        ("v1.", "cut off"),
        ("v1.AAAA", "cut off"),
        ("v1.A", "damaged"),
        ("v1.ä", "damaged"),
        ("v1.!!!!", "damaged"),
    ],
)
def test_what_was_never_sealed_is_a_clear_error(sealed: str, message: str) -> None:
    with pytest.raises(UnsealError, match=message):
        secrets.unseal(sealed)


def test_the_installation_secret_may_be_rotated(settings: Settings) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = "old", []
    sealed = secrets.seal("private")
    settings.SECRET_KEY = "new"
    with pytest.raises(UnsealError, match=OTHERS):
        secrets.unseal(sealed)

    settings.SECRET_KEY_FALLBACKS = ["older", "old"]
    assert secrets.unseal(sealed) == "private"
    later = secrets.seal("later")
    settings.SECRET_KEY_FALLBACKS = []
    assert secrets.unseal(later) == "later"
