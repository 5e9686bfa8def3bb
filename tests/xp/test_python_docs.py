"""docs/python.md is true: its code runs, its lists are the namespace's."""

from __future__ import annotations

import inspect
import re
import textwrap
from pathlib import Path
from typing import Any

import array_api_strict as strict
import numpy as np
import pytest

import rewrite as rw
from rewrite import xp

PAGE = Path(__file__).parents[2] / "docs" / "python.md"
GROUPS = {
    "creation": "Making arrays",
    "elementwise": "Element by element",
    "inverse": "Element by element",
    "tracer": "Element by element",
    "statistical": "Reductions and searches",
    "running": "Running folds",
    "sorting": "Sorting",
    "manipulation": "Moving elements",
    "indexing": "Indexing",
    "branching": "Loops and branches",
    "looping": "Loops and branches",
    "linear": "Products",
    "information": "Dtypes and shapes",
    "by_values": "Outside a trace alone",
    "trace": "Graphs",
    "symbols": "Graphs",
}
PARTS = {"linalg": "Linear algebra", "fft": "Fourier transforms", "nn": "Layers",
         "random": "Random numbers"}  # fmt: skip
OF_THE_STANDARD = ("array_api_strict._fft", "array_api_strict._linalg",
                   "array_api_strict._linear_algebra_functions")  # fmt: skip
TYPES = {"Leaf", "TensorType", "TraceError", "Traced", "Tracer"}


def listed(heading: str, names: list[str]) -> str:
    text = f"- **{heading}**: " + ", ".join(f"`{n}`" for n in names)
    return textwrap.fill(text, 88, subsequent_indent="  ") + "\n"


def functions() -> str:
    """Every name of the namespace, by the module that defines it."""
    groups: dict[str, list[str]] = {}
    for name in sorted(set(xp.__all__) - TYPES - {*PARTS}):
        value = getattr(xp, name)
        if callable(value):
            module = value.__module__.rpartition(".")[2]
            assert module in GROUPS, f"{name}: name a heading for {module} in GROUPS"
            group = GROUPS[module]
        else:
            kinds = type(xp.bool), type(xp.complex64)
            group = "Dtypes" if isinstance(value, kinds) else "Constants"
        groups.setdefault(group, []).append(name)
    for part, heading in PARTS.items():
        groups[heading] = [f"{part}.{n}" for n in getattr(xp, part).__all__]
    order = [*dict.fromkeys((*GROUPS.values(), *PARTS.values())), "Dtypes", "Constants"]
    assert sorted(order) == sorted(groups)
    return "".join(listed(group, groups[group]) for group in order)


def missing() -> str:
    """What the standard has, functions and dtypes and constants, and this has not."""
    tools = ("ArrayAPIStrictFlags", "ModuleType", "fft", "linalg")
    public = [
        n for n in dir(strict)
        if n[0] != "_" and "array_api_strict" not in n and n not in tools
    ]  # fmt: skip
    absent = [n for n in public if not hasattr(xp, n)]
    for part in ("fft", "linalg"):
        found = vars(getattr(strict, part)).items()
        own = [n for n, f in found if inspect.isfunction(f) and n[0] != "_"
               and f.__module__ in OF_THE_STANDARD]  # fmt: skip
        public += own
        absent += [f"{part}.{n}" for n in own if not hasattr(getattr(xp, part), n)]
    text = ", ".join(f"`{n}`" for n in absent)
    which = "this one" if len(absent) == 1 else f"these {len(absent)}"
    text = f"- Of the {len(public)} names of the standard {which}: {text}"
    return textwrap.fill(text, 88, subsequent_indent="  ") + "\n"


def with_list(page: str, name: str, text: str) -> str:
    before, rest = page.split(f"<!-- {name} -->\n")
    after = rest.partition("<!-- end -->")[2]
    return f"{before}<!-- {name} -->\n{text}<!-- end -->{after}"


def test_the_lists_are_those_of_the_namespace(bless: bool) -> None:
    page = PAGE.read_text("utf-8")
    true = with_list(with_list(page, "functions", functions()), "missing", missing())
    if bless:
        PAGE.write_text(true, "utf-8")
        page = true
    assert page == true


def test_the_code_of_the_page_runs() -> None:
    blocks = re.findall(r"^```python\n(.*?)^```", PAGE.read_text("utf-8"), re.M | re.S)
    scope: dict[str, Any] = {}
    for block in blocks:
        exec(compile(block, "docs/python.md", "exec"), scope)
    x, y = scope["some"], scope["places"]
    np.testing.assert_array_equal(y[0], x + x)
    np.testing.assert_array_equal(y[1], x * x)


def test_links_lead_somewhere() -> None:
    for target in re.findall(r"\]\(([^)#]+)\)", PAGE.read_text("utf-8")):
        assert (PAGE.parent / target).exists(), target
    readme = (PAGE.parents[1] / "README.md").read_text("utf-8")
    assert "docs/python.md" in readme


X = np.arange(12, dtype=np.float32).reshape(3, 4)
B = X > 4


@pytest.mark.parametrize(
    "f",
    [
        lambda x: x[x > 0],
        lambda x: x[[0, 1], [1, 2]],
        lambda x: np.partition(x, 1),
        lambda x: np.median(x),
        lambda x: np.linalg.lstsq(x, x),
        lambda x: xp.floor(x * 1j),
        lambda x: x * 1j < 2,
        lambda x: x[3],
        lambda x: xp.einsum("...i->...", x),
        lambda x: xp.einsum("ii", x[:, :3]),
        lambda _: xp.matmul(B, B.T),
        lambda x: xp.pow(x > 1, x > 2),
        lambda x: xp.astype(x, xp.int32) ** -1,
    ],
)
def test_what_the_page_says_is_not_there_is_an_error(f: Any) -> None:
    with pytest.raises((TypeError, IndexError, ValueError)):
        xp.trace(f, X)


def test_infinities_where_the_page_promises_them() -> None:
    x = np.array([[0.0, -np.inf, 1.0], [np.nan, 2.0, np.inf]], np.float32)

    def f(x: Any) -> Any:
        return (xp.isnan(x), x > 0, xp.where(xp.isinf(x), 7.0, x), xp.max(x, axis=1),
                xp.nn.softmax(x[:1]))  # fmt: skip

    for precision in ("default", "fast"):
        got = rw.optimize(f, x, device="c", effort=0, precision=precision)(x)
        for g, w in zip(got, f(x), strict=True):
            np.testing.assert_allclose(g, w, rtol=1e-6)
