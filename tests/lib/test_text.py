"""Text from outside: storable, short, and safe as HTML."""

import re
from html.parser import HTMLParser

import pytest
from hypothesis import example, given
from hypothesis import strategies as st
from markupsafe import Markup

from median_site.lib import text

RELATION = "noopener nofollow ugc"
TAGS = set(re.findall(r"\w+", "a blockquote br code em hr li ol p pre s small strong table tbody td th thead tr ul"))
ATTRIBUTES = {"a": {"href", "rel"}, "ol": {"start"}}
PIECES = [
    *"[]()!<>`*_|\n&;'\"\\\0\ud800\u202e", "](", "    ", "# ", "- ", "[r]: ", "[r]", "javascript:", "https://a.example/",
    "data:text/html,", "//b.example", "<script>", "<img src=x onerror=y>", "&#x6a;", "x",
]  # fmt: skip
hostile = st.lists(st.sampled_from(PIECES), max_size=30).map("".join)


class Elements(HTMLParser):
    """Every element of a fragment, as a browser would see it."""

    def __init__(self, html: str) -> None:
        super().__init__()
        self.found: list[tuple[str, dict[str, str | None]]] = []
        self.feed(html)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.found.append((tag, dict(attrs)))


@pytest.mark.parametrize(
    ("raw", "stored", "replaced"),
    [
        ("", "", False),
        ("Zoë / 東京 😀", "Zoë / 東京 😀", False),
        ("a\r\nb\nc\r", "a\nb\nc\r", False),
        ("W\0s\0l", "W\u2400s\u2400l", True),
        ("a\ud800b\udfff\r\n", "a\ufffdb\ufffd\n", True),
    ],
)
def test_clean(raw: str, stored: str, replaced: bool) -> None:
    assert text.clean(raw) == (stored, replaced)


@given(st.text(st.characters(exclude_categories=())))
def test_cleaned_text_is_storable_and_clean(raw: str) -> None:
    stored, _ = text.clean(raw)
    assert b"\0" not in stored.encode()
    assert text.clean(stored.replace("\r\n", "")) == (stored.replace("\r\n", ""), False)


@pytest.mark.parametrize(
    ("raw", "limit", "expected"),
    [
        ("Where is my order?", 18, "Where is my order?"),
        ("Where is my order?", 17, "Where is my orde…"),
        ("Where is my order?", 10, "Where is…"),
        ("  two\n\n lines\t", 20, "two lines"),
        ("ab", 1, "…"),
        ("", 5, ""),
    ],
)
def test_excerpt(raw: str, limit: int, expected: str) -> None:
    assert text.excerpt(raw, limit) == expected


def test_html_is_marked_as_safe() -> None:
    assert isinstance(text.markdown("a"), Markup)


def link(target: str, shown: str) -> str:
    return f'<a href="{target}" rel="{RELATION}">{shown}</a>'


@pytest.mark.parametrize(
    ("raw", "html"),
    [
        ("", ""),
        ("hi\r\nthere", "<p>hi<br>\nthere</p>\n"),
        ("**a** *b* ~~c~~ `d`", "<p><strong>a</strong> <em>b</em> <s>c</s> <code>d</code></p>\n"),
        ("# Title", "<p><strong>Title</strong></p>\n"),
        ("3. a\n4. b", '<ol start="3">\n<li>a</li>\n<li>b</li>\n</ol>\n'),
        ("```js\nx < 1\n```", "<pre><code>x &lt; 1\n</code></pre>\n"),
        ("<b hx-get='/x'>1 & 2</b>", "<p>&lt;b hx-get='/x'&gt;1 &amp; 2&lt;/b&gt;</p>\n"),
        ("a\0b\ud800", "<p>a\u2400b\ufffd</p>\n"),
        ("https://a.example", "<p>https://a.example</p>\n"),
        ("<https://a.example/>", f"<p>{link('https://a.example/', 'https://a.example/')}</p>\n"),
        ("<ana@example.com>", f"<p>{link('mailto:ana@example.com', 'ana@example.com')}</p>\n"),
    ],
)
def test_markdown(raw: str, html: str) -> None:
    assert text.markdown(raw) == html


def test_a_link_shows_where_it_goes() -> None:
    target = "https://evil.example/?a=1&amp;b=2"
    shown = link(target, "https://bank.example")
    assert text.markdown("[https://bank.example](https://evil.example/?a=1&b=2 'title')") == (
        f"<p>{shown} <small>({target})</small></p>\n"
    )


def test_a_hidden_character_in_a_target_is_written_out() -> None:
    html = text.markdown("[order](https://a.example/\u202egpj.exe)")
    assert "<small>(https://a.example/%E2%80%AEgpj.exe)</small>" in html


def test_a_picture_becomes_a_link_and_loads_nothing() -> None:
    target = "https://evil.example/p.png?d=1"
    assert text.markdown(f"![x]({target})") == f"<p>!{link(target, 'x')} <small>({target})</small></p>\n"


@pytest.mark.parametrize(
    "target",
    ["javascript:alert(1)", "JaVaScRiPt:alert(1)", "data:text/html,x", "vbscript:x", "file:///etc/passwd", "/approve",
     "//evil.example", "https:/approve", "https:approve", "x", "&#106;avascript:alert(1)", "java\\script:x"],
)  # fmt: skip
def test_other_targets_stay_text(target: str) -> None:
    assert Elements(text.markdown(f"[a]({target})")).found == [("p", {})]


@given(hostile)
@example("[a](https://x.example/\"onmouseover='y')")
@example("<https://x.example/<script>>")
@example("[a](https://[)")
def test_nothing_but_harmless_elements(raw: str) -> None:
    for tag, attributes in Elements(text.markdown(raw)).found:
        assert tag in TAGS
        assert set(attributes) <= ATTRIBUTES.get(tag, set())
        if tag == "a":  # a target that is no address at all leaves a link that leads nowhere
            assert re.match("https?://|mailto:", attributes.get("href") or "https://")
            assert attributes["rel"] == RELATION


def test_past_the_limit_text_is_plain_and_complete() -> None:
    line = "**bold** <b>\n"
    count = text.MARKDOWN_LIMIT // len(line) + 3
    html = text.markdown(line * count)
    rendered = text.MARKDOWN_LIMIT // len(line)
    assert html.count("<strong>bold</strong> &lt;b&gt;") == rendered
    assert html.endswith("<p>" + "**bold** &lt;b&gt;<br>\n" * (count - rendered) + "</p>\n")


def test_past_the_limit_on_one_line() -> None:
    html = text.markdown("x" * text.MARKDOWN_LIMIT + "<b>")
    assert html == f"<p>{'x' * text.MARKDOWN_LIMIT}</p>\n<p>&lt;b&gt;</p>\n"


def test_a_link_definition_is_shown_since_the_model_reads_it() -> None:
    assert text.markdown("[x]: https://evil.example") == "<p>[x]: https://evil.example</p>\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ("the API approved running Refund order", "The API approved running Refund order"),
        ("the request to run Refund order expired unanswered", "The request to run Refund order expired unanswered"),
        ("tomas.r wrote", "tomas.r wrote"),
        ("theo wrote", "theo wrote"),
        ("", ""),
    ],
)
def test_a_sentence_begins_large_unless_with_a_name(words: str, said: str) -> None:
    assert text.sentence(words) == said
