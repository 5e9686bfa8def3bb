"""C for the host: each function an entry that takes a table of buffers.

The points of a grid are numbered; a span of them is a function, which the pool of
threads runs piece by piece, over a function of one point whose parameters carry
`restrict`, but for buffers that may share memory (`Param`).  `rw_run` runs a list of
launches, so that a program is one foreign call, and `rw_run_beside` several such lists,
a thread each.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from ..device import DeviceError
from ..loops import For, Function, Gemm, Param, Sort, Stmt
from ..passes.abreast import abreast
from ..passes.bytes import bytes_by_eights
from ..passes.hoist import hoist
from ..passes.widen import widen
from ..walking import trips, walk
from .cfamily import Printer
from .dialects import C
from .expressions import Scope, name_of
from .lanes import stored
from .layout import LEGEND, comment, headed
from .stages import Stage, index_lets, stages, work
from .streams import streaming

type Loops = tuple[For, ...]
type Body = tuple[Stmt, ...]
type Params = tuple[Param, ...]

_SPAN = "void *const *rw_b, i64 rw_begin, i64 rw_end"
PARALLEL_WORK = 1 << 16  # scalar operations below which waking threads costs more

_RUNNER = """\
typedef void (*rw_span)(void *const *buffers, i64 begin, i64 end);
void (*rw_pool)(rw_span run, void *const *buffers, i64 count, i64 least);
typedef struct {
  void (*run)(void *const *buffers);
  void *const *buffers;
} rw_call;
void rw_run(const rw_call *calls, i64 count) {
  for (i64 i = 0; i < count; i++) calls[i].run(calls[i].buffers);
}
typedef struct {
  const rw_call *calls;
  i64 count;
} rw_list;
static void rw_lists(void *const *lists, i64 begin, i64 end) {
  const rw_list *list = (const rw_list *)lists;
  for (i64 i = begin; i < end; i++) rw_run(list[i].calls, list[i].count);
}
void rw_run_beside(const rw_list *lists, i64 count) {
  rw_pool(rw_lists, (void *const *)lists, count, 1);
}
"""


# The values are those of cblas.h; a device sets the pointers (`backends/blas.py`).
_LIBRARY = "\n".join((
    "enum { RW_ROWS = 101, RW_AS_IT_IS = 111, RW_TURNED = 112 };",
    *(f"void (*rw_{letter}gemm)(int order, int ta, int tb, i64 m, i64 n, i64 k, {t} x, "
      f"const {t} *a, i64 lda, const {t} *b, i64 ldb, {t} y, {t} *c, i64 ldc);"
      for letter, t in (("s", "float"), ("d", "double"))),
    "",
))  # fmt: skip


# A device sets the pointer (`backends/native/orders.py`).
_SORTS = """\
void (*rw_order)(int kind, const void *source, i64 step, i64 n, i64 count,
                 int descending, int width, void *out, i64 out_step, void *work,
                 i64 parts);
"""


def entry_name(function: str) -> str:
    return f"k_{function}"


def source(functions: Sequence[Function]) -> str:
    printer = Printer(C)
    texts: dict[str, str] = {}
    for f in functions:
        if f.name in texts:
            raise DeviceError(f"two functions are called {f.name!r}")
        texts[f.name] = _function(printer, widen(bytes_by_eights(hoist(abreast(f)))))
    calls = (isinstance(s, Gemm) for f in functions for s in walk(f.body))
    library = (_LIBRARY,) if any(calls) else ()
    if any(isinstance(s, Sort) for f in functions for s in walk(f.body)):
        library = (*library, _SORTS)
    head = (C.header, *printer.helpers.values(), _RUNNER, *library, LEGEND)
    return "\n".join((*head, *texts.values()))


def _function(printer: Printer, function: Function) -> str:
    params = (*function.params, *function.scratch)
    texts = [comment(function)]
    calls: list[str] = []
    for stage in stages(function):
        loops, body = _split(stage)
        texts += [_point(printer, stage, loops, body, params),
                  _span(stage, loops, body, params)]  # fmt: skip
        calls.append(_call(stage, loops))
    head = f"void {entry_name(function.name)}(void *const *rw_b) {{"
    return "\n".join((*texts, head, *calls, "}", ""))


def _pointer(p: Param) -> str:
    return f"{'' if p.writable else 'const '}{stored(p.dtype)} *"


def _point(
    printer: Printer, stage: Stage, loops: Loops, body: Body, params: Params
) -> str:
    scope = Scope({p.name: p.dtype for p in params})
    for loop in loops:
        scope = scope.with_index(loop.var.name, loop.step, wide=True)
    printer.index_only = index_lets(stage.body)
    variables = [f"const i64 {name_of(x.var.name)}" for x in loops]
    alone = ("" if p.shared else "restrict " for p in params)
    pointers = [
        f"{_pointer(p)}{word}{name_of(p.name)}"
        for p, word in zip(params, alone, strict=True)
    ]
    lines = printer.block(body, scope, 1)
    head = headed(f"static void {stage.name}", (*variables, *pointers), " {")
    return "\n".join((head, *lines, "}", ""))


def _split(stage: Stage) -> tuple[tuple[For, ...], tuple[Stmt, ...]]:
    """The loops that threads share, and the body of one of their iterations.

    Where the innermost loop of a grid has a plain body, it stays with it as `simd`.
    """
    *outer, last = stage.loops or (None,)
    plain = not any(isinstance(s, For | Sort) for s in stage.body)
    if stage.kind == "grid" and outer and last and plain:
        return tuple(outer), (replace(last, kind="simd", body=stage.body),)
    return stage.loops, stage.body


def _span(stage: Stage, loops: Loops, body: Body, params: Params) -> str:
    """The points numbered `rw_begin` up to `rw_end`, last loop fastest."""
    lines = [f"  {_pointer(p)}{name_of(p.name)} = rw_b[{i}];"
             for i, p in enumerate(params)]  # fmt: skip
    if stage.kind != "library" and not any(isinstance(s, For | Sort) for s in body):
        lines.append("  #pragma omp simd")
    lines.append("  for (i64 rw_i = rw_begin; rw_i < rw_end; rw_i++) {")
    lines += [f"    const i64 {x}" for x in _coordinates(loops)]
    args = [*(name_of(x.var.name) for x in loops), *(name_of(p.name) for p in params)]
    lines += [f"    {stage.name}({', '.join(args)});", "  }"]
    kinds = {p.name: p.dtype for p in params}
    if any(isinstance(s, For) and streaming(s, kinds) for s in walk(body)):
        lines.append("  rw_streamed();")
    head = f"static void {stage.name}_span({_SPAN}) {{"
    return "\n".join((head, *lines, "}", ""))


def _coordinates(loops: Loops) -> list[str]:
    result: list[str] = []
    inner = 1
    for depth, loop in reversed(list(enumerate(loops))):
        at = f"rw_i / {inner}" if inner > 1 else "rw_i"
        if depth:
            at = f"{at} % {trips(loop)}"
        if loop.step > 1:
            at = f"{at} * {loop.step}"
        result.append(f"{name_of(loop.var.name)} = {at};")
        inner *= trips(loop)
    return result


def _call(stage: Stage, loops: Loops) -> str:
    count = math.prod(map(trips, loops))
    every = stage.points * work(stage.body)
    if not loops or every < PARALLEL_WORK:
        return f"  {stage.name}_span(rw_b, 0, {count});"
    least = -(-count * PARALLEL_WORK // (2 * every))
    return f"  rw_pool({stage.name}_span, rw_b, {count}, {least});"
