"""Characters that a reader cannot see, or takes for others. Standard library alone."""

import unicodedata

# Letters and marks by their category, and yet nothing to see: fillers, joiners, selectors, blanks.
_BLANK = set("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0")
_BLANK |= set(map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)]))
_LIKE_LATIN = {"CYRILLIC", "GREEK", "ARMENIAN", "CHEROKEE"}


def is_hidden(char: str) -> bool:
    """Whether it does not show, or moves what stands around it; every space but the plain one, line breaks too."""
    return not char.isprintable() or char in _BLANK


def mixed(text: str) -> str:
    """The letters of other scripts that stand in one word with Latin ones, each once; usually none."""
    found: dict[str, None] = {}
    for word in text.split():
        scripts = {char: unicodedata.name(char, "").partition(" ")[0] for char in word if char.isalpha()}
        if "LATIN" in scripts.values():
            found |= {char: None for char, script in scripts.items() if script in _LIKE_LATIN}
    return "".join(found)
