"""JSON as Median reads and writes it: no NaN, bounded depth, and every digit of a number leaves as it came."""

import json
import math
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from json.encoder import encode_basestring
from typing import Final, TypeAlias

Json: TypeAlias = "None | bool | int | float | str | list[Json] | dict[str, Json]"
Step: TypeAlias = str | int

MAX_DEPTH: Final = 64
MAX_DIGITS: Final = 4_300  # Python's own limit for integers; well within a numeric of PostgreSQL

_SURROGATE: Final = re.compile("[\ud800-\udfff]")
_UNSTORABLE: Final = re.compile("[\0\ud800-\udfff]")
# In written JSON: what may be a number with a point or an exponent, or none at all. It may also be part of a text.
_FRACTION: Final = re.compile(r"[\[,:]-?(?:\d+[.e]|NaN|Infinity)")
_ENCODERS: Final = {
    sort_keys: json.JSONEncoder(
        ensure_ascii=False, separators=(",", ":"), sort_keys=sort_keys, check_circular=False
    ).encode
    for sort_keys in (False, True)
}


class JsonError(ValueError):
    """Text that is not JSON, or a value that cannot become JSON. `path` is a JSON pointer, "" for the whole."""

    def __init__(self, message: str, path: str = "") -> None:
        super().__init__(f"{message} (at {path})" if path else message)
        self.message = message
        self.path = path


class Fraction(float):
    """A parsed number with a point or an exponent. It counts as a float and is written as it came: 20.00 stays so."""

    def __new__(cls, text: str | float) -> "Fraction":
        made = super().__new__(cls, text)
        made.text = str(text)
        return made

    text: str

    def __repr__(self) -> str:
        return self.text

    __str__ = __repr__


class _Object(dict[str, Json]):
    """A parsed object in which keys stood twice, and which ones."""

    twice: Sequence[str] = ()


def loads(text: str | bytes) -> Json:
    """Parse JSON; of a key that stands twice the last wins. Bytes are UTF-8; a byte order mark is skipped."""
    return _read(text, noting=False)[0]


def loads_unique(text: str | bytes) -> Json:
    """Parse JSON in which no key may stand twice in one object."""
    value, repeats = loads_noting_repeats(text)
    if repeats:
        raise JsonError(f'The key "{visible(repeats[0].rsplit("/", 1)[1])[0]}" stands twice.', repeats[0])
    return value


def loads_noting_repeats(text: str | bytes) -> tuple[Json, list[str]]:
    """Parse JSON; also give the pointers of all keys that stand twice in one object."""
    return _read(text, noting=True)


def dumps(value: Json, *, sort_keys: bool = False) -> str:
    """Compact JSON, keys in their order, characters beyond ASCII as they are. Refuses NaN and lone surrogates."""
    try:
        text = _ENCODERS[sort_keys](value)
        # It writes a Fraction as any float, but everything else ten times as fast.
        if isinstance(value, float) or _FRACTION.search(text):
            text = _written(value, sort_keys=sort_keys)
    except RecursionError:
        raise JsonError("It is nested too deep to be written as JSON.") from None
    if not text.isascii() and _SURROGATE.search(text):
        raise JsonError("It holds half a character (a lone surrogate).")
    return text


def walk(value: Json) -> Iterator[tuple[tuple[Step, ...], Json]]:
    """Every part of a value with its path, the value itself first. Raises JsonError beyond MAX_DEPTH."""
    stack: list[tuple[tuple[Step, ...], Json]] = [((), value)]
    while stack:
        path, part = stack.pop()
        yield path, part
        if isinstance(part, dict | list) and len(path) >= MAX_DEPTH:
            raise JsonError(f"It is nested deeper than {MAX_DEPTH} levels.", pointer(path[:4]))  # where to look
        if isinstance(part, dict):
            stack += [((*path, key), child) for key, child in reversed(part.items())]
        elif isinstance(part, list):
            stack += [((*path, at), part[at]) for at in reversed(range(len(part)))]


def pointer(path: Sequence[Step]) -> str:
    """A path as a JSON pointer (RFC 6901): ("a/b", 0) is "/a~1b/0"."""
    return "".join("/" + str(step).replace("~", "~0").replace("/", "~1") for step in path)


def has_nul_or_surrogate(value: Json) -> bool:
    """Whether a text or key in it holds what PostgreSQL cannot store."""
    return any(
        isinstance(text, str) and _UNSTORABLE.search(text) is not None
        for path, part in walk(value)
        for text in (part, *path[-1:])
    )


def visible(text: str) -> tuple[str, bool]:
    """The text with NUL as U+2400 and lone surrogates as U+FFFD, and whether that changed it."""
    changed = _UNSTORABLE.sub(lambda found: "\u2400" if found[0] == "\0" else "\ufffd", text)
    return changed, changed != text


def visible_json(value: Json) -> Json:
    """The value with every text and key made visible, so that jsonb takes it."""
    if isinstance(value, str):
        return visible(value)[0]
    if isinstance(value, list):
        return [visible_json(part) for part in value]
    if isinstance(value, dict):
        return {visible(key)[0]: visible_json(part) for key, part in value.items()}
    return value


def _read(text: str | bytes, *, noting: bool) -> tuple[Json, list[str]]:
    if isinstance(text, bytes):
        try:
            text = text.decode()
        except UnicodeDecodeError as error:
            raise JsonError(f"It is not UTF-8 (byte {error.start}).") from None
    hooks = _Hooks()
    try:
        value: Json = json.loads(
            text.removeprefix("\ufeff"), object_pairs_hook=hooks.object if noting else None,
            parse_float=hooks.number, parse_constant=hooks.number,
        )  # fmt: skip
    except json.JSONDecodeError as error:
        raise JsonError(f"{error.msg} (line {error.lineno}, column {error.colno}).") from None
    except RecursionError:
        raise JsonError(f"It is nested deeper than {MAX_DEPTH} levels.") from None
    except ValueError:  # int() refuses more than 4,300 digits
        raise JsonError("A number in it has too many digits.") from None
    return value, _checked(value) if hooks.saw_something or _is_deep(value) else []


class _Hooks:
    """What the parser hands over of one text, and whether any of it has to be looked for with its path."""

    def __init__(self) -> None:
        self.saw_something = False

    def object(self, pairs: list[tuple[str, Json]]) -> dict[str, Json]:
        found = dict(pairs)
        if len(found) == len(pairs):
            return found
        self.saw_something = True
        noted = _Object(pairs)
        noted.twice = [key for key, times in Counter(key for key, _ in pairs).items() if times > 1]
        return noted

    def number(self, text: str) -> float:
        value = _fraction(text)
        self.saw_something |= not math.isfinite(value)
        return value


def _checked(value: Json) -> list[str]:
    """The pointers of the keys that stand twice. Raises JsonError for what is no JSON and for too deep a nesting."""
    repeats: list[str] = []
    for path, part in walk(value):
        if isinstance(part, float) and not math.isfinite(part):
            raise JsonError("Numbers beyond a double, NaN and Infinity are not JSON.", pointer(path))
        if isinstance(part, _Object):
            repeats += [pointer((*path, key)) for key in part.twice]
    return repeats


_HOLDERS: Final = {dict, list, _Object}


def _is_deep(value: Json) -> bool:
    """Whether it may be nested too deep. It keeps no paths and so costs a fraction of a walk."""
    level: list[Json] = [value] if type(value) in _HOLDERS else []
    for _ in range(MAX_DEPTH):
        held = [part if type(part) is list else part.values() for part in level]  # type: ignore[union-attr]  # _HOLDERS
        level = [part for parts in held for part in parts if type(part) in _HOLDERS]
        if not level:
            return False
    return True


def _fraction(text: str) -> float:
    """What a double cannot come near becomes NaN, which the walk over the whole refuses with its place."""
    value = Fraction(text)
    if not value:
        return math.nan if re.match("[-0.]*[1-9]", text) else 0.0  # an exponent alone can ask for a gigabyte of zeros
    return value if len(text) <= MAX_DIGITS else math.nan


def _written(value: Json, *, sort_keys: bool) -> str:
    if isinstance(value, dict):
        pairs = sorted(value.items()) if sort_keys else value.items()
        parts = (f"{_written(key, sort_keys=False)}:{_written(part, sort_keys=sort_keys)}" for key, part in pairs)
        return f"{{{','.join(parts)}}}"
    if isinstance(value, list):
        return f"[{','.join(_written(part, sort_keys=sort_keys) for part in value)}]"
    if isinstance(value, float):
        if not math.isfinite(value):
            raise JsonError("NaN and Infinity are not JSON.")
        return repr(value)
    return encode_basestring(value) if isinstance(value, str) else json.dumps(value)
