"""Text from outside: made storable, shortened, and turned into safe HTML. Every message, whoever wrote it, is rendered
by the one function `markdown`; there is no second way from text to HTML."""

import re
from collections.abc import Sequence
from functools import lru_cache
from typing import Final

import nh3
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from markdown_it.utils import EnvType, OptionsDict
from markupsafe import Markup, escape

MARKDOWN_LIMIT: Final = 20_000

_SURROGATES: Final = re.compile("[\ud800-\udfff]")
_SAFE_LINK: Final = re.compile(r"(https?://|mailto:)", re.IGNORECASE)
_TAGS: Final = {
    "a", "blockquote", "br", "code", "em", "hr", "li", "ol", "p", "pre", "s", "small", "strong",
    "table", "tbody", "td", "th", "thead", "tr", "ul",
}  # fmt: skip


def clean(text: str) -> tuple[str, bool]:
    """Text that PostgreSQL can store, and whether something in it had to be replaced.

    NUL becomes U+2400, a lone surrogate U+FFFD. CRLF becomes LF too, which is not worth a flag.
    """
    storable = _SURROGATES.sub("\N{REPLACEMENT CHARACTER}", text.replace("\0", "\N{SYMBOL FOR NULL}"))
    return storable.replace("\r\n", "\n"), storable != text


def excerpt(text: str, limit: int) -> str:
    """The text on one line, of at most `limit` characters; an ellipsis stands for what was cut."""
    line = " ".join(text.split())
    return line if len(line) <= limit else line[: limit - 1].rstrip() + "…"


@lru_cache(maxsize=512)
def markdown(text: str) -> Markup:
    """Safe HTML of a message written in Markdown or in plain text; line breaks are kept, HTML is shown as text.

    Links go to http, https and mailto only and print their target; pictures become links, so that looking at a message
    never calls another host; headings become bold lines, so that a message never changes the outline of a page. Only
    the first 20,000 characters are read as Markdown: what follows is appended as plain text, nothing is lost.
    """
    text, _ = clean(text)
    end = len(text)
    if end > MARKDOWN_LIMIT:
        end = text.rfind("\n", 0, MARKDOWN_LIMIT) + 1 or MARKDOWN_LIMIT
    html = Markup(_cleaner.clean(_parser.render(text[:end])))  # noqa: S704  # nh3 let only safe tags through
    if rest := text[end:]:
        html += Markup("<p>{}</p>\n").format(escape(rest).replace("\n", Markup("<br>\n")))
    return html


class _Renderer(RendererHTML):
    """Differs from the stock renderer in links and headings."""

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
    parser.disable("image")  # leaves "!" and a link
    parser.disable("reference")  # would hide a line that the model still reads
    parser.validateLink = _is_safe_link  # type: ignore[method-assign]  # replacing it is markdown-it's documented way
    parser.render("*compiles the rules, which two threads must not do at once*")
    return parser


_parser: Final = _new_parser()
_cleaner: Final = nh3.Cleaner(
    tags=_TAGS,
    attributes={"a": {"href"}, "ol": {"start"}},
    url_schemes={"http", "https", "mailto"},
    url_relative="deny",
    link_rel="noopener nofollow ugc",
)
