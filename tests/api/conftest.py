"""A company's program: a client with an API key."""

import json
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from django.http import HttpResponse
from django.test import Client

from team import api_keys
from tests.world import World


@dataclass(frozen=True)
class Program:
    """Speaks JSON to /v1 with a key."""

    key: str

    def get(self, path: str, **headers: str) -> HttpResponse:
        return Client(headers={"Authorization": f"Bearer {self.key}", **headers}).get(f"/v1{path}")

    def post(self, path: str, body: object = None, **headers: str) -> HttpResponse:
        text = "" if body is None else json.dumps(body)
        client = Client(headers={"Authorization": f"Bearer {self.key}", **headers})
        return client.post(f"/v1{path}", text, content_type="application/json")

    def patch(self, path: str, body: object) -> HttpResponse:
        client = Client(headers={"Authorization": f"Bearer {self.key}"})
        return client.patch(f"/v1{path}", json.dumps(body), content_type="application/json")

    def delete(self, path: str) -> HttpResponse:
        return Client(headers={"Authorization": f"Bearer {self.key}"}).delete(f"/v1{path}")


@pytest.fixture
def program_with(world: World) -> Callable[..., Program]:
    """A program whose key has these scopes, in Fernhill unless told otherwise."""

    def make(*scopes: str, elsewhere: bool = False) -> Program:
        workspace = world.elsewhere if elsewhere else world.fernhill
        return Program(api_keys.create(workspace, name="Backoffice", scopes=scopes)[1])

    return make


@pytest.fixture
def program(program_with: Callable[..., Program]) -> Program:
    """A program that may do everything."""
    return program_with(*api_keys.SCOPES)
