"""Serve a company's own functions as Median tools. Everything public is named here."""

from median_tools import p
from median_tools.answers import Answer, Json, ToolError
from median_tools.calls import Call, ToolContext, Visitor, refuse
from median_tools.endpoint import Tools, define
from median_tools.replays import ReplayStore

__version__ = "1.0.0"
__all__ = [
    "Answer",
    "Call",
    "Json",
    "ReplayStore",
    "ToolContext",
    "ToolError",
    "Tools",
    "Visitor",
    "define",
    "p",
    "refuse",
]
