"""`rewrite calibrate`: measures a device, so that predictions are of it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Annotated

import typer
from rich.table import Table

from .terminal import AsJson, DeviceName, fail, out, plain_errors, progress_bar

if TYPE_CHECKING:
    from ..tuning.calibrate import Measured

UNITS = {
    "launch": (1e6, "us"), "alone": (1e6, "us, where one thread runs it"),
    "bandwidth": (1e-9, "GB/s"),
    "cache_bandwidth": (1e-9, "GB/s"), "scalar": (1e-9, "Gflop/s"),
    "product": (1e-9, "G multiply-adds/s"),
}  # fmt: skip


def calibrate(
    device: DeviceName = None,
    rounds: Annotated[int, typer.Option(help="Rounds of measuring.", min=3)] = 45,
    forget: Annotated[
        bool, typer.Option("--forget", help="Delete what was measured.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure a device's launch cost and rates, and store them for the cost model.

    From then on, extraction and lowering on this machine use the result. It takes some
    seconds; leave the machine alone meanwhile.
    """
    from rewrite.backends.devices import pick_device
    from rewrite.backends.rates import keep, rates
    from rewrite.backends.store import root

    from ..tuning.calibrate import calibrate as measured

    with plain_errors(), progress_bar() as tell:
        if root() is None:
            fail("REWRITE_CACHE=off keeps no measurements; name a folder")
        target = pick_device(device)
        if target.caps().interprets:
            fail(f"--device {target.name}: the interpreter has no cost to be measured")
        detail = target.probe().detail
        kept = dict(rates(target.name, detail))
        try:
            keep(
                target.name, detail, {}
            )  # what was kept must not decide how probes run
            result = None if forget else measured(target, rounds, tell)
            kept = result.rates if result else {}
        finally:  # an interrupt leaves what was known
            written = keep(target.name, detail, kept)
        if not written:
            fail(f"{root()} cannot be written; REWRITE_CACHE names another folder")
    if result is None:
        print("{}") if as_json else out.print(f"{target.name}: as assumed of its kind")
    elif as_json:
        said = {f.name: [f.assumed, f.measured] for f in result.single}
        print(json.dumps({**said, "traffic": result.traffic}, indent=2))
    else:
        out.print(_table(result))
        out.print(f"{target.name} ({detail}), {rounds} turns; kept")


def _table(found: Measured) -> Table:
    """A line for each coefficient, and for each point of the curve of traffic."""
    table = Table("", "assumed", "measured", "", box=None)
    for f in found.single:
        scale, unit = UNITS[f.name]
        cells = (f"{x * scale:.3g}" for x in (f.assumed, f.measured))
        table.add_row(f.name, *cells, unit)
    scale, unit = UNITS["bandwidth"]
    for size, seconds in found.traffic:
        rate = size / seconds * scale
        table.add_row(f"of {size / 1024:.0f} KiB", "", f"{rate:.3g}", unit)
    return table


__all__ = ["calibrate"]
