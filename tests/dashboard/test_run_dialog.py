"""A teammate runs a tool from a thread: what the menu and the form hold, what a press does, and what refuses it."""

import re
from collections.abc import Callable

import pytest
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from conversations import threads
from conversations.models import Item, ItemKind, SavedReply, Status
from median_site.lib.strict_json import Json
from team.models import Event, Teammate
from tests.tools.http_tools_at_hand import draft, parameter, publish
from tests.world import World
from tools.models import RunState, Tool, ToolRun

Browser = Callable[[Teammate], Client]
HTMX = {"HX-Request": "true"}
REFUND = {"/orderNumber": "1042", "/reason": '"late"'}


def path(world: World, tool: str = "refundOrder", what: str = "") -> str:
    return f"/inbox/{world.conversation.id}/tools/{tool}/{what}"


def opened(browser: Client, world: World, tool: str = "refundOrder") -> dict[str, str]:
    """The hidden values of a form that was just opened."""
    page = browser.get(path(world, tool), headers=HTMX)
    assert page.status_code == 200
    return dict(re.findall(r'type="hidden" name="(client_id|made_from|mode|as)" value="([^"]*)"', page.text))


def fault_of(page: str) -> str:
    found = re.search(r'id="run-fault"[^>]*>.*?<span>(.*?)</span>', page)
    assert found
    return found[1]


def control(page: str, name: str) -> str:
    """The tag of a control, with what is in it."""
    found = re.search(
        rf'<(?:(textarea|select)|input)[^>]* name="{re.escape(name)}"[^>]*>(?(1).*?</\1>)', page, re.DOTALL
    )
    assert found
    return found[0]


def nothing_ran() -> bool:
    return not ToolRun.objects.exists() and not Item.objects.filter(kind=ItemKind.RUN).exists()


def test_the_menu_holds_usable_tools_and_saved_replies(world: World, browser_of: Browser) -> None:
    Tool.objects.filter(name="closeAccount").update(switched_on=False)
    Tool.objects.filter(name="extendTrial").update(present=False)
    SavedReply.objects.create(workspace=world.fernhill, title="Refund timing", text='3 to 5 "days"\nat most')
    SavedReply.objects.create(workspace=world.elsewhere, title="Theirs", text="No")
    menu = browser_of(world.kim).get(f"/inbox/{world.conversation.id}/slash", headers=HTMX).text
    says = re.findall(r'role="option"[^>]* data-says="([^"]*)"', menu)
    assert says == [
        "Cancel subscription cancelSubscription", "Order status orderStatus", "Refund order refundOrder",
        "Refund small order refundSmallOrder", "Resend invoice resendInvoice", "Subscription subscription",
        "Refund timing",
    ]  # fmt: skip
    assert f'data-run-tool="{path(world)}"' in menu
    assert 'data-inserts="3 to 5 &#34;days&#34;\nat most"' in menu
    assert menu.count("High risk") == 2


def test_the_panel_lists_the_least_risky_first(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.kim)
    panel = browser.get(f"/inbox/{world.conversation.id}/tools/", headers=HTMX).text
    labels = re.findall(r"</span><span>([^<]*)</span>", panel)
    assert labels == [
        "Order status", "Subscription", "Resend invoice", "Refund small order", "Cancel subscription",
        "Close account", "Extend trial", "Refund order",
    ]  # fmt: skip
    page = browser.get(f"/inbox/{world.conversation.id}/tools/").text
    assert f'href="{path(world)}"' in page
    assert "For <bdi>Ana Souza</bdi>" in page


def test_the_form_as_it_opens(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.kim)
    form = browser.get(path(world), headers=HTMX).text
    for shown in ["Refund order", "High risk", "Refund an order in full.", "For <bdi>Ana Souza</bdi>", "Order number",
                  "The order number to refund.", "Reason", "Choose one", "wrong_item"]:  # fmt: skip
        assert shown in form
    assert "Median AI is not told, so tell <bdi>Ana</bdi> yourself." in form
    assert " required" in control(form, "/orderNumber")
    assert opened(browser, world)["client_id"] != opened(browser, world)["client_id"]
    page = browser.get(path(world)).text
    assert "<title>Run Refund order, Median</title>" in page
    assert control(page, "/orderNumber") == control(form, "/orderNumber")
    assert "This tool takes no input." in browser.get(path(world, "subscription"), headers=HTMX).text


def test_a_press_runs_it_once_and_the_card_lands(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    hidden = opened(browser, world)
    events = Event.objects.count()
    answers = [browser.post(path(world, what="run"), hidden | REFUND, headers=HTMX) for _ in range(3)]
    assert [(answer.status_code, answer.content) for answer in answers] == [(204, b"")] * 3
    run = ToolRun.objects.get()
    assert (run.input, run.state) == ('{"orderNumber":"1042","reason":"late"}', RunState.QUEUED)
    assert (run.by_id, run.conversation_id) == (world.sam.id, world.conversation.id)
    assert Item.objects.filter(kind=ItemKind.RUN, ref=run.id).count() == 1
    assert Event.objects.count() == events
    thread = browser.get(f"/inbox/{world.conversation.id}/").text
    assert thread.count("Running now") == 1
    assert "1042" in thread


def test_without_a_script_it_leads_back_to_the_thread(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    answer = browser.post(path(world, "subscription", "run"), opened(browser, world, "subscription"))
    assert (answer.status_code, answer["Location"]) == (302, f"/inbox/{world.conversation.id}/")
    assert ToolRun.objects.get().input == "{}"


def test_a_second_form_runs_it_again_and_a_changed_one_does_not(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    first, second = opened(browser, world), opened(browser, world)
    for hidden in (first, second):
        assert browser.post(path(world, what="run"), hidden | REFUND, headers=HTMX).status_code == 204
    changed = browser.post(path(world, what="run"), second | REFUND | {"/orderNumber": "1043"}, headers=HTMX)
    assert changed.status_code == 409
    assert fault_of(changed.text) == "This form was sent with another input. Open it again to run the tool once more."
    assert "1043" in control(changed.text, "/orderNumber")
    assert ToolRun.objects.count() == 2


def test_faults_are_named_by_their_fields_and_what_was_typed_stays(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    typed = {"/orderNumber": "", "/reason": '"wrong_item"'}
    answer = browser.post(path(world, what="run"), opened(browser, world) | typed, headers=HTMX)
    assert answer.status_code == 422
    assert "orderNumber is needed to run this." in answer.text
    assert 'aria-invalid="true"' in control(answer.text, "/orderNumber")
    assert 'aria-invalid="true"' not in control(answer.text, "/reason")
    assert '<option value="&#34;wrong_item&#34;" selected>' in answer.text
    lines = {"/orderNumber": "\r\n first\r\nsecond ", "/reason": ""}
    again = browser.post(path(world, what="run"), opened(browser, world) | lines)
    assert (again.status_code, again.text.count("reason is needed to run this.")) == (422, 1)
    assert control(again.text, "/orderNumber").endswith(">\n\r\n first\r\nsecond </textarea>")
    assert nothing_ran()


def switch_off(world: World) -> None:
    Tool.objects.filter(name="refundOrder").update(switched_on=False)


def archive(world: World) -> None:
    threads.end(world.conversation.id, by=world.kim.actor, to=Status.ARCHIVED)


def rename_a_field(world: World) -> None:
    tool = world.tool("refundOrder")
    tool.input_schema = tool.input_schema.replace("goodwill", "kindness")
    tool.save(update_fields=["input_schema"])


@pytest.mark.parametrize(
    ("meanwhile", "sentence"),
    [
        (switch_off, "Refund order is unavailable or disabled. Check its settings in Agent &gt; Tools."),
        (archive, "Move this conversation out of the archive before running a tool."),
        (rename_a_field, "Refund order changed while this form was open. Check the fields, then run it."),
    ],
)
def test_what_changed_meanwhile_is_said_in_the_form(
    world: World, browser_of: Browser, meanwhile: Callable[[World], None], sentence: str
) -> None:
    browser = browser_of(world.sam)
    hidden = opened(browser, world)
    meanwhile(world)
    for headers in (HTMX, {}):
        answer = browser.post(path(world, what="run"), hidden | REFUND, headers=headers)
        assert (answer.status_code, fault_of(answer.text)) == (409, sentence)
        assert "1042" in control(answer.text, "/orderNumber")
    assert nothing_ran()


def test_the_fourth_at_once_waits(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    for _ in range(3):
        browser.post(path(world, what="run"), opened(browser, world) | REFUND, headers=HTMX)
    answer = browser.post(path(world, what="run"), opened(browser, world) | REFUND, headers=HTMX)
    assert answer.status_code == 409
    assert fault_of(answer.text) == ("Three tools are already running in this conversation. Wait for one to finish.")
    assert ToolRun.objects.count() == 3


def test_opening_a_tool_that_is_switched_off_says_so(world: World, browser_of: Browser) -> None:
    switch_off(world)
    browser = browser_of(world.sam)
    answer = browser.get(path(world), headers=HTMX)
    assert answer.status_code == 409
    assert answer.text == "Refund order is unavailable or disabled. Check its settings in Agent > Tools."
    assert browser.get(path(world, "neverThere")).status_code == 404


def test_editing_as_json_and_back(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    hidden = opened(browser, world)
    as_json = browser.post(path(world, what="form"), hidden | REFUND | {"to": "json"}, headers=HTMX)
    assert as_json.status_code == 200
    text = control(as_json.text, "json")
    assert text.endswith(
        ">\n{\n  &#34;orderNumber&#34;: &#34;1042&#34;,\n  &#34;reason&#34;: &#34;late&#34;\n}</textarea>"
    )
    typed = hidden | {"mode": "json"}
    wrong = browser.post(path(world, what="run"), typed | {"json": '{"orderNumber": 1042}'}, headers=HTMX)
    assert wrong.status_code == 422
    assert "orderNumber must be a string, not the number 1042." in wrong.text
    for text, sentence in [("{", "The input is not valid JSON"), ('{"x": 1}', "The fields cannot show all of this")]:
        stays = browser.post(path(world, what="form"), typed | {"json": text, "to": "fields"}, headers=HTMX)
        assert sentence in stays.text
        assert control(stays.text, "json").endswith(f">\n{text.replace(chr(34), '&#34;')}</textarea>")
    back = browser.post(
        path(world, what="form"), typed | {"json": '{"orderNumber": "7"}', "to": "fields"}, headers=HTMX
    )
    assert control(back.text, "/orderNumber").endswith(">\n7</textarea>")
    sent = browser.post(path(world, what="run"), typed | {"json": '{"orderNumber":"7","reason":"late"}'}, headers=HTMX)
    assert sent.status_code == 204
    assert ToolRun.objects.get().input == '{"orderNumber":"7","reason":"late"}'


def test_a_value_for_the_subject_written_as_json_is_dropped_and_logged(world: World, browser_of: Browser) -> None:
    subject: Json = {"name": "user", "place": "query"}
    draft(world, "http://127.0.0.1:9/stock", parameters=[parameter("sku", "query")], subject=subject)
    publish(world)
    browser = browser_of(world.kim)
    typed = opened(browser, world, "stockLevel") | {"mode": "json", "json": '{"sku": "LID", "user": "somebody_else"}'}
    assert browser.post(path(world, "stockLevel", "run"), typed, headers=HTMX).status_code == 204
    assert ToolRun.objects.get().input == '{"sku":"LID"}'
    assert Event.objects.get(kind="tool.subject_dropped").actor_name == "Kim Ito"


def test_items_come_and_go_and_nothing_runs(world: World, browser_of: Browser) -> None:
    tool = world.tool("refundOrder")
    tool.input_schema = '{"type":"object","properties":{"items":{"type":"array","items":{"type":"string"}}}}'
    tool.save(update_fields=["input_schema"])
    browser = browser_of(world.sam)
    hidden = opened(browser, world)
    one = browser.post(path(world, what="form"), hidden | {"add": "/items"}, headers=HTMX)
    assert one.text.count('name="items:/items"') == 1
    posted = hidden | {"items:/items": ["0", "1"], "/items/0": "a", "/items/1": "b"}
    left = browser.post(path(world, what="form"), posted | {"remove": "/items/0"}, headers=HTMX)
    assert re.findall(r'name="items:/items" value="(\d)"', left.text) == ["1"]
    assert control(left.text, "/items/1").endswith(">\nb</textarea>")
    assert 'aria-label="Remove Items, item 1"' in left.text
    assert nothing_ran()


@pytest.mark.parametrize("what", ["", "run", "form"])
def test_another_workspace_finds_nothing(world: World, browser_of: Browser, what: str) -> None:
    hidden = opened(browser_of(world.sam), world)
    mallory = browser_of(world.mallory)
    answer = mallory.post(path(world, what=what), hidden | REFUND) if what else mallory.get(path(world))
    assert answer.status_code == 404
    for listed in ("slash", "tools/"):
        assert mallory.get(f"/inbox/{world.conversation.id}/{listed}").status_code == 404
    assert nothing_ran()


def test_only_a_post_of_the_same_person_runs_anything(world: World, browser_of: Browser) -> None:
    hidden = opened(browser_of(world.sam), world) | REFUND
    browser = browser_of(world.sam)
    assert browser.get(path(world, what="run"), hidden).status_code == 405
    assert browser.get(path(world, what="form"), hidden).status_code == 405
    kim = browser_of(world.kim)
    answer = kim.post(path(world, what="run"), hidden, headers=HTMX | {"X-Median-As": world.sam.id})
    assert answer.status_code == 409
    assert answer.text == "You are signed in as Kim now. Reload the page; nothing was done."
    assert Client().post(path(world, what="run"), hidden, headers=HTMX).status_code == 401
    assert Client(enforce_csrf_checks=True).post(path(world, what="run"), hidden).status_code == 403
    assert nothing_ran()


def test_few_statements_whatever_the_number_of_tools(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    tool = world.tool("refundOrder")
    Tool.objects.bulk_create(
        Tool(workspace=world.fernhill, endpoint=tool.endpoint, name=f"tool{number}", label=f"Tool {number}",
             risk=tool.risk, input_schema=tool.input_schema)
        for number in range(40)
    )  # fmt: skip
    for listed in ("slash", "tools/", "tools/refundOrder/"):
        with CaptureQueriesContext(connection) as queries:
            assert browser.get(f"/inbox/{world.conversation.id}/{listed}", headers=HTMX).status_code == 200
        assert len(queries) <= 7


def test_a_form_of_more_fields_than_any_form_has_is_refused_and_stays(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.kim)
    many = opened(browser, world) | REFUND | {f"field{number}": "" for number in range(5_000)}
    answer = browser.post(path(world, what="run"), many, headers=HTMX)
    assert (answer.status_code, answer["Content-Type"]) == (400, "text/plain; charset=utf-8")
    assert answer.text == "This was too large, or nothing that a page of ours sends. Nothing was done."
    assert nothing_ran()
