"""Agent > Tools, HTTP tools: what the pages show, what a form keeps, and who may change what."""

import json
from collections.abc import Callable
from html import unescape

import pytest
from django.core.files.uploadedfile import SimpleUploadedFile
from django.db import connection
from django.test import Client
from django.test.utils import CaptureQueriesContext

from median_site.lib.strict_json import Json
from team.models import Event, Teammate
from tests.socket_server import SocketServer
from tests.tools.http_tools_at_hand import answering, base, draft, parameter, publish
from tests.world import World
from tools import http_tools, tool_versions
from tools.models import HttpTool, Tool, ToolRun, ToolVersion

Browser = Callable[[Teammate], Client]
PAGE = "/agent/tools/"
HTTP = "/agent/tools/http/"
URL = "http://127.0.0.1:9/stock"
FORM = {
    "name": "stockLevel", "label": "", "description": "How many are left.", "risk": "low", "method": "GET",
    "url": URL + "/{sku}", "requires": "plus", "subject_name": "user", "subject_place": "query",
    "parameter_name": ["sku", "", "store"], "parameter_place": ["path", "query", "query"],
    "parameter_need": ["required", "required", "optional"],
    "parameter_schema": ['{"type": "string"}', '{"type": "string"}', '{"type": "integer"}'],
}  # fmt: skip


def test_the_page_says_what_is_published_and_what_is_not(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    assert "No HTTP tools yet" in browser.get(PAGE).text
    assert "<h1>Nothing to publish</h1>" in (nothing := browser.get(HTTP + "differences").text)
    assert "There is no HTTP tool yet." in nothing
    draft(world, URL, subject={"name": "user", "place": "query"}, requires="plus", sessionStart=True)
    page = browser.get(PAGE).text
    assert "Not published yet" in page
    assert "1 change is not published yet: " in page
    assert "Publish version 1" in page
    for badge in ["Not published", "Per user", "Session start", "plus"]:
        assert badge in page
    publish(world)
    assert "Version 1 has everything that was written." in browser.get(HTTP + "differences").text
    draft(world, URL + "/2", name="another", label="Another one")
    page = browser.get(PAGE).text
    assert "Version 1</a>" in page
    assert "1 change is not published yet: " in page
    assert ">Another one</a>." in page
    assert f"<code>GET {URL}/2</code>" in page


def test_a_draft_is_made_changed_and_removed(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    answer = browser.post(f"{HTTP}drafts", FORM)
    assert (answer.status_code, answer["Location"]) == (302, PAGE)
    made = HttpTool.objects.get()
    definition = http_tools.definition_of(made)
    assert (definition.label, definition.requires, definition.session_start) == ("Stock level", "plus", False)
    assert [(each.name, each.place, each.required) for each in definition.parameters] == [
        ("sku", "path", True), ("store", "query", False),
    ]  # fmt: skip
    form = browser.get(f"{HTTP}drafts/{made.id}/").text
    assert 'value="stockLevel"' in form
    assert unescape(form).count('{"type":"integer"}') == 1

    browser.post(f"{HTTP}drafts/{made.id}/save", {**FORM, "label": "Stock"})
    assert [http_tools.definition_of(row).label for row in HttpTool.objects.all()] == ["Stock"]
    browser.post(f"{HTTP}drafts/{made.id}/remove")
    assert not HttpTool.objects.exists()
    kinds = Event.objects.filter(kind__startswith="http_tool").order_by("id").values_list("kind", flat=True)
    assert list(kinds) == ["http_tool.saved", "http_tool.saved", "http_tool.removed"]


def test_a_fault_names_its_field_and_what_was_typed_is_kept(world: World, browser_of: Browser) -> None:
    typed = {
        **FORM, "name": "refundOrder", "url": "https://169.254.169.254/{sku}", "description": 'Say "hi" & <b>go</b>',
        "parameter_schema": ['{"type": "string"}', "", "{not json"],
    }  # fmt: skip
    answer = browser_of(world.sam).post(f"{HTTP}drafts", typed)
    assert answer.status_code == 422
    page = unescape(answer.text)
    for sentence in [
        "Nothing was saved. 3 fields need another look.",
        "An endpoint of this workspace serves a tool of this name.",
        "The address of this host is not public.",
        "The schema of store: Expecting property name enclosed in double quotes",
    ]:
        assert sentence in page
    for kept in ['value="refundOrder"', "{not json", 'Say "hi" & <b>go</b>', 'value="plus"', "169.254.169.254"]:
        assert kept in page
    assert "<b>go</b>" not in answer.text
    assert answer.text.count('aria-invalid="true"') == 3
    assert 'id="parameters[1]-fault"' in answer.text
    assert not HttpTool.objects.exists()


def test_more_rows_save_nothing(world: World, browser_of: Browser) -> None:
    answer = browser_of(world.sam).post(f"{HTTP}drafts", {**FORM, "more": "1"})
    assert answer.status_code == 200
    assert answer.text.count('name="parameter_name"') == 5
    assert 'value="store"' in answer.text
    assert not HttpTool.objects.exists()


def test_what_was_looked_at_is_published_and_an_older_version_comes_back(world: World, browser_of: Browser) -> None:
    browser = browser_of(world.sam)
    draft(world, URL)
    seen = tool_versions.fingerprint(tool_versions.drafted(world.fernhill.id))
    page = browser.get(f"{HTTP}differences").text
    assert f'name="seen" value="{seen}"' in page
    assert "<ins>How many are left.</ins>" in page
    assert browser.post(f"{HTTP}publish", {"seen": seen})["Location"] == PAGE
    draft(world, URL, description="Changed.")
    stale = browser.post(f"{HTTP}publish", {"seen": seen}, headers={"HX-Request": "true"})
    assert (stale.status_code, stale.text) == (409, tool_versions.DraftsChanged.message)
    tool_versions.publish(by=world.sam.actor)
    page = browser.get(f"{HTTP}versions/1/").text
    assert "<del>Changed.</del>" in page
    assert "<ins>How many are left.</ins>" in page
    assert "Publish it again as version 3" in page
    assert browser.post(f"{HTTP}versions/1/restore")["Location"] == f"{HTTP}versions/"
    page = browser.get(f"{HTTP}versions/").text
    assert page.index("Version 3") < page.index("Version 2") < page.index("Version 1")
    assert "A copy of version 1." in page


@pytest.mark.parametrize("how", ["pasted", "uploaded"])
def test_an_import_says_what_came_of_each_operation(world: World, browser_of: Browser, how: str) -> None:
    document: Json = {"openapi": "3.1.0", "servers": [{"url": "http://127.0.0.1:9"}], "paths": {
        "/a": {"get": {"operationId": "readA", "parameters": [{"name": "X", "in": "header", "schema": {}}]}},
        "/b": {"post": {"requestBody": {"required": True, "content": {"text/plain": {}}}}},
    }}  # fmt: skip
    text = json.dumps(document)
    given = {"file": SimpleUploadedFile("api.json", text.encode())} if how == "uploaded" else {"document": text}
    page = unescape(browser_of(world.sam).post(f"{HTTP}import/document", given).text)
    for said in ["1 draft was made, 1 operation was left out.", "Left out: X: A tool sends nothing in a header.",
                 "POST /b", "Its body is text/plain; a tool's is JSON."]:  # fmt: skip
        assert said in page
    assert HttpTool.objects.get().name == "readA"


def paths(world: World) -> list[str]:
    made = HttpTool.objects.get().id
    return [
        "drafts",
        f"drafts/{made}/save",
        f"drafts/{made}/remove",
        "publish",
        "versions/1/restore",
        "import/document",
    ]


def is_untouched() -> bool:
    return HttpTool.objects.get().name == "other" and ToolVersion.objects.count() == 1


@pytest.fixture
def published(world: World) -> World:
    draft(world, URL + "/{sku}", name="other", parameters=[parameter("sku", "path")])
    publish(world)
    return world


def test_a_member_looks_and_changes_nothing(published: World, browser_of: Browser) -> None:
    browser = browser_of(published.kim)
    page = browser.get(PAGE).text
    assert "Version 1</a>" in page
    assert "New HTTP tool" not in page
    form = browser.get(f"{HTTP}drafts/{HttpTool.objects.get().id}/").text
    assert "<fieldset disabled>" in form
    assert "Remove this tool" not in form
    assert browser.get(f"{HTTP}versions/1/").status_code == 200
    for path in paths(published):
        answer = browser.post(HTTP + path, FORM, headers={"HX-Request": "true"})
        assert (answer.status_code, answer.text) == (403, "Only owners and admins can do this.")
    assert browser.get(f"{HTTP}import").status_code == 403
    assert is_untouched()


def test_another_workspace_finds_nothing(published: World, browser_of: Browser) -> None:
    browser = browser_of(published.mallory)
    assert "Version 1" not in browser.get(PAGE).text
    made = HttpTool.objects.get().id
    assert browser.get(f"{HTTP}drafts/{made}/").status_code == 404
    assert browser.get(f"{HTTP}versions/1/").status_code == 404
    for path in [f"drafts/{made}/save", f"drafts/{made}/remove", "versions/1/restore"]:
        assert browser.post(HTTP + path, FORM).status_code == 404
    assert is_untouched()


def test_a_get_changes_nothing(published: World, browser_of: Browser) -> None:
    for path in paths(published):
        assert browser_of(published.sam).get(HTTP + path).status_code == 405
    assert is_untouched()


def test_whatever_the_number_of_drafts_the_section_costs_two_statements(published: World, browser_of: Browser) -> None:
    browser = browser_of(published.sam)
    browser.get(PAGE)
    with CaptureQueriesContext(connection) as few:
        browser.get(PAGE)
    for number in range(20):
        draft(published, f"{URL}/{number}", name=f"tool{number}")
    with CaptureQueriesContext(connection) as many:
        browser.get(PAGE)
    assert len(few) == len(many)


@pytest.mark.django_db(transaction=True)
def test_the_drawer_shows_a_published_tool_and_tests_it_as_a_customer(world: World, browser_of: Browser) -> None:
    with SocketServer(answering(b'{"left": 7}')) as server:
        fields: list[Json] = [parameter("sku", "path")]
        draft(world, base(server) + "/u/{user}/{sku}", parameters=fields, subject={"name": "user", "place": "path"})
        publish(world)
        browser = browser_of(world.sam)
        drawer = browser.get(f"{PAGE}stockLevel/").text
        assert "How many are left." in drawer
        assert "user" not in json.loads(Tool.objects.get(name="stockLevel").input_schema)["properties"]
        given = {"input": '{"sku": "LID", "user": "x"}', "subject": "user_9"}
        answer = browser.post(f"{PAGE}stockLevel/test", given)
        assert answer.status_code == 200
        assert [request.target for request in server.requests] == ["/u/user_9/LID"]
    assert ToolRun.objects.get().raw == '{"left": 7}'
