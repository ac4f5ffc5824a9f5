"""Rendering of fragments: a template and its values in, HTML out. No request, no user, no token gets into one, so that
the page, the htmx answer and the push carry the same bytes for everybody."""

from django.template.loader import render_to_string
from markupsafe import Markup


def render(template: str, **values: object) -> Markup:
    """The HTML of a Jinja2 fragment, without the line break at its end."""
    return Markup(render_to_string(template, values, using="jinja2").rstrip("\n"))  # noqa: S704  # the engine escapes
