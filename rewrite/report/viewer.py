"""Pages: one offline file each, which shows two graphs side by side in any browser.

What is shown is in the page as JSON.  `layout.js`, `pane.js` and `page.js` draw it, as
`pages.css` says how; a script of its own says what is beside the graphs.
"""

from __future__ import annotations

import importlib.resources
import json
from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from rewrite.egraph.ir.printable import printable

from .account import Account
from .prose import harmless

BODY = """
<header><h1 id="title"></h1><div id="figures"></div></header>
<main>
{sides}
<aside>
<div id="detail"></div>
<div class="bar"><button id="previous" title="the one before (left arrow)">←</button>
<button id="next" title="the next one (right arrow)">→</button><span id="count"></span>
{tabs}</div>
{lists}
</aside>
</main>
"""
SIDE = """<section class="side" id="{side}"><div class="bar"><b>{side}</b>
<select aria-label="group the graph {side}"></select>
<button class="open">open all</button><button class="close">close all</button>
<button class="fit">fit</button></div><div class="pane"></div></section>
"""
SHARED = ("layout.js", "pane.js", "page.js")


def page(a: Account) -> str:
    """The page of an account."""
    a, lists = harmless(a), {"steps": "steps", "kernels": "kernels"}
    return paged(f"{a.model}: explained", a.json(), lists, "explain.js")


def paged(
    title: str, data: Mapping[str, Any], lists: Mapping[str, str], script: str
) -> str:
    """A page that needs nothing but a browser; `lists` are tabs with their words, of
    which the first is open, and its entries are what the arrow keys move through."""
    text = json.dumps(data, allow_nan=False).replace(
        "<", "\\u003c"
    )  # no name closes the element
    sides = "".join(SIDE.format(side=side) for side in ("before", "after"))
    body = BODY.format(sides=sides, tabs=_tabs(lists), lists=_lists(list(lists)))
    scripts = "\n".join(map(_file, (*SHARED, script)))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(printable(title))}</title><style>{_file('pages.css')}</style></head>"
        f'<body>{body}<script type="application/json" id="data">{text}</script>'
        f"<script>{scripts}</script></body></html>\n"
    )


def _tabs(lists: Mapping[str, str]) -> str:
    buttons = (
        f'<button data-tab="{name}" aria-selected="{"false" if k else "true"}">{word}'
        "</button>"
        for k, (name, word) in enumerate(lists.items())
    )
    return "\n".join(buttons)


def _lists(names: Sequence[str]) -> str:
    first, *others = names
    rest = "".join(f'<ul class="list" id="{name}" hidden></ul>' for name in others)
    return f'<ol class="list" id="{first}"></ol>{rest}'


def _file(name: str) -> str:
    folder = importlib.resources.files(__package__).joinpath("pages")
    return folder.joinpath(name).read_text("utf-8")


__all__ = ["page", "paged"]
