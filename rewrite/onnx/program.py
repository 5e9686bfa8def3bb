"""A model that runs: one program, or one for each value that shapes depend on."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Unpack

import numpy as np
import onnx

from rewrite.api import compile_graph
from rewrite.core.bundle import save
from rewrite.core.compiled import Compiled
from rewrite.core.notices import warn
from rewrite.core.options import Asked, Options
from rewrite.egraph.ir.dims import Shape, solve
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.device import Device
from rewrite.xp.trace import Leaf

from .hosts import Run, hosts
from .model import Model, NeedsInputs, load, open_model
from .types import DTYPES, tensor_type
from .value import ModelError

TRIES = 8  # rounds of finding inputs that shapes depend on
KEPT = 64  # programs of one model, the last used

type Key = tuple[Any, ...]


class Program:
    """Call it with a mapping of inputs; the outputs come by name.

    Where shapes depend on the values of small inputs (`axes`, a new shape), a program
    is compiled for each set of such values; where the model cannot be read for all
    sizes of inputs, for each set of sizes that comes.  What graphs cannot hold
    (strings, sequences, sizes that only data decide) runs by ONNX Runtime where that is
    installed, else by ONNX's reference implementation, with one warning; with
    `fallback=False` that is an error.
    """

    def __init__(
        self, model: onnx.ModelProto, device: Any, dims: Mapping[str, int],
        options: Asked,
    ) -> None:  # fmt: skip
        self.model, self.device, self.dims = model, device, dims
        self.options = options
        stored = {t.name for t in model.graph.initializer}
        infos = [i for i in model.graph.input if i.name not in stored]
        self.inputs = tuple(i.name for i in infos)
        self.outputs = tuple(o.name for o in model.graph.output)
        self._names = frozenset(self.inputs)
        self._tensors = {
            i.name: DTYPES.get(i.type.tensor_type.elem_type)
            for i in infos
            if i.type.HasField("tensor_type")
        }
        self._symbolic = any(not isinstance(d, int) for s in self._shapes for d in s)
        self._tried: dict[tuple[tuple[int, ...], ...], tuple[dict[str, int], ...]] = {}
        self._needs: frozenset[str] = frozenset()
        self._ready: dict[Key, Compiled | ModelError] = {}
        self._said: set[str] = set()
        self._hosts = hosts(model, options.get("precision") == "strict")
        self._host: Run | None = None
        try:  # what needs no inputs is compiled now: errors come before the first call
            made = self._made((), {}, {})
        except NeedsInputs as e:
            self._needs = e.names
        else:
            final = not self._symbolic and not options.get("fallback", True)
            if isinstance(made, ModelError) and final:
                raise made

    def _made(
        self, key: Key, given: Mapping[str, Array], sizes: Mapping[str, int]
    ) -> Compiled | ModelError:
        """The program for a key, or why the host runs it."""
        if key in self._ready:
            self._ready[key] = self._ready.pop(key)  # the last used is last
            return self._ready[key]
        try:
            graph = load(self.model, {**self.dims, **sizes}, given)
            result = compile_graph(graph, self.device, **self.options)
        except NeedsInputs:
            raise
        except ModelError as e:
            result = e
        self._ready[key] = result
        if len(self._ready) > KEPT:
            del self._ready[next(iter(self._ready))]
        return result

    @cached_property
    def _shapes(self) -> list[Shape]:
        """Of each input, as far as it is declared."""
        shapes: list[Shape] = []
        for info in self.model.graph.input:
            if info.name in self._names:
                try:
                    shapes.append(tensor_type(info.type, info.name, self.dims).shape)
                except ModelError:
                    shapes.append(())
        return shapes

    def _tries(self, arrays: Mapping[str, Any]) -> tuple[dict[str, int], ...]:
        """The sizes to read the model for, most general first, until one runs; worked
        out once for shapes, for that takes as long as a small model."""
        if not self._symbolic:
            return ({},)
        shapes = tuple(arrays[name].shape for name in self._tensors)
        if shapes not in self._tried:
            sizes = self._sizes(shapes)
            alone = [{s: n} for s, n in sizes.items()] if len(sizes) > 1 else []
            # Symbols stand for 1 or more.
            general = [{}, *alone] if sizes and 0 not in sizes.values() else []
            self._tried[shapes] = (*general, sizes)
            if len(self._tried) > KEPT:
                del self._tried[next(iter(self._tried))]
        return self._tried[shapes]

    def _sizes(self, shapes: Iterable[tuple[int, ...]]) -> dict[str, int]:
        """What tensors of these shapes say of the sizes without a number."""
        sizes: dict[str, int] = {}
        declared = dict(zip(self.inputs, self._shapes, strict=True))
        for name, have in zip(self._tensors, shapes, strict=True):
            for d, n in zip(declared[name], have, strict=False):
                found = solve(d, n)
                sizes |= dict([found] if found else ())
        return sizes

    @property
    def programs(self) -> tuple[Compiled | ModelError, ...]:
        """Those made so far, or why one could not be; the last used is last."""
        return tuple(self._ready.values())

    @property
    def reason(self) -> str:
        """Why the host runs the whole model; empty where it does not."""
        result = self._ready.get(())
        return str(result) if isinstance(result, ModelError) else ""

    @property
    def compiled(self) -> Compiled:
        """The compiled graph of a model whose shapes depend on no input's value."""
        result = self._ready.get(())
        if isinstance(result, Compiled):
            return result
        needs = ", ".join(sorted(self._needs))
        raise ModelError(self.reason or f"shapes depend on the inputs {needs}")

    @property
    def graph(self) -> Graph:
        return self.compiled.source

    def save(self, path: str | Path) -> None:
        """Writes a bundle, which `rewrite.load` reads: called as this is, without ONNX.
        An error where more than one program, or the host, runs the model."""
        inputs = {name: Leaf(name) for name in self.inputs}
        outputs = {name: Leaf(name) for name in self.outputs}
        save(self.compiled, Path(path), ({"inputs": inputs}, outputs, {}))

    def __call__(self, inputs: Mapping[str, Any]) -> dict[str, Any]:
        self._check(inputs)
        arrays = {k: self._typed(k, inputs[k]) for k in self.inputs}
        tries = self._tries(arrays)
        result: Compiled | ModelError = ModelError("")
        for bound in tries:
            result = self._for(arrays, bound)
            if isinstance(result, ModelError):
                continue
            try:
                return result(arrays)
            except (GraphError, InputError):
                # Slices that reach beyond these sizes, or sizes that are not the
                # multiples that the model was read for.
                if bound is tries[-1]:
                    raise
        assert isinstance(result, ModelError)
        return self._on_host(arrays, result)

    def _on_host(self, arrays: Mapping[str, Any], why: ModelError) -> dict[str, Any]:
        if not self.options.get("fallback", True):
            raise why
        try:
            results, name = self._hosted(arrays)
        except Exception as e:
            # The first error is that of the model; the second is the host's.
            raise ModelError(f"{why}; the host: {e}") from e
        if str(why) not in self._said:
            self._said.add(str(why))
            warn(f"{why}; {name} runs this model")
        return dict(zip(self.outputs, results, strict=True))

    def _hosted(self, arrays: Mapping[str, Any]) -> tuple[Sequence[Any], str]:
        """By the first host that takes the model and these inputs, kept for later."""
        while self._host is not None:
            try:
                return self._host.run(arrays), self._host.name
            except Exception:
                following = next(self._hosts, None)
                if following is None:
                    raise
                self._host = following
        self._host = next(self._hosts, None)
        if self._host is None:
            raise ModelError("there is none that takes the model")
        return self._hosted(arrays)

    def _check(self, inputs: Mapping[str, Any]) -> None:
        if self._names == frozenset(inputs):
            return
        for names, what in ((set(self.inputs) - set(inputs), "missing"),
                            (set(inputs) - set(self.inputs), "unknown")):  # fmt: skip
            if names:
                raise ModelError(
                    f"{what} input {', '.join(sorted(names))}; the model takes "
                    f"{', '.join(self.inputs) or 'none'}"
                )

    def _typed(self, name: str, value: Any) -> Any:
        """An array of the declared type; sequences and optionals stay as they are."""
        if name not in self._tensors:
            return value
        try:
            array = np.asarray(value)
        except ValueError as e:
            raise InputError(f"input {name!r}: no array ({e})") from None
        want = self._tensors[name]
        if want is not None and array.dtype != want.numpy:
            raise InputError(f"input {name!r}: {want} expected, found {array.dtype}")
        return array

    def _for(
        self, arrays: Mapping[str, Any], sizes: Mapping[str, int]
    ) -> Compiled | ModelError:
        """The program for these values, made once; an error: the host runs."""
        for _ in range(TRIES):
            given = {name: arrays[name] for name in sorted(self._needs)}
            values = tuple((a.shape, a.tobytes()) for a in given.values())
            key = (*given, *values, *sorted(sizes.items()))
            try:
                return self._made(key, given, sizes)
            except NeedsInputs as e:
                self._needs |= e.names
        raise ModelError(f"shapes depend on ever more inputs: {sorted(self._needs)}")


def compile(
    model: Model,
    device: str | Device | None = None,
    *,
    dims: Mapping[str, int] | None = None,
    **asked: Unpack[Asked],
) -> Program:
    """The model, optimized for a device: call the result with a mapping of inputs.

    `dims` fixes named dimensions; the other options are those of `rewrite.optimize`.
    """
    Options.of(**asked)  # an option that there is not is told at once
    return Program(open_model(model), device, dims or {}, asked)


__all__ = ["Program", "compile"]
