"""C for the host: each function an entry that takes a table of buffers.

A grid becomes a parallel loop over a function of its own, whose parameters carry
`restrict`: the outlining of OpenMP would lose it.  Buffers of one launch must not
overlap.  `rw_run` runs a list of launches, so that a program is one foreign call.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..device import DeviceError
from ..loops import For, Function, Param, Stmt
from .cfamily import Printer
from .dialects import C
from .expressions import Scope, name_of
from .lanes import stored
from .stages import Stage, index_lets, stages, work

PARALLEL_WORK = 1 << 16  # scalar operations below which waking threads costs more

_RUNNER = """\
int rw_threads = 1;
typedef struct {
  void (*run)(void *const *buffers);
  void *const *buffers;
} rw_call;
void rw_run(const rw_call *calls, i64 count) {
  for (i64 i = 0; i < count; i++) calls[i].run(calls[i].buffers);
}
"""


def entry_name(function: str) -> str:
    return f"k_{function}"


def source(functions: Sequence[Function]) -> str:
    printer = Printer(C)
    texts: dict[str, str] = {}
    for f in functions:
        if f.name in texts:
            raise DeviceError(f"two functions are called {f.name!r}")
        texts[f.name] = _function(printer, f)
    return "\n".join((C.header, *printer.helpers.values(), _RUNNER, *texts.values()))


def _function(printer: Printer, function: Function) -> str:
    params = (*function.params, *function.scratch)
    found = stages(function)
    texts = [_stage(printer, s, params) for s in found]
    lines = [f"void {entry_name(function.name)}(void *const *rw_b) {{"]
    for i, p in enumerate(params):
        lines.append(f"  {_pointer(p)}{name_of(p.name)} = rw_b[{i}];")
    for stage in found:
        lines += _call(stage, params)
    return "\n".join((*texts, *lines, "}", ""))


def _pointer(p: Param) -> str:
    return f"{'' if p.writable else 'const '}{stored(p.dtype)} *"


def _stage(printer: Printer, stage: Stage, params: tuple[Param, ...]) -> str:
    loops, body = _split(stage)
    scope = Scope({p.name: p.dtype for p in params})
    for loop in loops:
        scope = scope.with_index(loop.var.name, loop.step, wide=True)
    printer.index_only = index_lets(stage.body)
    variables = [f"const i64 {name_of(x.var.name)}" for x in loops]
    pointers = [f"{_pointer(p)}restrict {name_of(p.name)}" for p in params]
    head = ", ".join((*variables, *pointers))
    lines = printer.block(body, scope, 1)
    return "\n".join((f"static void {stage.name}({head}) {{", *lines, "}", ""))


def _split(stage: Stage) -> tuple[tuple[For, ...], tuple[Stmt, ...]]:
    """The loops that threads share, and the body of one of their iterations.

    Where the innermost loop of a grid has a plain body, it stays with it as `simd`.
    """
    *outer, last = stage.loops or (None,)
    plain = not any(isinstance(s, For) for s in stage.body)
    if stage.kind == "grid" and outer and last and plain:
        return tuple(outer), (replace(last, kind="simd", body=stage.body),)
    return stage.loops, stage.body


def _call(stage: Stage, params: tuple[Param, ...]) -> list[str]:
    loops, body = _split(stage)
    lines: list[str] = []
    if loops and stage.points * work(stage.body) >= PARALLEL_WORK:
        collapse = f" collapse({len(loops)})" if len(loops) > 1 else ""
        simd = "" if any(isinstance(s, For) for s in body) else " simd"
        lines.append(
            f"  #pragma omp parallel for{simd}{collapse} num_threads(rw_threads)"
            " schedule(static)"
        )
    for depth, loop in enumerate(loops, 1):
        v = name_of(loop.var.name)
        step = f"{v}++" if loop.step == 1 else f"{v} += {loop.step}"
        lines.append(f"{'  ' * depth}for (i64 {v} = 0; {v} < {loop.extent}; {step})")
    args = [name_of(x.var.name) for x in loops] + [name_of(p.name) for p in params]
    lines.append(f"{'  ' * (len(loops) + 1)}{stage.name}({', '.join(args)});")
    return lines
