"""What a page weighs on its way to the browser, and that nothing but its styles holds up the first paint."""

import re
from collections.abc import Callable

import pytest
from django.test import Client

from team.models import Teammate
from tests.approvals.requests import request
from tests.dashboard.threads_at_hand import write
from tests.world import World

SignIn = Callable[[Teammate], Client]

BYTES = 60_000
PATHS = ["/", "/inbox/", "thread", "/approvals/", "/logs/", "/agent/tools/", "/customers/", "/settings/"]


@pytest.mark.parametrize("path", PATHS)
def test_a_page_is_sent_compressed_and_paints_before_its_scripts(world: World, browser_of: SignIn, path: str) -> None:
    for number in range(50):
        write(world, client_id=f"m{number}")
    request(world)
    path = f"/inbox/{world.conversation.id}/" if path == "thread" else path

    page = browser_of(world.sam).get(path, headers={"Accept-Encoding": "gzip"})
    plain = browser_of(world.sam).get(path)

    assert (page["Content-Encoding"], plain.has_header("Content-Encoding")) == ("gzip", False)
    assert len(page.content) < min(BYTES, len(plain.content) / 2)
    scripts = re.findall(r"<script[^>]*>", plain.content.decode())
    assert scripts
    assert [script for script in scripts if " src=" not in script or " defer" not in script] == []
