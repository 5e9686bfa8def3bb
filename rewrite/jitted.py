"""`jit`: optimizes a function at its calls, and finds the program that fits each."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Sequence
from pathlib import Path
from types import MethodType
from typing import Any, Unpack, cast, overload

from rewrite.backends.binding import deliver
from rewrite.backends.devices import check_device
from rewrite.egraph.ir.evaluate import InputError
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.sexpr import RuleFileError
from rewrite.lower.device import Device

from .core.kernels import KernelInfo
from .core.notices import warn
from .core.options import Asked, Options, check_options
from .core.signature import static_key
from .habits import Habits, Varied, agrees
from .optimized import Optimized
from .optimized_graph import OptimizedGraph
from .pipeline import optimize_graph
from .report.explanation import Explanation
from .xp.captured import CAPTURED
from .xp.trace import Traced, bind_names, leaves, trace_tree
from .xp.tracer import TraceError, is_tracing
from .xp.weak import NeedsValue

MANY = 8  # programs of one signature, of which the user is told
MOST = 32  # programs of one signature that differ in what is captured


class Jit:
    """A function that is optimized when it is called: see `jit`."""

    def __init__(
        self, f: Callable[..., Any], device: str | Device | None = None,
        **asked: Unpack[Asked],
    ) -> None:  # fmt: skip
        functools.update_wrapper(self, f)
        self.f, self.device, self.options = f, device, Options.of(**asked)
        self._takes_out = _takes(f, "out")
        self._ready: dict[Any, list[Optimized] | Exception] = {}
        self._fits: dict[Any, bool] = {}  # programs with symbols, at sizes
        self._habits = Habits()
        self._numbers: set[str] = set()  # captured, whose values come with each call
        self._fixed: set[str] = set()  # captured numbers whose values decide the graph
        self._untold: tuple[Any] | None = None  # the key of a failure to be told
        self._latest: Optimized | None = None

    @staticmethod
    def __traced__(made: Jit) -> Callable[..., Any]:
        """What is traced where another function calls this one."""
        return made.f

    def of(self, f: Callable[..., Any]) -> Jit:
        """Another function, compiled in the same way."""
        made = Jit(f, self.device)
        made.options = self.options
        return made

    def __get__(self, instance: Any, owner: type | None = None) -> Any:
        return self if instance is None else MethodType(self, instance)

    def __repr__(self) -> str:
        return f"<jit of {self.f!r}>"

    def __call__(self, /, *args: Any, **kwargs: Any) -> Any:
        if is_tracing():
            return self.f(*args, **kwargs)
        out, names = None, ()
        if kwargs:
            out = None if self._takes_out else kwargs.pop("out", None)
            args, names = (*args, *kwargs.values()), tuple(kwargs)
        key, sizes = self._habits.key(args, names)
        programs = self._ready.get(key)
        if sizes and not self._fits.get((key, sizes)):
            programs = None
        if type(programs) is list:
            for fast in programs:
                values = None
                if fast.captured:
                    values = fast.captured.read(args)
                    if values is None or not fast.captured.holds(values):
                        continue
                self._latest = fast
                return fast.run(args, out, values)
        return self._first(args, names, out)

    # -- the first call of its kind --

    def _first(self, args: tuple[Any, ...], names: tuple[str, ...], out: Any) -> Any:
        made = self._program(args, names)
        if isinstance(made, Optimized):
            self._latest = made
            values = made.captured.read(args) if made.captured else None
            return made.run(args, out, values)
        result = self._as_written(args, names, made)
        return result if out is None else _copied(result, out)

    def _as_written(
        self, args: tuple[Any, ...], names: tuple[str, ...], why: Exception
    ) -> Any:
        """What the function itself gives, and one warning of why it is not compiled.
        Where it fails as it did when it was traced, that error is the user's alone, and
        the next call tries again."""
        untold, self._untold = self._untold, None
        split = len(args) - len(names)
        try:
            result = self.f(
                *args[:split], **dict(zip(names, args[split:], strict=True))
            )
        except TraceError:  # array code cannot run without a graph: what went wrong
            raise why from None
        except Exception as e:
            if untold and (type(e), str(e)) != (type(why), str(why)):
                self._tell(why)
            raise
        if untold:
            self._ready[untold[0]] = why
            self._tell(why)
        return result

    def _tell(self, why: Exception) -> None:
        warn(f"{getattr(self.f, '__name__', 'function')} runs as written: {why}")

    def _program(
        self, args: tuple[Any, ...], names: tuple[str, ...]
    ) -> Optimized | Exception:
        """The program for a call that none is known to fit, compiled if need be."""
        self._learn(args, names)
        while True:
            varied = self._habits.varied(args, names, tuple(self._bound(args, names)))
            known = self._ready.get(varied.key)
            if isinstance(known, Exception):
                return known
            fast = self._fitting(known or [], varied, args, names)
            if fast is not None:
                return fast
            try:
                traced = self._trace(varied.examples, names)
                self._check(traced, varied, names)
                made: Optimized | Exception = self._optimized(traced)
            except RuleFileError:  # of `rules=`: what was asked for cannot be done
                raise
            except Exception as e:
                if self._generalized_less(e, varied):
                    continue
                # The contract of a drop-in: the user's function runs, and says why.
                if not self.options.fallback:
                    raise
                self._untold = (varied.key,)
                return e
            others = known or []
            if len(others) == MANY:
                self._warn_of_many(others[0], args)
            self._ready[varied.key] = [made, *others[: MOST - 1]]
            if varied.sizes:
                self._fits[varied.key, varied.sizes] = True
            return made

    def _warn_of_many(self, latest: Optimized, args: tuple[Any, ...]) -> None:
        changed = latest.captured.changed(latest.captured.read(args))
        warn(
            f"{getattr(self.f, '__name__', 'function')} is compiled again and again, "
            f"for what it captures changes ({changed}): pass that as an argument"
        )

    def _learn(self, args: tuple[Any, ...], names: tuple[str, ...]) -> None:
        """What changes from call to call, before a program is made for this one."""
        key, _ = self._habits.key(args, names)
        known = self._ready.get(key)
        self._habits.learn(args)
        if type(known) is list and known:
            values = known[0].captured.read(args)
            changed = known[0].captured.only_numbers_differ(values) if values else []
            self._numbers.update(set(changed) - self._fixed)

    def _fitting(
        self, known: Sequence[Optimized], varied: Varied, args: tuple[Any, ...],
        names: tuple[str, ...],
    ) -> Optimized | None:  # fmt: skip
        """A program that is there already, and right at these sizes."""
        for fast in known:
            values = fast.captured.read(args)
            if values is None or not fast.captured.holds(values):
                continue
            if not varied.sizes:
                return fast
            place = varied.key, varied.sizes
            if place not in self._fits:
                try:
                    exact = self._trace(varied.exact, names)
                    self._fits[place] = agrees(fast.traced, exact, varied.bound)
                except NeedsValue:
                    raise
                except Exception:
                    # It cannot be traced at these sizes: the exact program says why.
                    self._fits[place] = False
            if self._fits[place]:
                return fast
            self._habits.exactly(varied)
            return None
        return None

    def _check(self, traced: Traced, varied: Varied, names: tuple[str, ...]) -> None:
        """TraceError where symbols hide what these sizes decide."""
        if varied.sizes and not agrees(
            traced, self._trace(varied.exact, names), varied.bound
        ):
            raise TraceError("another graph at other sizes")

    def _bound(self, args: tuple[Any, ...], names: tuple[str, ...]) -> dict[str, Any]:
        """The arguments by the names of the function's parameters."""
        split = len(args) - len(names)
        bound = bind_names(self.f, args[:split])
        return bound | dict(zip(names, args[split:], strict=True))

    def _trace(self, examples: tuple[Any, ...], names: tuple[str, ...]) -> Traced:
        bound = self._bound(examples, names)
        return trace_tree(
            self.f, bound, capture=True, keywords=names, numbers=self._numbers
        )

    def _optimized(self, traced: Traced) -> Optimized:
        return Optimized(
            traced,
            OptimizedGraph.of(optimize_graph(traced.graph, self.device, self.options)),
            function=self.f,
        )

    def _generalized_less(self, e: Exception, varied: Varied) -> bool:
        """After a failure: whether less is left open now, so that it may go."""
        if isinstance(e, NeedsValue):
            mine = {p.removeprefix(CAPTURED) for p in e.paths if CAPTURED in p}
            self._fixed |= mine
            self._numbers -= mine
            self._habits.fix(p for p in e.paths if CAPTURED not in p)
            return True
        if varied.sizes or varied.numbers or self._numbers:
            self._fixed |= self._numbers
            self._numbers.clear()
            self._habits.fix(varied.numbers)
            self._habits.close(varied)
            return True
        return False

    # -- what there is to see --

    @property
    def latest(self) -> Optimized:
        """The program of the latest call."""
        if self._latest is None:
            name = getattr(self.f, "__name__", "the function")
            raise InputError(
                f"{name} has not been compiled: call it first"
                + (", and see the warning of why it runs as written" if self._ready
                   else "")
            )  # fmt: skip
        return self._latest

    @property
    def graph(self) -> Graph:
        return self.latest.graph

    @property
    def schedule(self) -> str:
        return self.latest.schedule

    @property
    def kernels(self) -> list[KernelInfo]:
        return self.latest.kernels

    def code(self) -> str:
        return self.latest.code()

    def save(self, path: str | Path) -> None:
        self.latest.save(path)

    def explain(
        self, node: str = "", kernel: str = "", *, ablate: bool = False,
        run: bool = True,
    ) -> Explanation:  # fmt: skip
        return self.latest.explain(node, kernel, ablate=ablate, run=run)


@overload
def jit(
    f: Callable[..., Any], *, device: str | Device | None = None,
    **asked: Unpack[Asked],
) -> Jit: ...  # fmt: skip
@overload
def jit(
    f: None = None, *, device: str | Device | None = None, **asked: Unpack[Asked]
) -> Callable[[Callable[..., Any]], Jit]: ...
def jit(
    f: Any = None, *, device: str | Device | None = None, **asked: Unpack[Asked]
) -> Any:
    """A decorator: optimizes at the first call with each set of shapes and types.

    Options are those of `optimize`.  What is no array (strings, flags) is part of the
    key; so are numbers and sizes, until they are seen to change.  Arrays that the
    function captures are read at each call (docs/jit.md).  If the optimizer fails the
    function runs as it is, with one warning, where it can run without a graph;
    `fallback=False` raises instead.  A call takes `out=` as `Optimized` does, unless
    the function has an `out` itself.  `.schedule`, `.graph`, `.kernels`, `.explain()`
    and `.save(path)` are those of the latest call's program.
    """
    check_options(Options.of(**asked))
    check_device(device)
    if asked.get("hints"):
        raise TypeError(
            "jit finds sizes at its calls, and its symbols have no names of yours: "
            "hints= is for rewrite.optimize with symbolic sizes"
        )
    if f is not None and not callable(f) and not isinstance(f, classmethod):
        raise TypeError(
            f"jit: a function was expected, found {f!r}; options go by name"
        )
    if f is None:
        return functools.partial(jit, device=device, **asked)
    if isinstance(f, classmethod | staticmethod):
        inner = cast(Any, f)
        return type(inner)(Jit(inner.__func__, device, **asked))
    return Jit(f, device, **asked)


def _takes(f: Callable[..., Any], name: str) -> bool:
    """Whether a keyword is the function's own."""
    try:
        known = inspect.signature(f).parameters.values()
    except (ValueError, TypeError):  # a builtin without a signature
        return False
    return any(p.name == name or p.kind is p.VAR_KEYWORD for p in known)


def _copied(result: Any, out: Any) -> Any:
    """What the function returned as it is, in the caller's arrays."""
    if static_key(result, "out") != static_key(out, "out"):
        raise InputError("out: arrays in the structure of the result expected")
    deliver(leaves({"result": result}), leaves({"result": out}))
    return out


__all__ = ["Jit", "jit"]
