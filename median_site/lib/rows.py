"""Rows of models for SQL written by hand, where the ORM's way there costs more than the statement."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import TypeVar

from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.models import Model

from median_site.lib.statement import Value, fetch

M = TypeVar("M", bound=Model)
Converter = Callable[[object, None, BaseDatabaseWrapper], object]


@lru_cache(maxsize=64)
def names(model: type[Model]) -> tuple[str, ...]:
    """The columns of a model, in the order of `load`."""
    return tuple(field.column for field in model._meta.concrete_fields)


def columns(model: type[Model], *, of: str) -> str:
    """Them all, for a SELECT from a table or part of that name."""
    return ", ".join(f"{of}.{name}" for name in names(model))


def read(model: type[M], sql: str, *values: Value) -> list[M]:
    """The rows of a statement that selects a model's columns."""
    return [load(model, each) for each in fetch(sql, *values)]


def load(model: type[M], values: Sequence[object]) -> M:
    """The row with these values of its columns."""
    attributes, converters = _fields(model)
    given = list(values)
    for place, convert in converters:
        given[place] = convert(given[place], None, connection)
    return model.from_db("default", attributes, given)


def load_all(models: Sequence[type[Model]], values: Sequence[object]) -> list[Model | None]:
    """Rows that stand side by side, as an outer join gives them: None for one that is not there."""
    found: list[Model | None] = []
    at = 0
    for model in models:
        own = values[at : at + len(names(model))]
        at += len(own)
        found.append(load(model, own) if any(value is not None for value in own) else None)
    return found


@lru_cache(maxsize=64)
def _fields(model: type[Model]) -> tuple[tuple[str, ...], tuple[tuple[int, Converter], ...]]:
    """The attributes, and by their places the few that come as something else than what the row holds, such as JSON."""
    fields = model._meta.concrete_fields
    converters = ((place, field.from_db_value) for place, field in enumerate(fields) if hasattr(field, "from_db_value"))
    return tuple(field.attname for field in fields), tuple(converters)
