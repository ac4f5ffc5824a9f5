"""The processes that make up a running Median, and the settings each of them gets."""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TypedDict

from runtime import network
from runtime.project import Project
from runtime.supervisor import Service


class Teammate(TypedDict):
    name: str
    email: str
    password: str


class Facts(TypedDict):
    """What `manage.py prepare_demo` says about the workspace it made."""

    workspace: str
    teammates: list[Teammate]
    shop_secret: str
    api_key: str
    issuer: str
    widget_url: str


@dataclass(frozen=True)
class Stack:
    """One installation on this machine: its addresses and its database.

    Its processes leave so that none is cut off from what it needs: web, agent, jobs, the shop whose tools they call.
    """

    project: Project
    home: Path
    port: int
    shop_port: int
    database_url: str
    secret: str

    @property
    def url(self) -> str:
        return f"http://{network.HOST}:{self.port}"

    @property
    def shop_url(self) -> str:
        return f"http://{network.HOST}:{self.shop_port}"

    @property
    def beat(self) -> Path:
        return self.home / "run" / "cluster.beat"

    def environment(self) -> dict[str, str]:
        return self.project.environment(
            MEDIAN_DATABASE_URL=self.database_url,
            MEDIAN_SECRET_KEY=self.secret,
            MEDIAN_URL=self.url,
            MEDIAN_SHOP_URL=self.shop_url,
            MEDIAN_ALLOWED_HOSTS=f"localhost,{network.HOST}",
            MEDIAN_ALLOWED_NETWORKS="127.0.0.0/8,::1/128",  # the shop's tools are on this machine
            MEDIAN_CLUSTER_BEAT=str(self.beat),
        )

    def prepare_command(self) -> list[str]:
        return [str(self.project.python), "manage.py", "prepare_demo", "--json"]

    def shop(self, facts: Facts) -> Service:
        """The company's own process: it knows what a company knows, nothing of Median's secrets."""
        inherited = {name: value for name, value in os.environ.items() if not name.startswith("MEDIAN_")}
        env = inherited | {
            "PYTHONPATH": self.project.environment()["PYTHONPATH"],
            "PYTHONUNBUFFERED": "1",
            "SHOP_PORT": str(self.shop_port),
            "SHOP_SECRET": facts["shop_secret"],
            "SHOP_ISSUER": facts["issuer"],
            "MEDIAN_URL": self.url,
            "MEDIAN_API_KEY": facts["api_key"],
            "MEDIAN_WIDGET_URL": facts["widget_url"],
        }
        return self._service("shop", "-m", "examples.shop", env=env, leaves=3, grace=5.0)

    def jobs(self) -> Service:
        return self._service("jobs", "manage.py", "qcluster", env=self.environment(), leaves=2, beat=self.beat)

    def agent(self) -> Service:
        return self._service("agent", "manage.py", "agent", env=self._pooled_environment(), leaves=1)

    def web(self, door: int) -> Service:
        """`door` is the listening socket: it outlives a crash of the server, so that no visitor is turned away."""
        command = ("-m", "median_site.serve", "--fd", str(door))
        return self._service("web", *command, env=self._pooled_environment(), leaves=0, fds=(door,))

    def _pooled_environment(self) -> dict[str, str]:
        """For processes with many threads. Not for the jobs, which fork: they would share connections."""
        return self.environment() | {"MEDIAN_DATABASE_POOL": "1"}

    def _service(
        self,
        name: str,
        *arguments: str,
        env: dict[str, str],
        leaves: int,
        grace: float = 15.0,
        fds: tuple[int, ...] = (),
        beat: Path | None = None,
    ) -> Service:
        command = [str(self.project.python), *arguments]
        return Service(name, command, env, self.project.root, grace=grace, leaves=leaves, fds=fds, beat=beat)
