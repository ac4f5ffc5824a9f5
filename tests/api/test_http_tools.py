"""HTTP tools through the API: a draft is made, changed, read and removed."""

from tests.api.conftest import Program
from tests.world import World
from tools.models import HttpTool

DRAFT = {
    "name": "stockLevel",
    "label": "Stock level",
    "description": "How many are left.",
    "risk": "low",
    "method": "GET",
    "url": "http://127.0.0.1:9/stock",
}


def test_a_draft_is_made_changed_and_removed(world: World, program: Program) -> None:
    made = program.post("/http-tools", DRAFT)
    assert made.status_code == 201, made.content
    path = f"/http-tools/{made.json()['id']}"

    changed = program.patch(path, {"description": "How many are left in the shop."})
    assert changed.status_code == 200, changed.content
    assert program.get(path).json() == changed.json()
    assert HttpTool.objects.get().definition.count("How many are left in the shop.") == 1

    assert program.delete(path).status_code == 204
    assert program.get(path).status_code == 404
