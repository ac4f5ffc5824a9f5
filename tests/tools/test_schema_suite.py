"""The public test suite of JSON Schema: each of its schemas is accepted, and then means what the suite says, or refused
with its place."""

import hashlib
import json
import subprocess
import tarfile
from typing import Any

import pytest

from median_site.lib import strict_json
from median_site.lib.strict_json import Json
from runtime import environment
from runtime.project import Project
from tools import manifest, schema
from tools.schema import Compiled, SchemaError

PROJECT = Project.here()
DRAFT = "json/tests/draft2020-12/"
ONLY_NOTED = "format.json"  # where formats refuse nothing; here they do, as optional/format has it


@pytest.fixture(scope="module")
def suite() -> dict[str, list[dict[str, Any]]]:
    """Its files by their paths: groups of a schema and tests. They come with the packages and are never unpacked."""
    name, checksum = (PROJECT.root / environment.SUITE).read_text().split("\n")[1].split(" --hash=sha256:")
    packed = PROJECT.var / "suite" / f"{name.replace('==', '-')}.tar.gz"
    if not packed.exists() or hashlib.sha256(packed.read_bytes()).hexdigest() != checksum:
        subprocess.run(environment.fetching_suite(PROJECT), check=True)
    with tarfile.open(packed) as files:
        held = {member.name.partition("/")[2]: files.extractfile(member) for member in files if member.isfile()}
        return {path: json.load(file) for path, file in held.items() if file and path.startswith("json/tests/")}


def of_field(given: Json) -> dict[str, Json]:
    """A tool's schema with one field; what the field's schema refers to in itself moves along."""

    def moved(part: Json, key: str = "") -> Json:
        if isinstance(part, dict) and key not in {"const", "enum"}:
            return {name: moved(held, name) for name, held in part.items() if name != "$schema"}
        if isinstance(part, list) and key not in {"const", "enum"}:
            return [moved(held) for held in part]
        inside = key == "$ref" and isinstance(part, str) and (part == "#" or part.startswith("#/"))
        return f"#/$defs/Field{str(part)[1:]}" if inside else part

    return {"type": "object", "properties": {"field": {"$ref": "#/$defs/Field"}}, "$defs": {"Field": moved(given)}}


def is_right(compiled: Compiled, test: dict[str, Any]) -> bool:
    """Whether the suite's verdict is given. That undeclared keys are refused is this product's own rule."""
    errors = schema.check_input(compiled, strict_json.loads(json.dumps({"field": test["data"]})))
    if test["valid"]:
        return all(error.message.endswith(" is not a field of this tool.") for error in errors)
    return bool(errors)


def test_an_accepted_schema_means_what_the_suite_says(suite: dict[str, list[dict[str, Any]]]) -> None:
    accepted, verdicts, wrong, refused = 0, 0, [], []
    for path, groups in suite.items():
        if not path.startswith(DRAFT) or path == DRAFT + ONLY_NOTED:
            continue
        for group in groups:
            try:
                compiled = schema.compile_schema(of_field(group["schema"]))
            except SchemaError as error:
                refused.append(error.path)
                continue
            accepted += 1
            verdicts += len(group["tests"])
            wrong += [(path, group, test) for test in group["tests"] if not is_right(compiled, test)]
    assert wrong == []
    assert all(refused)
    assert (accepted, len(refused), verdicts) == (343, 76, 1605)


def test_a_schema_of_any_draft_syncs_or_is_refused_with_its_place(suite: dict[str, list[dict[str, Any]]]) -> None:
    given = [group["schema"] for groups in suite.values() for group in groups]
    wanted = [whole for each in given for whole in (each, {"type": "object", "properties": {"field": each}})]
    for at in range(0, len(wanted), manifest.MAX_TOOLS):
        served = [
            {"name": f"tool{number}", "description": "x", "input": each}
            for number, each in enumerate(wanted[at : at + manifest.MAX_TOOLS])
        ]
        read = manifest.parse(json.dumps({"version": 1, "tools": served}).encode())
        assert len(read.tools) + len(read.refused) == len(served)
        assert all(tool.reason and "/input" in tool.path for tool in read.refused)
