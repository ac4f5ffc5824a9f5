"""Text from outside: made storable, shortened, and turned into safe HTML. Every message, whoever wrote it, is rendered
by the one function `markdown`; there is no second way from text to HTML."""

import re
from collections.abc import Iterable, Sequence
from functools import lru_cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.rules_inline import StateInline
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

MARKDOWN_LIMIT: Final = 20_000

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_SAFE_LINK: Final = re.compile(r"(https?://|mailto:)", re.IGNORECASE)
_TAGS: Final = {
    "a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "small", "strong",
    "span", "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def clean(text: str) -> tuple[str, bool]:
    """Text that PostgreSQL can store, and whether something in it had to be replaced.

    NUL becomes U+2400, a lone surrogate U+FFFD. CRLF becomes LF too, which is not worth a flag.
    """
    storable = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text.replace("\0", "\N{SYMBOL FOR NULL}"))
    return storable.replace("\r\n", "\n"), storable != text


def is_blank(text: str) -> bool:
    """Whether nothing in it shows: white space, and characters without a width or a shape."""
    return not any(each.isprintable() and not each.isspace() for each in text)


def excerpt(text: str, limit: int) -> str:
    """The text on one line, of at most `limit` characters; an ellipsis stands for what was cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


def sentence(text: str) -> str:
    """Words of ours as a sentence: "the API" begins as "The API", while a name that is written small stays as it is."""
    return f"T{text[1:]}" if text.startswith("the ") else text


def markdown(text: str, people: Iterable[Sequence[str]] = ()) -> Markup:
    """Safe HTML of a message written in Markdown or in plain text; line breaks are kept, HTML is shown as text.

    Links go to http, https and mailto only and print their target; pictures become links, so that looking at a message
    never calls another host; headings become bold lines, so that a message never changes the outline of a page. Only
    the first 20,000 characters are read as Markdown: what follows is appended as plain text, nothing is lost.

    `people` are the id and the name of each who is mentioned: "@" and the name is shown as such.
    """
    return _markdown(text, tuple((id, name) for id, name in people))


def mentioned(text: str, people: Iterable[Sequence[str]]) -> list[list[str]]:
    """Those of the people, ids and names, whom `markdown` would show as mentioned, each once and in their order."""
    known = [(id, name) for id, name in people]
    env: EnvType = {"people": known, "mentioned": set()}
    _parser.parse(clean(text)[0][:MARKDOWN_LIMIT], env)
    return [[id, name] for id, name in known if name in env["mentioned"]]


@lru_cache(maxsize=512)
def _markdown(text: str, people: tuple[tuple[str, str], ...]) -> Markup:
    text, _ = clean(text)
    end = len(text)
    if end > MARKDOWN_LIMIT:
        end = text.rfind("\n", 0, MARKDOWN_LIMIT) + 1 or MARKDOWN_LIMIT
    html = Markup(_cleaner.clean(_parser.render(text[:end], {"people": people, "mentioned": set()})))  # noqa: S704  # nh3 let only safe tags through
    if rest := text[end:]:
        html += Markup("<p>{}</p>\n").format(escape(rest).replace("\n", Markup("<br>\n")))
    return html


def _mention(state: StateInline, silent: bool) -> bool:
    """An @ and the whole name of somebody who is known, the longest that fits; not within a word, as in an address."""
    at, src = state.pos, state.src
    if src[at] != "@" or not state.env.get("people") or src[at - 1 : at].isalnum():
        return False
    names = {name for _, name in state.env["people"] if name and src.startswith(name, at + 1)}
    name = max((name for name in names if not src[at + 1 + len(name) :][:1].isalnum()), key=len, default="")
    if not name:
        return False
    if not silent:
        state.push("mention", "", 0).content = name
        state.env["mentioned"].add(name)
    state.pos += 1 + len(name)
    return True


class _Renderer(RendererHTML):
    """Differs from the stock renderer in links, headings and mentions."""

    def mention(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        name = tokens[idx].content
        ids = " ".join(id for id, known in env["people"] if known == name)
        return f'<span class="mention" data-mentions="{escape(ids)}">@{escape(name)}</span>'

    def link_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        env["target"] = str(tokens[idx].attrs["href"])
        return f'<a href="{escape(env["target"])}">'

    def link_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        target = env.pop("target")  # links do not nest
        if tokens[idx - 1].content in (target, target.removeprefix("mailto:")):
            return "</a>"
        return f"</a> <small>({escape(target)})</small>"

    def heading_open(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "<p><strong>"

    def heading_close(self, tokens: Sequence[Token], idx: int, options: OptionsDict, env: EnvType) -> str:
        return "</strong></p>\n"


def _is_safe_link(url: str) -> bool:
    return _SAFE_LINK.match(url) is not None


def _new_parser() -> MarkdownIt:
    parser = MarkdownIt("commonmark", {"html": False, "breaks": True}, renderer_cls=_Renderer)
    parser.enable(["table", "strikethrough"])
    parser.inline.ruler.before("link", "mention", _mention)
    parser.disable("image")  # leaves "!" and a link
    parser.disable("reference")  # would hide a line that the model still reads
    parser.validateLink = _is_safe_link  # type: ignore[method-assign]  # replacing it is markdown-it's documented way
    parser.render("*compiles the rules, which two threads must not do at once*")
    return parser


_parser: Final = _new_parser()
_cleaner: Final = nh3.Cleaner(
    tags=_TAGS,
    attributes={"a": {"href"}, "ol": {"start"}, "span": {"data-mentions"}},
    allowed_classes={"span": {"mention"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener nofollow ugc",
)
