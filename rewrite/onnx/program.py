"""A model that runs: one program, or one for each value that shapes depend on."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
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
from rewrite.egraph.ir.dtypes import spelled
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Graph, GraphError
from rewrite.egraph.ir.scalars import Array
from rewrite.lower.device import Device
from rewrite.xp.trace import Leaf

from .hosts import Host
from .model import Model, NeedsInputs, load, open_model
from .regions import Hosted, Makers, Regions, piece_of
from .types import DTYPES, tensor_type
from .value import Malformed, ModelError

TRIES = 8  # rounds of finding inputs that shapes depend on
KEPT = 64  # programs of one model, the last used
MORE = 2  # times as many nodes in graphs as a host runs, or it runs all of them

type Key = tuple[Any, ...]


class Program:
    """Call it with a mapping of inputs; the outputs come by name.

    Where shapes depend on the values of small inputs (`axes`, a new shape), a program
    is compiled for each set of such values; where the model cannot be read for all
    sizes of inputs, for each set of sizes that comes.  What graphs cannot hold
    (strings, sequences, sizes that only data decide) runs by ONNX Runtime where that is
    installed, else by ONNX's reference implementation, with one warning, and the rest
    of the model is compiled; with `fallback=False` that is an error.
    """

    def __init__(
        self, model: onnx.ModelProto, device: Any, dims: Mapping[str, int],
        options: Asked, divided: bool = True,
    ) -> None:  # fmt: skip
        """`divided`: where no graph holds the model, its parts may be compiled."""
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
        self._strict = options.get("precision") == "strict"
        self._host = Host(model, self._strict)
        self._regions = self._divided() if divided else None
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
        if not isinstance(inputs, Mapping):  # pyright: ignore[reportUnnecessaryIsInstance]
            names = ", ".join(f"{n!r}: …" for n in self.inputs)
            raise TypeError(f"arrays by name were expected, as in f({{{names}}})")
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
        return self._otherwise(arrays, result)

    def _divided(self) -> Regions:
        declared = {
            i.name: i.type
            for i in self.model.graph.input
            if i.type.HasField("tensor_type") and i.type.tensor_type.HasField("shape")
        }

        def compiled(model: onnx.ModelProto) -> Program:
            options: Asked = {**self.options, "fallback": True}
            return Program(model, self.device, self.dims, options, divided=False)

        def hosted(
            model: onnx.ModelProto,
        ) -> Callable[[Mapping[str, Any]], dict[str, Any]]:
            host = Host(model, self._strict)
            names = [o.name for o in model.graph.output]

            def run(arrays: Mapping[str, Any]) -> dict[str, Any]:
                return dict(zip(names, host.run(arrays), strict=True))

            return run

        makers = Makers(compiled, hosted, self.dims)
        return Regions(piece_of(self.model), {**declared}, makers)

    def _otherwise(self, arrays: Mapping[str, Any], why: ModelError) -> dict[str, Any]:
        """By regions, else by a host."""
        if not self.options.get("fallback", True):
            raise why
        if self._regions is not None and not isinstance(why, Malformed):
            try:
                if self._regions.divides(arrays):
                    return self._in_regions(self._regions, arrays)
            except Exception as e:
                # What a host runs as a whole does not fail because of its parts.
                self._regions = None
                self._say(f"by parts the model fails ({type(e).__name__}: {e})")
        return self._on_host(arrays, why)

    def _in_regions(
        self, regions: Regions, arrays: Mapping[str, Any]
    ) -> dict[str, Any]:
        results = regions(dict(arrays))
        for hosted in regions.hosted:
            self._say(f"{hosted.reason}; a host runs this node")
        if MORE * len(regions.hosted) > regions.computed:
            self._regions = None  # from now on: handing over would cost more
        return {name: results[name] for name in self.outputs}

    @property
    def hosted(self) -> tuple[Hosted, ...]:
        """The nodes between compiled parts, as far as these were made."""
        return tuple(self._regions.hosted) if self._regions else ()

    def _say(self, message: str) -> None:
        if message not in self._said:
            self._said.add(message)
            warn(message)

    def _on_host(self, arrays: Mapping[str, Any], why: ModelError) -> dict[str, Any]:
        try:
            results = self._host.run(arrays)
        except Exception as e:
            # The first error is that of the model; the second is the host's.
            raise ModelError(f"{why}; the host: {e}") from e
        self._say(f"{why}; {self._host.name} runs this model")
        return dict(zip(self.outputs, results, strict=True))

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
            raise InputError(
                f"input {name!r}: {want} expected, found {spelled(array.dtype)}"
            )
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
    opened = open_model(model)
    _check_dims(opened, dims or {})
    return Program(opened, device, dims or {}, asked)


def _check_dims(model: onnx.ModelProto, dims: Mapping[str, Any]) -> None:
    infos = (*model.graph.input, *model.graph.output, *model.graph.value_info)
    every = (d.dim_param for i in infos for d in i.type.tensor_type.shape.dim)
    texts = [x for x in dict.fromkeys(every) if x]
    known = {*texts, *(n for x in texts for n in re.findall(r"[A-Za-z_]\w*", x))}
    for name, size in dims.items():
        if name not in known:
            among = ", ".join(texts) or "none"
            raise ValueError(
                f"dims: the model has no dimension {name!r}; those named: {among}"
            )
        if not isinstance(size, int) or isinstance(size, bool) or size < 0:
            raise ValueError(f"dims: {name}={size!r}: a size of 0 or more was expected")


__all__ = ["Program", "compile"]
