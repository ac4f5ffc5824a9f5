"""Where things lie in a checkout, and the environment its processes get."""

import os
import secrets
from dataclasses import dataclass
from pathlib import Path

# Settings that say what this machine has rather than how Median behaves.
OF_THE_MACHINE = ("MEDIAN_PG_BIN_DIR", "MEDIAN_PG_USER", "MEDIAN_REQUIRE_BROWSER")


@dataclass(frozen=True)
class Project:
    """A checkout. What it makes lies in `.venv` and `var`, both left out of version control."""

    root: Path

    @classmethod
    def here(cls) -> "Project":
        return cls(Path(__file__).resolve().parent.parent)

    @property
    def venv(self) -> Path:
        return self.root / ".venv"

    @property
    def python(self) -> Path:
        return self.venv / "bin" / "python"

    @property
    def var(self) -> Path:
        return self.root / "var"

    def environment(self, **settings: str) -> dict[str, str]:
        """The caller's environment with `settings` on top, and what every process of this project needs."""
        ours = {
            "DJANGO_SETTINGS_MODULE": "median_site.settings",
            "PYTHONPATH": f"{self.root}{os.pathsep}{self.root / 'sdk' / 'src'}",
            "PYTHONUNBUFFERED": "1",
        }
        inherited = {name: value for name, value in os.environ.items() if name != "MEDIAN_DEBUG"}
        return inherited | ours | settings

    def hermetic_environment(self, **settings: str) -> dict[str, str]:
        """As `environment`, without the caller's MEDIAN_ settings: tests and checks mean the same everywhere."""
        kept = {
            name: value
            for name, value in self.environment().items()
            if not name.startswith("MEDIAN_") or name in OF_THE_MACHINE
        }
        return kept | settings

    def secret(self) -> str:
        """The installation's secret key: MEDIAN_SECRET_KEY, else one that is made once and remembered."""
        if given := os.environ.get("MEDIAN_SECRET_KEY"):
            return given
        path = self.var / "secret"
        if not path.exists():
            self.var.mkdir(exist_ok=True)
            fresh = path.with_suffix(".new")
            fresh.unlink(missing_ok=True)
            with open(fresh, "x", opener=lambda name, flags: os.open(name, flags, 0o600)) as file:
                file.write(secrets.token_urlsafe(48))
            fresh.rename(path)
        return path.read_text()


def cores() -> int:
    """How many processors this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1
