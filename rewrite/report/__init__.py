"""Reports for people who would rather look: pictures and offline pages."""

from .page import KernelRow, RuleRow, Side, before_after_html, bytes_text, seconds_text
from .svg import graph_svg

__all__ = [
    "KernelRow",
    "RuleRow",
    "Side",
    "before_after_html",
    "bytes_text",
    "graph_svg",
    "seconds_text",
]
