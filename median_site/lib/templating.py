"""The Jinja2 environment of every page and fragment: what templates may call. Nothing here knows who is asking."""

import zlib
from collections.abc import Callable
from datetime import datetime
from functools import lru_cache
from typing import Final

from django.templatetags.static import static
from django.urls import reverse
from jinja2 import BaseLoader, Environment, StrictUndefined
from markupsafe import Markup, escape

from median_site.lib import text, times

# For settings.TEMPLATES.
ENVIRONMENT: Final = "median_site.lib.templating.environment"
TONES: Final = 6
# Moments as texts, and as elements by `time`.
_WRITTEN: Final[dict[str, Callable[[datetime], str]]] = {
    "clock": times.clock,
    "seconds": times.seconds,
    "when": times.when,
    "deadline": times.deadline,
}
_CHANNELS: Final = {"widget": "Widget", "email": "Email", "discord": "Discord", "api": "API"}


def environment(*, loader: BaseLoader, auto_reload: bool, **_: object) -> Environment:
    """Django's Jinja2 backend calls this with its options, of which these two are its own to decide."""
    made = Environment(
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        loader=loader,
        auto_reload=auto_reload,
    )
    made.globals.update(static=static, url=url, icon=icon, channel=channel, time=time)
    made.filters.update(
        _WRITTEN,
        day=times.day,
        date=times.short_day,
        moment=times.moment,
        iso=times.iso,
        millis=times.millis,
        markdown=text.markdown,
        tone=tone,
        initials=initials,
    )
    return made


# A page has fifty of them, and a hundred icons.
@lru_cache(maxsize=4096)
def url(name: str, *args: str) -> str:
    """The path of a named URL: `url("inbox:thread", conversation.id)`."""
    return reverse(name, args=args)


@lru_cache(maxsize=1024)
def icon(name: str, label: str = "", *, css: str = "") -> Markup:
    """A symbol of the sprite. With a label it is an image that says so; without, it is only decoration."""
    spoken = Markup('role="img" aria-label="{}"').format(label) if label else Markup('aria-hidden="true"')
    classes = f"icon {css}".rstrip()
    return Markup('<svg class="{}" {}><use href="{}#i-{}"/></svg>').format(
        classes, spoken, static("icons/icons.svg"), escape(name)
    )


def channel(name: str) -> Markup:
    """The symbol of the channel that a conversation is on."""
    return icon("code" if name == "api" else name, _CHANNELS[name])


def time(moment: datetime, written: str = "clock") -> Markup:
    """A moment as it is written by that filter. A thread has one at each message: a macro would take twice as long."""
    return Markup(f'<time datetime="{times.iso(moment)}">{_WRITTEN[written](moment)}</time>')  # noqa: S704  # nobody's text


def initials(name: str) -> str:
    """The letters of an avatar: of the first and the last word."""
    words = name.split()
    return "".join(word[0] for word in (words[:1] + words[1:][-1:])).upper() or "?"


def tone(identity: str) -> int:
    """Which of the avatar's tones somebody has, always the same: 1 to 6."""
    return zlib.crc32(identity.encode()) % TONES + 1
