"""What a text hides: characters that do not show, that reorder what stands around them, or that look like others.
Pure. It never changes a text, it takes it apart for whoever must see exactly what is in it."""

import re
import unicodedata
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Final, Literal

from median_site.lib.text import clean

Kind = Literal["text", "code", "mark"]

# Letters, marks and symbols by their category, and yet nothing to see: fillers, joiners, selectors, blanks.
_BLANK: Final = frozenset("\u034f\u115f\u1160\u17b4\u17b5\u180b\u180c\u180d\u180f\u2800\u3164\uffa0") | frozenset(
    map(chr, [*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0)])
)
# Control, format, surrogate, private, unassigned; separators of lines and paragraphs; every space but U+0020.
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp", "Zs"})
_CONTROL_NAMES: Final = {0x00: "Null", 0x07: "Bell", 0x08: "Backspace", 0x0B: "Vertical tab", 0x0C: "Form feed",
                         0x0D: "Carriage return", 0x1B: "Escape", 0x7F: "Delete", 0x85: "Next line"}  # fmt: skip
_MARKS: Final = {" ": ("·", "Space"), "\n": ("↵", "Line break"), "\t": ("→", "Tab")}
# Letters of other scripts that pass for Latin ones, in common faces.
_LOOK_ALIKES: Final = {
    "Cyrillic": frozenset("аеорсухіјѕһӏԁԛԝьАВЕКМНОРСТУХІЈЅԌ"),
    "Greek": frozenset("ονικρυαΑΒΕΖΗΙΚΜΝΟΡΤΥΧ"),
    "Armenian": frozenset("օսոհցյզԼՏՍՕ"),
    "Cherokee": frozenset("ᎪᎳᎬᎻᎩᏀᎢᏚᏔᎷᏢᏃ"),
}
_DISGUISES: Final = ("Fullwidth ", "Mathematical ")
# They reorder what stands around them, or carry words that nobody sees: controls, overrides and isolates, tags.
_TRICKS: Final = re.compile("[\x01-\x08\x0b\x0c\x0e-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069\U000e0000-\U000e007f]")
_EDGES: Final = re.compile(r"^ +| +$", re.MULTILINE)
NAMED_AT_MOST: Final = 3


@dataclass(frozen=True, slots=True)
class Piece:
    """A stretch of text as it is, one character written as its code, or a visible mark for a space, tab or break."""

    text: str
    kind: Kind = "text"
    title: str = ""


@dataclass(frozen=True, slots=True)
class Mixture:
    """Letters that pass for others: what is odd about them, and each such letter once."""

    words: str
    letters: str

    @property
    def codes(self) -> tuple[Piece, ...]:
        """The first few of the letters, as codes."""
        return tuple(map(_code, self.letters[:NAMED_AT_MOST]))

    @property
    def more(self) -> int:
        """How many letters `codes` leaves out."""
        return max(len(self.letters) - NAMED_AT_MOST, 0)


def is_hidden(character: str) -> bool:
    """Whatever a reader cannot see, tell from a plain space, or trust the place of; not line breaks and tabs."""
    if character in " \n\t":
        return False
    return character in _BLANK or unicodedata.category(character) in _UNSEEN


def has_hidden(text: str) -> bool:
    return any(map(is_hidden, text))


def pieces(text: str, *, marks: bool = True) -> tuple[Piece, ...]:
    """The text taken apart: hidden characters as codes; line breaks, tabs and the edge spaces of a line as marks.

    Each code and mark replaces its character, except that a line break follows its own mark, so that lines stay.
    Without `marks` breaks, tabs and spaces stay as they are.
    """
    edges = {place for match in _EDGES.finditer(text) for place in range(*match.span())} if marks else set()
    made: list[Piece] = []
    start = 0
    for place, character in enumerate(text):
        special = _mark(character, at_edge=place in edges) if marks and character in _MARKS else None
        if special is None and is_hidden(character):
            special = _code(character)
        if special:
            made += [Piece(text[start:place]), special]
            start = place if character == "\n" else place + 1
    made.append(Piece(text[start:]))
    return tuple(piece for piece in made if piece.text)


def plain(words: str) -> str:
    """A text on one line that can be stored; what does not show is written out."""
    return written(pieces(clean(words)[0]))


def written(read: Iterable[Piece]) -> str:
    """The pieces as one line of text. A line break follows its own mark, which is enough here."""
    return "".join(f"⟦{piece.text}⟧" if piece.kind == "code" else piece.text.replace("\n", "") for piece in read)


def disarmed(text: str) -> str:
    """The text with each character that could trick whoever reads it written out; joiners and selectors stay."""
    return _TRICKS.sub(lambda found: f"⟦{_code(found[0]).text}⟧", text)


def is_blank(text: str) -> bool:
    """Whether there is nothing in it to be seen."""
    return all(character.isspace() or is_hidden(character) for character in text)


def mixture(text: str) -> Mixture | None:
    """What may pass for something else: scripts mixed inside one word, a text whose every letter looks like a Latin
    one, or letters and digits in a disguise (full width, mathematical)."""
    for word in text.split():
        scripts = {script: None for script in map(_script, word) if script}
        foreign = [script for script in scripts if script in _LOOK_ALIKES]
        if "Latin" in scripts and foreign:
            odd = [character for character in word if _script(character) in _LOOK_ALIKES]
            return Mixture(f"mixes {', '.join(foreign)} and Latin", _distinct(odd))
    letters = [character for character in text if character.isalpha()]
    for script, passing in _LOOK_ALIKES.items():
        if letters and all(character in passing for character in letters):
            return Mixture(f"{script} letters that look like Latin", _distinct(letters))
    disguised = [character for character in text if _title(character).startswith(_DISGUISES)]
    return Mixture("characters that look like ordinary ones", _distinct(disguised)) if disguised else None


def escaped(text: str, *, also: str = "") -> str:
    """JSON text with its hidden characters, and those in `also`, as \\u escapes: the same JSON, all to be seen."""

    def escape(character: str) -> str:
        if character not in also and not is_hidden(character):
            return character
        units = character.encode("utf-16-be", "surrogatepass")
        return "".join(f"\\u{units[at]:02x}{units[at + 1]:02x}" for at in range(0, len(units), 2))

    return "".join(map(escape, text))


def _mark(character: str, *, at_edge: bool) -> Piece | None:
    if character == " " and not at_edge:
        return None
    sign, title = _MARKS[character]
    return Piece(sign, "mark", title)


def _code(character: str) -> Piece:
    return Piece(f"U+{ord(character):04X}", "code", _title(character))


def _distinct(characters: list[str]) -> str:
    return "".join(dict.fromkeys(characters))


def _title(character: str) -> str:
    name = unicodedata.name(character, "")
    return name.capitalize() if name else _CONTROL_NAMES.get(ord(character), "Character without a name")


def _script(character: str) -> str:
    """The script of a letter, by its Unicode name; empty for whatever is not a letter."""
    return unicodedata.name(character, "").split(" ")[0].capitalize() if character.isalpha() else ""
