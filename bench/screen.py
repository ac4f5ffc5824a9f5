"""Decision to result on another open browser.

One page presses, another watches; web, agent and endpoint are processes. The clock starts with the click in the one
and stops with the frame in which the other page has the result, its headline and rows included.
"""

import tempfile
import time
from contextlib import ExitStack
from pathlib import Path
from typing import Final

import httpx
from playwright.sync_api import Browser, Page, expect

from bench import harness

harness.prepare()

from django.conf import settings  # noqa: E402
from django.db import transaction  # noqa: E402
from django.test import Client  # noqa: E402

from approvals import decisions  # noqa: E402
from conversations import threads  # noqa: E402
from team.models import Teammate  # noqa: E402
from tests import agent_process  # noqa: E402
from tests import world as worlds  # noqa: E402
from tests.chromium import chromium  # noqa: E402
from tests.web_process import serving  # noqa: E402

N: Final = 40
WARM_UP: Final = 5
INPUT: Final = '{"orderNumber":"ORD-1042","reason":"damaged"}'
POOLED: Final = {"MEDIAN_DATABASE_POOL": "1"}
# In each page: when it was last pressed, and when each card first showed a decision and a result. Milliseconds since
# the epoch, by the one clock of this machine.
STOPWATCH: Final = """
const now = () => performance.timeOrigin + performance.now();
window.times = { pressed: 0, decided: {}, result: {} };
addEventListener("click", () => { times.pressed = now(); }, true);
new MutationObserver(() => {
  for (const card of document.querySelectorAll("[data-approval]")) {
    const { approval, state } = card.dataset;
    const note = (what) => { if (!(approval in what)) requestAnimationFrame(() => { what[approval] ??= now(); }); };
    if (state !== "pending") note(times.decided);
    if (card.querySelector(".result h3")) note(times.result);
  }
}).observe(document, { subtree: true, childList: true, attributes: true });
"""


def ask(world: worlds.World) -> str:
    """A new request in the world's thread. Its id."""
    with transaction.atomic():
        conversation = threads.lock(world.conversation.id)
        agent = threads.agent_actor(conversation)
        tool = world.tool("refundOrder")
        return decisions.request(conversation, tool=tool, input_text=INPUT, turn_id="turn", by=agent).id


def window(browser: Browser, teammate: Teammate, *, url: str, path: str) -> Page:
    context = browser.new_context(base_url=url)
    client = Client()
    client.force_login(teammate.user)
    name = settings.SESSION_COOKIE_NAME
    context.add_cookies([{"name": name, "value": client.cookies[name].value, "url": url}])
    page = context.new_page()
    page.add_init_script(STOPWATCH)
    page.goto(path)
    return page


def press(approval_id: str, *, presses: Page, watches: Page) -> tuple[float, float]:
    """Seconds from the click to the decision and to the result, on the screen of the page that watches."""
    card = f'[data-approval="{approval_id}"]'
    expect(watches.locator(f"{card}[data-state=pending]")).to_be_visible()
    presses.locator(f"{card} [data-approve]").click()
    expect(watches.locator(f"{card} .result h3")).to_be_visible()
    pressed = presses.evaluate("() => times.pressed")
    decided, result = watches.evaluate("(id) => [times.decided[id], times.result[id]]", approval_id)
    return (decided - pressed) / 1000, (result - pressed) / 1000


def main() -> None:
    with ExitStack() as stack:
        endpoint = stack.enter_context(harness.endpoint())
        world = worlds.build(endpoint_url=endpoint)
        # A person has the thread, so that no turn of the agent's runs beside what is measured.
        threads.take_over(world.conversation.id, by=world.sam.actor)
        log = Path(stack.enter_context(tempfile.TemporaryDirectory())) / "web.log"
        web = stack.enter_context(serving(log, **POOLED))
        stack.enter_context(agent_process.as_process(**POOLED))
        browser = stack.enter_context(chromium())
        path = f"/inbox/{world.conversation.id}/"
        presses = window(browser, world.sam, url=web.url, path=path)
        watches = window(browser, world.kim, url=web.url, path=path)
        client = stack.enter_context(httpx.Client(trust_env=False))
        bare: list[float] = []
        decided: list[float] = []
        result: list[float] = []
        for number in range(WARM_UP + N):
            began = time.perf_counter()
            client.post(endpoint, json={"tool": "refundOrder"})
            call = time.perf_counter() - began
            to_decision, to_result = press(ask(world), presses=presses, watches=watches)
            if number >= WARM_UP:
                bare.append(call)
                decided.append(to_decision)
                result.append(to_result)
    harness.report("the endpoint's bare answer", bare)
    harness.report("press to the decision on another screen", decided)
    harness.report("press to the result on another screen", result)


if __name__ == "__main__":
    main()
