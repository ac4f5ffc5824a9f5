"""Fences around text from outside in what a model reads: no part can close itself or open another. Pure."""

import secrets
from collections.abc import Iterable


def word(texts: Iterable[str] = ()) -> str:
    """A word that stands in none of the texts, and that nobody who wrote them could know."""
    written = "\n".join(texts)
    made = secrets.token_hex(12)
    while made in written:
        made = secrets.token_hex(12)
    return made


def part(text: str, *, title: str, word: str) -> str:
    """The text between a line that starts with the word in brackets, and one that ends it."""
    return f"[{word} {title}]\n{text}\n[/{word}]"
