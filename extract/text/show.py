"""The printer of kernels and schedules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence

from ...egraph.ir.text import applied, labels, named, output
from ..schedule.kernel import (
    Affine,
    Atom,
    Cond,
    Div,
    Expr,
    Host,
    Kernel,
    Mod,
    Output,
    Schedule,
    Step,
    Val,
    writes_of,
)  # fmt: skip
from .syntax import KEYWORDS

WIDTH = 88


def show(schedule: Schedule) -> str:
    """The kernels of a schedule, then its buffers and steps."""
    kernels = [s.kernel for s in schedule.steps if not isinstance(s, Host)]
    names = {k: f"k{i}" for i, k in enumerate(dict.fromkeys(kernels))}
    texts = [show_kernel(k, name) for k, name in names.items()]
    return "\n".join([*texts, *_schedule(schedule, names), ""])


def show_kernel(kernel: Kernel, name: str = "k0") -> str:
    """The text of one kernel."""
    loops = ", ".join(f"i{a} < {n}" for a, n in enumerate(kernel.extents))
    tail = f" over {loops} {{" if loops else " {"
    params = [_param(kernel, s) for s in range(len(kernel.slots))]
    head = f"kernel {name}({', '.join(params)}){tail}"
    if len(head) > WIDTH:
        lines = "".join(f"  {p},\n" for p in params)
        head = f"kernel {name}(\n{lines}){tail}"
    values = [
        f"  v{i}{_where(kernel.axes_of(free))}: {e.dtype} = {_expr(e)}"
        for i, (e, free) in enumerate(zip(kernel.exprs, kernel.free, strict=True))
    ]
    return "\n".join([head, *values, *map(_output, kernel.outputs), "}", ""])


def _param(k: Kernel, slot: int) -> str:
    dtype, size = k.slots[slot]
    words = ["constant"] if k.constant >> slot & 1 else []
    words += ["over"] if k.over >> slot & 1 else []
    words += ["out"] if slot >= k.reads else []
    return " ".join([*words, f"b{slot}: {dtype}[{size}]"])


def _where(axes: Sequence[int]) -> str:
    return _axes(axes) if axes else ""


def _axes(axes: Iterable[int]) -> str:
    return f"[{', '.join(f'i{a}' for a in axes)}]"


def _expr(e: Expr) -> str:
    match e.op:
        case "load":
            slot, offset, guard = e.attr
            place = f"b{slot}[{affine(offset)}]"
            return f"{place} if {_conds(guard)}" if guard else place
        case "const":
            return f"const {number(e.attr[0])}"
        case "index":
            return f"index {affine(e.attr[0])}"
        case "inside":
            return f"inside {_conds(e.attr[0])}".rstrip()
        case "reduce" | "scan":
            monoid, axes, acc = e.attr
            return f"{e.op} {monoid} {_values(e)} over {_axes(axes)} acc={acc}"
        case _:
            return f"{e.op} {_values(e)}"


def _values(e: Expr) -> str:
    return " ".join(f"v{a}" for a in e.args)


def _output(o: Output) -> str:
    update = ""
    value = f"v{o.expr}"
    if o.update is not None:
        mode, when, serial = o.update
        update = f"{mode} "
        value += f" when v{when} serial {_axes(serial)}"
    if o.order is not None:
        axes, count, descending, places = o.order
        update = "argsort " if places else "sort "
        direction = " descending" if descending else ""
        value += f"{direction} first {count} along {_axes(axes)}"
    return f"  b{o.slot}[{affine(o.offset)}] = {update}{value} over {_axes(o.axes)}"


def _conds(conds: Iterable[Cond]) -> str:
    return " and ".join(f"{c.low} <= {affine(c.value)} < {c.high}" for c in conds)


def number(value: float | int | bool) -> str:
    """Exactly; a float by a point, an exponent or a word."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value)
    return "nan" if math.isnan(value) else float.__repr__(value)


# ---- indices


def affine(v: Affine) -> str:
    parts = [_term(a, c) for a, c in v.terms]
    if v.const or not parts:
        parts.append(str(v.const))
    text = " + ".join(parts)
    return text.replace("+ -", "- ")


def _term(atom: Atom, coef: int) -> str:
    text = _atom(atom)
    if coef in (1, -1):
        return "-" * (coef < 0) + text
    return f"{coef} * {text}"


def _atom(a: Atom) -> str:
    match a:
        case Div(value, by):
            return f"({_operand(value)} // {by})"
        case Mod(value, by):
            return f"({_operand(value)} mod {by})"
        case Val(expr):
            return f"v{expr}"
        case _:
            return f"i{a}"


def _operand(v: Affine) -> str:
    text = affine(v)
    single = not v.const and len(v.terms) == 1 and v.terms[0][1] == 1
    return text if single else f"({text})"


# ---- schedules


def _schedule(s: Schedule, names: dict[Kernel, str]) -> list[str]:
    refs = labels((b.label for b in s.buffers), KEYWORDS)
    lines = ["schedule {"]
    lines += [
        f"  {b.kind} {named(refs[i], b.label)}: {b.type}"
        for i, b in enumerate(s.buffers)
    ]
    steps = [_step(step, s, refs, names) for step in s.steps]
    if s.once:
        lines += ["  once {", *(f"    {line}" for line in steps[: s.once]), "  }"]
    lines += [f"  {line}" for line in steps[s.once :]]
    returned = ", ".join(output(label, refs[b]) for label, b in s.outputs)
    lines.append(f"  return {returned}".rstrip())
    lines += [f"  alias {refs[o]} <- {refs[i]} {kind}" for o, i, kind in s.aliases]
    return [*lines, "}"]


def _step(
    step: Step, s: Schedule, refs: Sequence[str], names: dict[Kernel, str]
) -> str:
    written = ", ".join(refs[b] for b in writes_of(step))
    if isinstance(step, Host):
        args = [refs[a] for a in step.args]
        first = (*step.args, step.out)[0]
        operand = s.buffers[first].type.dtype
        return f"{written} = {applied(step.op, step.attrs, args, operand)}"
    read = ", ".join(refs[b] for b in step.args[: step.kernel.reads])
    return f"{written} = {names[step.kernel]}({read})"
