"""The house's rules, read from the source: imports run one way, and each door has one module behind it."""

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent

# Top to bottom: a module imports only from rows below its own, or from its own package.
ROWS = [
    ["median_site.settings", "median_site.urls", "median_site.asgi", "median_site.schedules", "median_site.management"],
    ["median_site.demo"],
    ["median_site.preview"],
    ["median_site.mcp"],
    ["median_site.dashboard", "median_site.api", "conversations.channels", "median_site.shell",
     "median_site.shell_urls", "median_site.jobs",
     "median_site.serve"],
    ["agent"],
    ["notifications"],
    ["approvals"],
    ["webhooks", "mail", "discord"],
    ["tools"],
    ["conversations"],
    ["team"],
    ["median_site.lib"],
]  # fmt: skip
APPS = [
    "median_site", "agent", "notifications", "approvals", "webhooks", "mail", "discord", "tools", "conversations",
    "team",
]  # fmt: skip
LIMITS = {"models.py": 400}
FORBIDDEN_NAMES = {"utils.py", "helpers.py", "services.py", "managers.py", "common.py", "misc.py"}


def sources() -> Iterator[Path]:
    for app in APPS:
        yield from (path for path in sorted((ROOT / app).rglob("*.py")) if "migrations" not in path.parts)


def module_of(path: Path) -> str:
    parts = path.relative_to(ROOT).with_suffix("").parts
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


def row_of(module: str) -> int | None:
    """The row of the longest package the module is in: channels are doors, although they lie in `conversations`."""
    found = [
        (len(package), number)
        for number, row in enumerate(ROWS)
        for package in row
        if module == package or module.startswith(package + ".")
    ]
    return max(found)[1] if found else None


def imports(tree: ast.AST) -> Iterator[tuple[int, str]]:
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from ((node.lineno, alias.name) for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield from ((node.lineno, f"{node.module}.{alias.name}") for alias in node.names)


@pytest.mark.parametrize("path", list(sources()), ids=lambda path: str(path.relative_to(ROOT)))
def test_a_module_keeps_the_rules(path: Path) -> None:
    tree = ast.parse(path.read_text())
    module = module_of(path)
    own_row = row_of(module)
    faults = []
    for line, name in imports(tree):
        row = row_of(name)
        if row is not None and own_row is not None and row < own_row:
            faults.append(f"line {line}: {module} imports {name}, which is above it")
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            inner = [child for child in ast.walk(node) if isinstance(child, ast.Import | ast.ImportFrom)]
            faults += [f"line {child.lineno}: an import inside {node.name}" for child in inner]
            if (node.end_lineno or 0) - node.lineno + 1 > 40:
                faults.append(f"line {node.lineno}: {node.name} has more than 40 lines")
    if len(path.read_text().splitlines()) > LIMITS.get(path.name, 300):
        faults.append("the file is too long")
    if path.name in FORBIDDEN_NAMES:
        faults.append("the file's name does not say what is in it")
    assert not faults, "\n".join(faults)


def _uses(tree: ast.AST, attribute: str) -> bool:
    return any(isinstance(node, ast.Attribute) and node.attr == attribute for node in ast.walk(tree))


def _imports(tree: ast.AST, *names: str) -> bool:
    return any(name.split(".")[0] in names or name in names for _, name in imports(tree))


def _moves_state(tree: ast.AST, model: str) -> bool:
    """Whether the code sets `state` on rows of this model: by update(state=…) or create(state=…)."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Call) and any(word.arg == "state" for word in node.keywords):
            spelled = ast.unparse(node.func)
            if model in spelled and spelled.rsplit(".", 1)[-1] in {"update", "create", model}:
                return True
    return False


DOORS = {
    "state of a ToolApproval": (lambda tree: _moves_state(tree, "ToolApproval"), {"approvals/decisions.py"}),
    "state of a ToolRun": (lambda tree: _moves_state(tree, "ToolRun"), {"tools/runs.py"}),
    "a signature": (
        lambda tree: _imports(tree, "jwt", "hmac"),
        {"tools/signing.py", "tools/session_tokens.py", "approvals/alerts/genuine.py", "median_site/demo/seed.py"},
    ),
    "outbound tool traffic": (
        lambda tree: _imports(tree, "httpx", "httpcore"),
        {
            "tools/client.py",
            "tools/addresses.py",
            "tools/goaway.py",
            "tools/origins.py",
            "agent/models/openai.py",
            "agent/models/connections.py",
        },
    ),
    "a decoded picture": (lambda tree: _imports(tree, "PIL"), {"conversations/pictures.py"}),
    "the time": (
        lambda tree: _uses(tree, "utcnow") or _imports(tree, "django.utils.timezone") or _calls_now(tree),
        {"median_site/lib/clock.py"},
    ),
    "a row of the log": (lambda tree: "Event.objects.create" in ast.unparse(tree), {"team/events.py"}),
}


def _calls_now(tree: ast.AST) -> bool:
    spelled = {ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)}
    return bool(spelled & {"datetime.now", "datetime.datetime.now", "timezone.now", "time.time"})


@pytest.mark.parametrize("door", DOORS)
def test_a_door_has_one_module_behind_it(door: str) -> None:
    opens, allowed = DOORS[door]
    found = {str(path.relative_to(ROOT)) for path in sources() if opens(ast.parse(path.read_text()))}
    assert found <= allowed
