"""The endpoint mounted in FastAPI, Flask and Django, as the SDK's README says: manifest, call, and a bad signature."""

import asyncio
import json
from collections.abc import Callable

import fastapi
import flask
import httpx
import pytest
from django.test import RequestFactory
from median_tools import Tools, define, p
from werkzeug.middleware.dispatcher import DispatcherMiddleware
from werkzeug.test import Client as WerkzeugClient

from tests.sdk.world import SECRET, call_body, signed

# A method, a path under the mount, the body and the headers in; the status and the JSON out.
Ask = Callable[[str, bytes, dict[str, str]], tuple[int, object]]


@pytest.fixture
def tools() -> Tools:
    made = define(secret=SECRET)

    @made.tool(description="Where an order is.", input={"orderNumber": p.string("The order number.")})
    def orderStatus(input: dict[str, str], context: object) -> dict[str, str]:
        return {"status": "delivered", "order": input["orderNumber"]}

    return made


def in_fastapi(tools: Tools) -> Ask:
    app = fastapi.FastAPI()
    app.mount("/median", tools)

    def ask(method: str, body: bytes, headers: dict[str, str]) -> tuple[int, object]:
        async def send() -> httpx.Response:
            transport = httpx.ASGITransport(app)
            async with httpx.AsyncClient(transport=transport, base_url="http://company.example") as client:
                return await client.request(method, "/median/", content=body, headers=headers)

        answer = asyncio.run(send())
        return answer.status_code, answer.json()

    return ask


def in_flask(tools: Tools) -> Ask:
    app = flask.Flask("company")
    app.wsgi_app = DispatcherMiddleware(app.wsgi_app, {"/median": tools.wsgi})

    def ask(method: str, body: bytes, headers: dict[str, str]) -> tuple[int, object]:
        answer = WerkzeugClient(app).open("/median", method=method, data=body, headers=headers)
        return answer.status_code, json.loads(answer.data)

    return ask


def in_django(tools: Tools) -> Ask:
    def ask(method: str, body: bytes, headers: dict[str, str]) -> tuple[int, object]:
        request = RequestFactory().generic(method, "/median", body, "application/json", headers=headers)
        answer = tools.django_view(request)
        return answer.status_code, json.loads(answer.content)

    return ask


@pytest.mark.parametrize("mount", [in_fastapi, in_flask, in_django])
def test_a_mounted_endpoint_serves_verifies_and_runs(tools: Tools, mount: Callable[[Tools], Ask]) -> None:
    ask = mount(tools)
    status, manifest = ask("GET", b"", signed(b"", call_id="sync_1"))
    assert (status, [tool["name"] for tool in manifest["tools"]]) == (200, ["orderStatus"])

    body = call_body("orderStatus", {"orderNumber": "ORD-1042 ☕"})
    json_headers = {"content-type": "application/json"}
    assert ask("POST", body, signed(body) | json_headers) == (200, {"status": "delivered", "order": "ORD-1042 ☕"})

    changed = body.replace(b"1042", b"1043")
    status, refused = ask("POST", changed, signed(body, call_id="call_2") | json_headers)
    assert (status, refused["error"]["code"]) == (401, "unauthorized")
