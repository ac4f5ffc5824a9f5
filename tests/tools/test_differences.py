"""What a sync changed, as it is kept and as it is said."""

import json
import random
import time

from tools import differences
from tools.differences import Content

OLD = Content("Refund order", "Refund it.", "high", "", "no", '{"type":"object"}', "{}")


def test_fields_from_what_to_what() -> None:
    new = OLD._replace(description="Refund it in full.", requires="premium", risk="low")
    change = differences.change("changed", "refundOrder", old=OLD, new=new)
    assert change == {
        "tool": "refundOrder", "label": "Refund order", "risk": "low", "change": "changed", "off": False,
        "fields": [
            {"field": "description", "old": "Refund it.", "new": "Refund it in full."},
            {"field": "risk", "old": "high", "new": "low"},
            {"field": "requires", "old": "", "new": "premium"},
        ],
    }  # fmt: skip
    assert differences.risk_moved(change) == ("high", "low")
    assert differences.summary([change]) == "1 changed; Refund order is low risk now, was high risk"


def test_a_schema_as_lines() -> None:
    new = OLD._replace(input='{"type":"object","required":["orderNumber"]}')
    (field,) = differences.change("changed", "x", old=OLD, new=new)["fields"]  # type: ignore[misc]
    assert field == {
        "field": "input",
        "lines": ["@@ -1,3 +1,6 @@", " {", '-  "type": "object"', '+  "type": "object",', '+  "required": [',
                  '+    "orderNumber"', "+  ]", " }"],
        "more": 0,
    }  # fmt: skip


def test_all_kinds_on_one_line() -> None:
    kinds = [("added", False), ("added", True), ("back", False), ("gone", False)]
    changes = [differences.change(kind, "x", new=OLD, off=off) for kind, off in kinds]  # type: ignore[arg-type]
    assert differences.summary(changes) == "2 added, 1 back, 1 gone; 1 left switched off"
    assert differences.summary([]) == ""


def test_large_schemas_are_compared_in_bounded_time_and_cut() -> None:
    values = [f"v{number}" for number in range(4_000)]
    shuffled = random.Random(1).sample(values, len(values))  # noqa: S311  (not a secret)
    old, new = (OLD._replace(input=json.dumps({"type": "object", "enum": each})) for each in (values, shuffled))
    began = time.process_time()
    (field,) = differences.change("changed", "x", old=old, new=new)["fields"]  # type: ignore[misc]
    assert time.process_time() - began < 1
    assert len(field["lines"]) == differences.MAX_LINES  # type: ignore[index,arg-type,call-overload]
    assert field["more"] > 7_000  # type: ignore[index,operator,call-overload]
