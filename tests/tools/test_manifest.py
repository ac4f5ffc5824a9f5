"""Manifests as endpoints serve them: what one tool does wrong costs that tool alone, and says so."""

import json

import pytest

from tools import manifest
from tools.manifest import ManifestError, RefusedTool

REFUND: dict[str, object] = {
    "name": "refundOrder",
    "label": "Refund order",
    "description": "Refund an order in full.",
    "risk": "high",
    "input": {"type": "object", "properties": {"orderNumber": {"type": "string"}}, "required": ["orderNumber"]},
    "sessionStart": False,
    "requires": None,
}
HELLO: dict[str, object] = {"name": "hello", "description": "Say hello."}


def body(*tools: object, **more: object) -> bytes:
    return json.dumps({"version": 1, "sdk": "median-tools/1.0 (python)", "tools": list(tools)} | more).encode()


def with_field(field: object) -> object:
    """A schema with the one field `s`."""
    return {"type": "object", "properties": {"s": field}}


def refused(tool: object) -> RefusedTool:
    """The one refusal of a manifest in which two healthy tools stand around this one."""
    found = manifest.parse(body(HELLO, tool, REFUND))
    assert [each.name for each in found.tools] == ["hello", "refundOrder"]
    (one,) = found.refused
    return one


def test_a_manifest() -> None:
    found = manifest.parse(body(REFUND))
    assert (found.version, found.sdk, found.refused) == (1, "median-tools/1.0 (python)", [])
    (tool,) = found.tools
    assert (tool.name, tool.label, tool.description, tool.risk) == (
        "refundOrder",
        "Refund order",
        "Refund an order in full.",
        "high",
    )
    assert json.loads(tool.input_schema) == REFUND["input"]
    assert (tool.session_start, tool.requires, tool.extra) == (False, None, {})


def test_what_a_tool_may_leave_out() -> None:
    (tool,) = manifest.parse(body(HELLO)).tools
    assert (tool.label, tool.risk, tool.session_start, tool.requires) == ("Hello", "low", False, None)
    assert tool.input_schema == '{"type":"object"}'


def test_unknown_fields_are_kept() -> None:
    (tool,) = manifest.parse(body(HELLO | {"icon": {"name": "wave\0"}, "weight": 1.5}, servedBy="shop-7")).tools
    assert tool.extra == {"icon": {"name": "wave\u2400"}, "weight": 1.5}


def test_a_byte_order_mark_is_skipped() -> None:
    assert len(manifest.parse(b"\xef\xbb\xbf" + body(HELLO)).tools) == 1


@pytest.mark.parametrize(
    ("served", "code", "path"),
    [
        (b"", "not_json", ""),
        (b"<html>", "not_json", ""),
        (body(HELLO)[:-1], "not_json", ""),
        (body(HELLO).decode().encode("utf-16"), "not_json", ""),
        (b'{"version":1,"tools":[],"x":NaN}', "not_json", "/x"),
        (b"[]", "invalid_manifest", ""),
        (b'{"tools":[]}', "invalid_manifest", "/version"),
        (body(version=2), "invalid_manifest", "/version"),
        (body(version=True), "invalid_manifest", "/version"),
        (body(version="1"), "invalid_manifest", "/version"),
        (b'{"version":1}', "invalid_manifest", "/tools"),
        (b'{"version":1,"tools":{"refundOrder":{},"refundOrder":{}}}', "invalid_manifest", "/tools"),
        (b'{"version":1,"tools":[],"tools":[]}', "invalid_manifest", "/tools"),
        (body(*[HELLO | {"name": f"tool{at}"} for at in range(101)]), "too_many_tools", "/tools"),
        (body(HELLO, padding="x" * 1_000_000), "too_large", ""),
    ],
)
def test_manifests_of_which_nothing_can_be_used(served: bytes, code: str, path: str) -> None:
    with pytest.raises(ManifestError) as error:
        manifest.parse(served)
    assert (error.value.code, error.value.path) == (code, path)
    assert error.value.message.startswith(f"{path}: " if path else "")


def test_a_hundred_tools_are_allowed() -> None:
    assert len(manifest.parse(body(*[HELLO | {"name": f"tool{at}"} for at in range(100)])).tools) == 100


@pytest.mark.parametrize(
    ("change", "path"),
    [
        ({"name": None}, "/name"),
        ({"name": "9lives"}, "/name"),
        ({"name": "refund order"}, "/name"),
        ({"name": "x" * 65}, "/name"),
        ({"name": "refund\n"}, "/name"),
        ({"name": "rückgabe"}, "/name"),
        ({"label": ""}, "/label"),
        ({"label": "   "}, "/label"),
        ({"label": "x" * 81}, "/label"),
        ({"label": "\u200b\u2060"}, "/label"),
        ({"label": 7}, "/label"),
        ({"description": ""}, "/description"),
        ({"description": None}, "/description"),
        ({"description": "x" * 2_001}, "/description"),
        ({"risk": "none"}, "/risk"),
        ({"risk": None}, "/risk"),
        ({"risk": ["high"]}, "/risk"),
        ({"requires": 1}, "/requires"),
        ({"requires": "x" * 101}, "/requires"),
        ({"sessionStart": "yes"}, "/sessionStart"),
        ({"sessionStart": True, "input": REFUND["input"]}, "/sessionStart"),
        ({"input": "{}"}, "/input"),
        ({"input": {"type": "string"}}, "/input"),
        ({"input": {"anyOf": [{"type": "object"}, {"type": "object"}]}}, "/input"),
        ({"input": with_field({"$ref": "#/$defs/Gone"})}, "/input/properties/s/$ref"),
        ({"input": with_field({"$ref": "http://169.254.169.254/"})}, "/input/properties/s/$ref"),
        ({"input": with_field({"$ref": "file:///etc/hostname"})}, "/input/properties/s/$ref"),
        ({"input": with_field({"pattern": "(?=a)"})}, "/input/properties/s/pattern"),
        ({"input": with_field({"type": "text"})}, "/input/properties/s/type"),
    ],
)  # fmt: skip
def test_one_invalid_tool_does_not_cost_the_others(change: dict[str, object], path: str) -> None:
    one = refused(HELLO | {"name": "odd"} | change)
    assert (one.path, one.code) == (f"/tools/1{path}", "invalid_tool")
    assert one.name == (str(change["name"])[:80] if isinstance(change.get("name"), str) else one.name)
    assert one.reason.endswith(".")


def test_a_tool_that_is_no_object_has_no_name() -> None:
    assert refused("refundOrder") == RefusedTool("", "/tools/1", "A tool must be an object.")


def test_the_reason_of_an_unresolved_reference_names_it() -> None:
    one = refused(HELLO | {"name": "odd", "input": with_field({"$ref": "#/$defs/Gone"})})
    assert (one.name, one.reason) == ("odd", "#/$defs/Gone is not in the schema.")


def test_a_session_start_tool_may_have_optional_input() -> None:
    schema = {"type": "object", "properties": {"days": {"type": "integer"}}}
    (tool,) = manifest.parse(body(HELLO | {"sessionStart": True, "input": schema})).tools
    assert tool.session_start


def test_a_name_twice_refuses_every_tool_of_that_name() -> None:
    found = manifest.parse(body(REFUND, HELLO, REFUND | {"risk": "low"}))
    assert [tool.name for tool in found.tools] == ["hello"]
    assert [(one.name, one.path, one.code) for one in found.refused] == [
        ("refundOrder", "/tools/0/name", "duplicate_tool"),
        ("refundOrder", "/tools/2/name", "duplicate_tool"),
    ]


def test_names_that_differ_in_case_are_two_names() -> None:
    assert len(manifest.parse(body(REFUND, REFUND | {"name": "REFUNDORDER"})).tools) == 2


def test_a_key_twice_in_a_tool_refuses_that_tool() -> None:
    served = b'{"version":1,"tools":[{"name":"hello","description":"x"},{"name":"refundOrder","description":"x",' \
             b'"risk":"high","risk":"low"}]}'  # fmt: skip
    found = manifest.parse(served)
    assert [tool.name for tool in found.tools] == ["hello"]
    assert found.refused == [RefusedTool("refundOrder", "/tools/1/risk", "The key stands twice.", "duplicate_tool")]


def test_nul_in_a_text_is_made_visible() -> None:
    (tool,) = manifest.parse(body(HELLO | {"description": "a\0b\ud800", "label": "Hel\0lo"})).tools
    assert (tool.description, tool.label) == ("a\u2400b\ufffd", "Hel\u2400lo")


def test_what_would_trick_a_reader_is_written_out() -> None:
    served = HELLO | {"label": "Say \u202eolleh", "description": "Wave \U0001f44b\ufe0f\nat them.\U000e0041\x1b"}
    (tool,) = manifest.parse(body(served)).tools
    assert (tool.label, tool.description) == ("Say ⟦U+202E⟧olleh", "Wave \U0001f44b\ufe0f\nat them.⟦U+E0041⟧⟦U+001B⟧")


@pytest.mark.parametrize(
    "change",
    [{"label": "Refund"}, {"description": "Other."}, {"risk": "low"}, {"input": None}, {"requires": "pro"}, {"new": 1}],
)
def test_the_content_hash_changes_with_the_content(change: dict[str, object]) -> None:
    (before,) = manifest.parse(body(REFUND)).tools
    (after,) = manifest.parse(body(REFUND | change)).tools
    assert before.content_hash != after.content_hash
    assert len(before.content_hash) == 64


def test_the_content_hash_does_not_depend_on_the_order_of_keys() -> None:
    (before,) = manifest.parse(body(REFUND)).tools
    (after,) = manifest.parse(body(dict(reversed(REFUND.items())))).tools
    assert before.content_hash == after.content_hash


@pytest.mark.parametrize(
    ("name", "label"),
    [
        ("refundOrder", "Refund order"),
        ("refund_order", "Refund order"),
        ("refund-order", "Refund order"),
        ("RefundOrder", "Refund order"),
        ("getOrderID", "Get order ID"),
        ("getPDFInvoice", "Get PDF invoice"),
        ("v2Refund", "V2 refund"),
        ("x", "X"),
        ("SMS", "SMS"),
        ("a__b", "A b"),
    ],
)
def test_labels_from_names(name: str, label: str) -> None:
    assert manifest.label_from_name(name) == label
