"""A result that shows one of several inputs on one memory is that part of it.

PyTorch hands such inputs over as one tensor, and asks a result where it lies in it to
give it out as a view.  Ours was a copy that lay at the start: the caller got the first
elements of the memory, whatever input the model had returned.
"""

from __future__ import annotations

from functools import partial

import pytest

torch = pytest.importorskip("torch")

from rewrite.torch import backend  # noqa: E402

type Tensor = torch.Tensor


def last(a: Tensor, b: Tensor, c: Tensor) -> Tensor:
    a[::2] += b[1::2]
    return c


def parts(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    b *= 2
    return b, c, a + c


def apart(a: Tensor, b: Tensor, c: Tensor) -> tuple[Tensor, ...]:
    new = b + 1
    b.copy_(new)
    return new[2:], c


@pytest.mark.parametrize("model", [last, parts, apart])
def test_results_are_where_they_are_in_eager(model) -> None:  # type: ignore[no-untyped-def]
    made = []
    for run in (model, None):
        torch.compiler.reset()
        options = {"effort": 0, "strict": True, "cache": False}
        run = run or torch.compile(model, backend=partial(backend, options=options))
        memory = torch.arange(18.0)
        results = run(memory[:6], memory[3:9], memory[12:])
        results = results if isinstance(results, tuple) else (results,)
        values = [r.clone() for r in results]
        memory += 100
        made.append((memory, values, results))  # then, and after the memory changed
    (memory, values, later), (ours, found, after) = made
    assert torch.equal(memory, ours)
    for want, got in zip((*values, *later), (*found, *after), strict=True):
        assert torch.equal(want, got)
