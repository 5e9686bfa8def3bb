"""`Optimized`: an optimized function, called like the original on NumPy arrays."""

from __future__ import annotations

import functools
import weakref
from collections.abc import Callable, Mapping, Sequence
from itertools import count
from pathlib import Path
from typing import Any, NoReturn, cast

import numpy as np

from rewrite.backends.straight import Order
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.scalars import Array

from .core import bundle
from .core.kernels import KernelInfo, show_kernels
from .core.signature import TENSOR, static_key
from .optimized_graph import OptimizedGraph
from .report.explanation import Explanation
from .xp.pair import Parts, Side
from .xp.trace import Apart, Leaf, Traced, children, map_tree
from .xp.tracer import TraceError, is_tracing, plain
from .xp.weak import Number, as_array


class Optimized:
    """An optimized function: called like the original, on NumPy arrays."""

    def __init__(
        self,
        traced: Traced,
        compiled: OptimizedGraph,
        held: Mapping[str, Array] | None = None,
        function: Callable[..., Any] | None = None,
    ) -> None:
        """`held` are captured arrays that come with the function, as from a bundle;
        `function` is what was traced, where it is known."""
        self.traced, self.compiled, self.function = traced, compiled, function
        self.captured = traced.captured
        trees = traced.arguments
        self._static = {k: static_key(tree, k) for k, tree in trees.items()}
        self._places = [
            p for i, tree in enumerate(trees.values()) for p in places(tree, (i,))
        ]
        self._result_places = places(traced.result, ())
        self._row = _row(traced.result)
        self._held = dict(held or {})
        live = {n.attrs[0] for n in traced.graph.inputs}
        self._read = [a for a in self.captured.arrays if a[1] in live]
        aliases = traced.graph.aliases
        self._updates = [(a.output, a.input) for a in aliases if a.kind == "must"]
        # What `save` reads again; of arrays among the arguments nothing is kept.
        self._keeps = bool(self.captured or traced.numbers)
        simple = not (self._held or traced.numbers or self._updates or self._read)
        self._labels = _positional(trees) if simple else None
        self._by_place: Callable[[tuple[Any, ...]], Any] | None = None
        self._looked = False  # for what runs such calls by place
        self._apart = [isinstance(t, Apart) for t in trees.values()]
        self._objects: Sequence[Any] = [_without_tensors(t) for t in trees.values()]

    @staticmethod
    def __traced__(made: Optimized) -> Callable[..., Any]:
        """What is traced where another function calls this one."""
        return made.function or _loaded

    @functools.cached_property
    def _result_key(self) -> Any:
        return static_key(self.traced.result, "out")

    def inputs(self, *args: Any) -> dict[str, Array]:
        """The arrays in the arguments by the graph's input names, and those read."""
        if len(args) != len(self._static):
            names = ", ".join(self._static)
            s = "" if len(self._static) == 1 else "s"
            expected = f"{len(self._static)} argument{s} ({names})"
            raise InputError(f"{expected} expected, found {len(args)}")
        for (name, was), arg in zip(self._static.items(), args, strict=True):
            key = TENSOR if type(arg) is np.ndarray else static_key(arg, name)
            if key != was and was == TENSOR:
                raise InputError(
                    f"argument {name!r}: an array was expected, as it was when it was "
                    f"optimized, found a {type(arg).__name__}: make one of it, as "
                    "np.asarray(x, dtype) does"
                )
            if key != was:
                raise InputError(
                    f"argument {name!r} is not what it was when it was optimized: pass "
                    "what changes as an array, or use rewrite.jit"
                )
        return self._arrays(args, self._current(args))

    def _current(self, args: Sequence[Any]) -> list[Any] | None:
        if not self.captured:
            return None
        values = self.captured.read(args)
        if values is None or not self.captured.holds(values):
            raise InputError(
                f"{self.captured.changed(values)} since it was optimized: optimize "
                "again, or use rewrite.jit"
            )
        return values

    def _arrays(
        self, args: Sequence[Any], values: Sequence[Any] | None
    ) -> dict[str, Array]:
        result = {
            label: plain(args[path[0]] if len(path) == 1 else _at(args, path))
            for label, path in self._places
        }
        if self._held:
            result |= self._held
        if values is not None:
            for i, label, _, _ in self._read:
                result[label] = plain(values[i])
        if self._keeps:
            self._objects = [
                None if type(a) is np.ndarray else _weak(a) if apart else a
                for a, apart in zip(args, self._apart, strict=True)
            ]
        for label, number, dtype in self.traced.numbers:
            result[label] = as_array(number.value(args, values or ()), dtype)
        return result

    def __call__(self, *args: Any, out: Any = None) -> Any:
        """The result; with `out`, arrays in the structure of the result, in those."""
        if is_tracing():
            return Optimized.__traced__(self)(*args)
        if out is None and self._labels is not None:
            result = self._straight(args, self._labels)
            if result is not None:
                return result
        inputs = self.inputs(*args)
        return self._results(inputs, out, args)

    def _straight(self, args: tuple[Any, ...], labels: tuple[str, ...]) -> Any:
        """The result, where all arguments are plain arrays of the types that were
        traced and all that was captured is what it was; else None."""
        if len(args) != len(labels):
            return None
        if self.captured:
            values = self.captured.read(args)
            if values is None or not self.captured.holds(values):
                return None
        return self._aimed(args, labels)

    def _aimed(self, args: tuple[Any, ...], labels: tuple[str, ...]) -> Any:
        """As `_straight`, of what was captured known to be the same."""
        if self._by_place is not None:
            row = self._by_place(args)
            result = row[0] if row and self._row is None else row
        else:
            given = dict(zip(labels, args, strict=True))
            results = self.compiled.runner.straight(given)
            if results is None:
                return None
            if not self._looked:
                self._by_place, self._looked = self._ordered(labels), True
            result = self._delivered(results)
        if result is not None and self._keeps:
            self._objects = [None] * len(args)
        return result

    def _ordered(
        self, labels: tuple[str, ...]
    ) -> Callable[[tuple[Any, ...]], Any] | None:
        """What takes the arguments and gives the results by place."""
        tree = self.traced.result
        outputs = (tree.label,) if type(tree) is Leaf else self._row
        runner = self.compiled.runner
        return None if outputs is None else runner.ordered(Order(labels, outputs))

    def run(
        self,
        args: tuple[Any, ...],
        out: Any = None,
        values: Sequence[Any] | None = None,
    ) -> Any:
        """As a call, of arguments whose structure is known to be that of the first,
        with the values that it captured as they are read now."""
        if out is None and self._labels is not None:
            result = self._aimed(args, self._labels)
            if result is not None:
                return result
        return self._results(self._arrays(args, values), out, args)

    def _results(self, inputs: dict[str, Array], out: Any, args: Sequence[Any]) -> Any:
        given = None if out is None else self._targets(out, inputs)
        if self._updates:
            self._check_updates(inputs, args)
        results = self.compiled(inputs, given)
        if self._updates:
            self._update(results, inputs, args, out is None)
        return self._delivered(results)

    def _delivered(self, results: Mapping[str, Array]) -> Any:
        """The results in the structure that the function returned."""
        tree = self.traced.result
        if type(tree) is Leaf:
            return results[tree.label]
        if self._row is not None:
            return tuple([results[label] for label in self._row])

        def pick(_: str, leaf: Any) -> Any:
            return results[leaf.label] if isinstance(leaf, Leaf) else leaf

        return map_tree(pick, tree, "")

    def _update(
        self, results: dict[str, Array], inputs: Mapping[str, Array],
        args: Sequence[Any], returned: bool,
    ) -> None:  # fmt: skip
        """Hands out the caller's own arrays for those that were updated in place."""
        for output, label in self._updates:
            array, own = inputs[label], self._own(label, args)
            if isinstance(own, np.ndarray):
                theirs = cast(Array, own)
                if not np.may_share_memory(theirs, array):  # of another byte order
                    theirs[...] = array
                array = theirs
            if returned:
                results[output] = array

    def _own(self, label: str, args: Sequence[Any]) -> Any:
        """What the caller passed for an input; None: it was captured."""
        path = dict(self._places).get(label)
        return None if path is None else _at(args, path)

    def _check_updates(self, inputs: Mapping[str, Array], args: Sequence[Any]) -> None:
        for _, label in self._updates:
            own = self._own(label, args)
            if own is not None and not isinstance(own, np.ndarray | np.generic):
                raise InputError(
                    f"{label!r} is updated in place, which takes a NumPy array, found "
                    f"a {type(own).__name__}"
                )
        _check_apart([label for _, label in self._updates], inputs)

    def _targets(self, out: Any, inputs: Mapping[str, Array]) -> dict[str, Array]:
        """The caller's arrays by the graph's output names."""
        own = {output: inputs[label] for output, label in self._updates}
        row = self._row
        if row is not None and type(out) is tuple:
            arrays = cast(tuple[Any, ...], out)
            if len(row) == len(arrays) and all(type(a) is np.ndarray for a in arrays):
                return own | dict(zip(row, arrays, strict=True))
        places = self._result_places
        if static_key(out, "out") != self._result_key:
            expected = ", ".join(".".join(map(str, p)) or "an array" for _, p in places)
            raise InputError(
                f"out: arrays in the structure of the result expected ({expected})"
            )
        return own | {label: _at(out, path) for label, path in places}

    @property
    def graph(self) -> Graph:
        """The graph as traced."""
        return self.traced.graph

    @property
    def schedule(self) -> str:
        """The chosen kernels, a line each."""
        return show_kernels(self.kernels)

    @property
    def kernels(self) -> list[KernelInfo]:
        return self.compiled.kernels()

    def code(self) -> str:
        """The source text of the kernels."""
        return self.compiled.code()

    def save(self, path: str | Path) -> None:
        """Writes a bundle, which `rewrite.load` runs without the e-graph engine.

        Arrays that the function captures are copied into it, as they are now."""
        pairs = zip(self._objects, self._apart, strict=True)
        objects = [_alive(x) if apart else x for x, apart in pairs]
        values = self._current(objects)
        held = dict(self._held)
        if values is not None:
            held |= {label: plain(values[i]) for i, label, _, _ in self._read}
        now: Sequence[Any] = values or ()
        for label, number, dtype in self.traced.numbers:
            held[label] = as_array(number.value(objects, now), dtype)
        trees = zip(self.traced.arguments.items(), objects, strict=True)
        kept = {
            k: t if x is None else _valued(t, x)
            for (k, t), x in trees
            if not isinstance(t, Apart)
        }
        bundle.save(self.compiled, Path(path), (kept, self.traced.result, held))

    def explain(
        self, node: str = "", kernel: str = "", *, ablate: bool = False,
        run: bool = True,
    ) -> Explanation:  # fmt: skip
        """The whole decision, each step of its proof checked: `str` of it is text,
        `.json()` data, `.html()` a page (docs/explain.md).  `run`: measure errors."""
        return self.compiled.explain(node, kernel, ablate=ablate, run=run)


def _loaded(*_: Any) -> NoReturn:
    raise TraceError(
        "a function that was loaded from a file has kernels and no code to trace: call "
        "it outside of what you optimize, and pass its results in"
    )


def _check_apart(updated: Sequence[str], inputs: Mapping[str, Array]) -> None:
    """InputError where an array that is updated shows in another of the call."""
    for label in updated:
        for other, array in inputs.items():
            if other != label and np.shares_memory(inputs[label], array):
                raise InputError(
                    f"{label!r} is updated in place and lies on the memory of "
                    f"{other!r}: pass a copy of one"
                )


def _without_tensors(tree: Any) -> Any:
    return map_tree(lambda _, x: None if isinstance(x, Leaf) else x, tree, "")


def _weak(value: Any) -> Any:
    """A reference that does not keep the object, where its class allows one."""
    try:
        return weakref.ref(value)
    except TypeError:
        return lambda: value


def _alive(found: Any) -> Any:
    value = found() if callable(found) else None
    if value is None:
        raise InputError("the object that was called last is gone: call it again, then "
                         "save")  # fmt: skip
    return value


def _valued(tree: Any, last: Any) -> Any:
    """The structure of an argument with the numbers that the last call gave."""
    values = iter(leaves_of(last))

    def value(_: str, x: Any) -> Any:
        now = next(values)
        return now if type(x) is Number else x

    return map_tree(value, tree, "")


def leaves_of(tree: Any) -> list[Any]:
    result: list[Any] = []
    map_tree(lambda _, x: result.append(x), tree, "")
    return result


def _positional(trees: Mapping[str, Any]) -> tuple[str, ...] | None:
    """The labels of arguments that are an array each."""
    labels = [t.label for t in trees.values() if type(t) is Leaf]
    return tuple(labels) if len(labels) == len(trees) else None


def _row(tree: Any) -> tuple[str, ...] | None:
    """The labels of a plain tuple of tensors, as most functions return."""
    if type(tree) is not tuple:
        return None
    parts = [x for x in cast(tuple[Any, ...], tree) if type(x) is Leaf]
    plain = len(parts) == len(cast(tuple[Any, ...], tree))
    return tuple(x.label for x in parts) if plain else None


def _at(tree: Any, path: Sequence[Any]) -> Any:
    for step in path:
        tree = step.of(tree) if type(step) is Side else tree[step]
    return tree


def places(tree: Any, path: tuple[Any, ...]) -> list[tuple[str, tuple[Any, ...]]]:
    """The labels of a structure's leaves, and the keys that lead there."""
    if isinstance(tree, Leaf):
        return [(tree.label, path)]
    parts = children(tree)
    if parts is None:
        return []
    keys = cast(Mapping[Any, Any], tree) if isinstance(tree, Mapping) else count()
    keys = Side if isinstance(tree, Parts) else keys
    pairs = zip(keys, parts, strict=False)
    return [p for key, (_, part) in pairs for p in places(part, (*path, key))]
