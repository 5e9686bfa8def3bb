"""The page of an account: one offline file, which shows it in any browser.

The account is in the page as JSON; `explain.js` draws it and `explain.css` says how.
"""

from __future__ import annotations

import importlib.resources
import json
from html import escape

from .account import Account

BODY = """
<header><h1 id="title"></h1><div id="figures"></div></header>
<main>
{sides}
<aside>
<div id="detail"></div>
<div class="bar"><button id="previous" title="previous step (left arrow)">←</button>
<button id="next" title="next step (right arrow)">→</button><span id="count"></span>
<button data-tab="steps" aria-selected="true">steps</button>
<button data-tab="kernels" aria-selected="false">kernels</button></div>
<ol class="list" id="steps"></ol><ul class="list" id="kernels" hidden></ul>
</aside>
</main>
"""
SIDE = """<section class="side" id="{side}"><div class="bar"><b>{side}</b>
<select aria-label="group the graph {side}"></select>
<button class="open">open all</button><button class="close">close all</button>
<button class="fit">fit</button></div><div class="pane"></div></section>
"""


def page(a: Account) -> str:
    """A page that needs nothing but a browser."""
    text = json.dumps(a.json(), allow_nan=False).replace(
        "<", "\\u003c"
    )  # no name closes the element
    sides = "".join(SIDE.format(side=side) for side in ("before", "after"))
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        '<link rel="icon" href="data:,">'
        f"<title>{escape(a.model)}: explained</title>"
        f"<style>{_file('explain.css')}</style></head>"
        f"<body>{BODY.format(sides=sides)}"
        f'<script type="application/json" id="data">{text}</script>'
        f"<script>{_file('explain.js')}</script></body></html>\n"
    )


def _file(name: str) -> str:
    return importlib.resources.files(__package__).joinpath(name).read_text("utf-8")
