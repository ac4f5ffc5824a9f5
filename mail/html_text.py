"""A mail's HTML as plain text, with what it quotes apart. Nothing of it is ever shown as HTML. Pure.

Links keep their target visible; pictures, styles and scripts are left out, so that reading a mail calls nobody.
"""

import re
from collections import Counter
from html.parser import HTMLParser
from typing import Final

from mail.quoting import Split

_SILENT: Final = {"head", "style", "script", "title", "template", "noscript", "object", "svg", "math", "select"}
_BLOCKS: Final = {
    "address", "article", "blockquote", "center", "dd", "div", "dl", "dt", "fieldset", "footer", "form", "h1", "h2",
    "h3", "h4", "h5", "h6", "header", "hr", "li", "main", "ol", "p", "pre", "section", "table", "tr", "ul",
}  # fmt: skip
_PARAGRAPHS: Final = {"p", "h1", "h2", "h3", "h4", "h5", "h6", "ul", "ol", "table", "blockquote", "pre"}
_VOID: Final = {"area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "source", "track", "wbr"}
# What mail programs put around a quote, by class and by id.
_QUOTING_CLASSES: Final = frozenset(
    ["gmail_quote", "gmail_extra", "yahoo_quoted", "protonmail_quote", "zmail_extra", "moz-cite-prefix"]
)
_QUOTING_IDS: Final = (
    "divrplyfwdmsg", "appendonsend", "replysplit", "isforwardcontent", "mail-editor-reference-message-container",
)  # fmt: skip
_HIDDEN: Final = re.compile(
    r"display\s*:\s*none|font-size\s*:\s*0(?![.\d])|visibility\s*:\s*hidden|mso-hide\s*:\s*all", re.I
)
_OUTLOOK: Final = re.compile(r"border-top\s*:\s*solid\s+#?(e1e1e1|b5c4df)", re.I)
_DECLARATION: Final = re.compile(r"<[!?][^>]*>")
_LINK: Final = re.compile(r"(https?://|mailto:)", re.I)
# Deeper nesting than any mail that people write.
_DEEPEST: Final = 2_000


def split(html: str) -> Split:
    """The visible text, and apart from it what its markup says is quoted."""
    reader = _Reader()
    reader.feed(_tags_and_text(html) + "<br>")
    reader.close()
    return Split(_tidy(reader.said), _tidy(reader.quoted))


def _tags_and_text(html: str) -> str:
    """The HTML without comments, declarations and the like, on which Python's parser may take for ever."""
    kept, start = [], 0
    while (begins := html.find("<!--", start)) >= 0:
        kept.append(html[start:begins])
        ends = html.find("-->", begins + 4)
        start = ends + 3 if ends >= 0 else len(html)
    # With an end in sight no match has to begin anew.
    return _DECLARATION.sub("", "".join([*kept, html[start:], "<br>"]))


class _Reader(HTMLParser):
    """Writes text into `said`, or into `quoted` within a quoting element, or after one that quotes all the rest.

    Each tag costs the same, however many are open: what is open is counted, not looked for.
    """

    def __init__(self) -> None:
        super().__init__(convert_charrefs=True)
        self.said: list[str] = []
        self.quoted: list[str] = []
        self._open: list[tuple[str, str]] = []  # tag, and what it is: "", "silent", "quote"
        self._counted: Counter[str] = Counter()  # of both
        self._rest_is_quoted = False
        self._link: tuple[str, int] | None = None  # its target, and where its label begins

    @property
    def _out(self) -> list[str]:
        return self.quoted if self._rest_is_quoted or self._counted["quote"] else self.said

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = {name: value or "" for name, value in attrs}
        if tag == "br":
            self._out.append("\n")
        if tag in _VOID:
            return
        role = self._role(tag, given)
        if len(self._open) < _DEEPEST:
            self._open.append((tag, role))
            self._counted.update((tag, role))
        if tag in _BLOCKS:
            self._out.append("\n\n" if tag in _PARAGRAPHS else "\n")
        if tag == "li":
            self._out.append("- ")
        if tag in {"td", "th"}:
            self._out.append(" ")
        if tag == "a":
            self._link = given.get("href", "").strip(), len(self._out)

    def handle_endtag(self, tag: str) -> None:
        if tag == "a" and self._link:
            self._print_target(*self._link)
            self._link = None
        if tag in _BLOCKS:
            self._out.append("\n\n" if tag in _PARAGRAPHS else "\n")
        while self._counted[tag]:
            closed, role = self._open.pop()
            self._counted.subtract((closed, role))
            if closed == tag:
                break

    def handle_data(self, data: str) -> None:
        if not self._counted["silent"]:
            self._out.append(data if self._counted["pre"] else re.sub(r"[ \t\r\n\f]+", " ", data))

    def _role(self, tag: str, given: dict[str, str]) -> str:
        style = given.get("style", "")
        if tag in _SILENT or "hidden" in given or _HIDDEN.search(style):
            return "silent"
        classes = set(given.get("class", "").lower().split())
        is_cited = tag == "blockquote" and (given.get("type", "").lower() == "cite" or "cite" in given)
        if is_cited or classes & _QUOTING_CLASSES:
            return "quote"
        name = given.get("id", "").lower().removeprefix("x_")
        if name.startswith(_QUOTING_IDS) or _OUTLOOK.search(style):
            self._rest_is_quoted = True
        return ""

    def _print_target(self, href: str, start: int) -> None:
        label = "".join(self._out[start:]).strip()
        target = href.removeprefix("mailto:")
        if _LINK.match(href) and label.rstrip("/") not in {href.rstrip("/"), target} and not self._counted["silent"]:
            self._out.append(f" ({target})")


def _tidy(parts: list[str]) -> str:
    text = "".join(parts).replace("\xa0", " ").replace("\u200b", "").replace("\ufeff", "")
    lines = "\n".join(re.sub(r"[ \t]+", " ", line).strip() for line in text.split("\n"))
    return re.sub(r"\n{3,}", "\n\n", lines).strip()
