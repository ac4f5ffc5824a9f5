"""How people sign in: django-allauth, narrowed. Accounts come from invitations; throttling is allauth's."""

from typing import ClassVar

from allauth.account.adapter import DefaultAccountAdapter
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import HttpRequest

from median_site.lib import remote, secrets


class AccountAdapter(DefaultAccountAdapter):  # type: ignore[misc]  # the package ships no types
    """Says what is wrong in one sentence each, and never which of email and password was the wrong one."""

    error_messages: ClassVar[dict[str, str]] = DefaultAccountAdapter.error_messages | {
        "email_password_mismatch": "Email and password do not match. Check both and try again.",
        "too_many_login_attempts": "Too many tries with this address. Wait five minutes and try again.",
        "incorrect_password": "That is not your password.",
        "enter_current_password": "That is not your password.",
        "invalid_password_reset": "This link no longer works. Ask for a new one.",
        "rate_limited": "Too many tries. Wait a minute and try again.",
    }

    def get_client_ip(self, request: HttpRequest) -> str:
        """Sign-in limits count by it, and the list of one's sessions shows it."""
        return remote.address(request) or "0.0.0.0"  # noqa: S104  # a Unix socket has none; nothing listens here

    def is_open_for_signup(self, request: HttpRequest) -> bool:
        return False


class MFAAdapter(DefaultMFAAdapter):  # type: ignore[misc]  # the package ships no types
    """Keeps the secrets of second steps sealed, and says what is wrong in our words."""

    error_messages: ClassVar[dict[str, str]] = DefaultMFAAdapter.error_messages | {
        "incorrect_code": "That code is not right, or it is too old. Write the newest one.",
    }

    def encrypt(self, text: str) -> str:
        return secrets.seal(text)

    def decrypt(self, encrypted_text: str) -> str:
        return secrets.unseal(encrypted_text)

    def get_totp_issuer(self) -> str:
        return "Median"
