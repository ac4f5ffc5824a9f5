"""How people sign in: django-allauth, narrowed. Accounts come from invitations; throttling is allauth's."""

from typing import ClassVar, Final, cast

from allauth.account.adapter import DefaultAccountAdapter
from allauth.account.auth_backends import AuthenticationBackend
from allauth.mfa.adapter import DefaultMFAAdapter
from django.http import HttpRequest

from median_site.lib import remote, rows, secrets
from median_site.lib.statement import fetch
from team.models import Teammate, User, Workspace

_MODELS: Final = {"person": User, "teammate": Teammate, "workspace": Workspace}
_READ: Final = f"""
    select {", ".join(rows.columns(model, of=name) for name, model in _MODELS.items())}
      from team_user person
      left join team_teammate teammate on teammate.user_id = person.id and teammate.removed_at is null
      left join team_workspace workspace on workspace.id = teammate.workspace_id
     where person.id = %s and person.is_active order by teammate.created_at
"""  # noqa: S608  # made of names in the code alone


class Backend(AuthenticationBackend):  # type: ignore[misc]  # the package ships no types
    def get_user(self, user_id: str) -> User | None:
        """Who a session is signed in as, with the teammates that they are: what every request asks for, by one
        statement."""
        found = [rows.load_all(list(_MODELS.values()), each) for each in fetch(_READ, user_id)]
        if not found:
            return None
        user, teammates = cast(User, found[0][0]), [cast(Teammate, teammate) for _, teammate, _ in found if teammate]
        for teammate, (_, _, workspace) in zip(teammates, found, strict=False):
            teammate.user, teammate.workspace = user, cast(Workspace, workspace)
        user.works_as = teammates
        return user


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
