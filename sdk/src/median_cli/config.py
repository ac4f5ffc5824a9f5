"""Where the command line keeps the address and the key: one file of the person, mode 0600. The environment wins."""

import json
import os
import tempfile
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from median_cli.failures import Failed, SignIn


@dataclass(frozen=True)
class Login:
    """An installation's address and a key for one of its workspaces. Raises SignIn for what is no key."""

    url: str
    key: str

    def __post_init__(self) -> None:
        if not (self.key and self.key.isascii() and self.key.isprintable()) or " " in self.key:
            raise SignIn("This is no API key: one is mdn_ and 40 letters and digits. Sign in again: median login.")


def path() -> Path:
    return Path(platformdirs.user_config_dir("median")) / "config.json"


def read() -> Login:
    """From MEDIAN_URL and MEDIAN_API_KEY, else from the file. Raises SignIn when there is no key."""
    kept = _kept()
    url = os.environ.get("MEDIAN_URL") or kept.get("url") or ""
    key = os.environ.get("MEDIAN_API_KEY") or kept.get("key") or ""
    if not url or not key:
        raise SignIn("Sign in first: median login, or set MEDIAN_URL and MEDIAN_API_KEY.")
    return Login(url.strip().rstrip("/"), key.strip())


def write(login: Login) -> Path:
    """Keep it, readable by this person alone from its first byte on; the old file stays whole until the new one is.

    Raises Failed when it cannot be written.
    """
    file = path()
    try:
        file.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        handle, name = tempfile.mkstemp(dir=file.parent)  # made with mode 0600
        with os.fdopen(handle, "w") as new:
            json.dump({"url": login.url, "key": login.key}, new)
        Path(name).replace(file)
    except OSError as error:
        raise Failed(f"{file} cannot be written: {error.strerror}.") from error
    return file


def _kept() -> dict[str, str]:
    try:
        kept = json.loads(path().read_text())
    except FileNotFoundError:
        return {}
    except OSError as error:
        raise SignIn(f"{path()} cannot be read: {error.strerror}.") from error
    except ValueError as error:
        raise SignIn(f"{path()} is damaged. Sign in again: median login.") from error
    return {str(name): str(value) for name, value in kept.items()} if isinstance(kept, dict) else {}
