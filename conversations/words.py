"""What search indexes hold, as the expressions that both the indexes and the queries are made of. Change them only
together with a migration that builds the indexes anew."""

from typing import Final

from django.contrib.postgres.search import SearchVectorField
from django.db.models import Func, TextField

# Read as gaps, so that ORD-1042 holds the word 1042 (PostgreSQL would read the number -1042) and an address its parts.
_GAPS: Final = r"-_./\@#:,;|+=&*~^<>()[]{}"


class Words(Func):
    """The words of a text, as they stand: no stemming, for nobody knows the language."""

    template = f"to_tsvector('simple'::regconfig, translate(%(expressions)s, '{_GAPS}', '{' ' * len(_GAPS)}'))"
    arity = 1
    output_field = SearchVectorField()


class Names(Func):
    """A customer's name, email and subject in one small-letter text; each begins after a space."""

    template = "lower(' ' || %(expressions)s)"
    arg_joiner = " || ' ' || "
    arity = 3
    output_field = TextField()
