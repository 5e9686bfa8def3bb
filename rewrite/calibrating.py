"""`rewrite calibrate`: measures a device, so that predictions are of it."""

from __future__ import annotations

import json
from typing import Annotated

import typer
from rich.table import Table

from .terminal import AsJson, DeviceName, fail, out, plain_errors, progress_bar

UNITS = {
    "launch": (1e6, "us"), "bandwidth": (1e-9, "GB/s"),
    "cache_bandwidth": (1e-9, "GB/s"), "scalar": (1e-9, "Gflop/s"),
    "product": (1e-9, "G multiply-adds/s"),
}  # fmt: skip


def calibrate(
    device: DeviceName = None,
    rounds: Annotated[int, typer.Option(help="Turns of each probe.", min=3)] = 15,
    forget: Annotated[
        bool, typer.Option("--forget", help="Go back to what is assumed of its kind.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Measure what a launch costs on a device and how fast it is, and keep that.

    Extraction and lowering go by it from then on, on this machine. Leave the machine
    alone meanwhile; it takes some seconds.
    """
    from rewrite.backends.rates import keep
    from rewrite.backends.store import root

    from .calibrate import calibrate as measured
    from .compile import pick_device

    with plain_errors(), progress_bar() as tell:
        if root() is None:
            fail("REWRITE_CACHE=off keeps no measurements; name a folder")
        target = pick_device(device)
        if target.name == "numpy":
            fail("--device numpy: the interpreter has no cost to be measured")
        detail = target.probe().detail
        found = [] if forget else measured(target, rounds, tell)
        if not keep(target.name, detail, {f.name: f.measured for f in found}):
            fail(f"{root()} cannot be written; REWRITE_CACHE names another folder")
    if as_json:
        print(json.dumps({f.name: [f.assumed, f.measured] for f in found}, indent=2))
        return
    if forget:
        out.print(f"{target.name}: as assumed of its kind")
        return
    table = Table("", "assumed", "measured", "", box=None)
    for f in found:
        scale, unit = UNITS[f.name]
        table.add_row(
            f.name, f"{f.assumed * scale:.3g}", f"{f.measured * scale:.3g}", unit
        )
    out.print(table)
    out.print(f"{target.name} ({detail}), {rounds} turns; kept")


__all__ = ["calibrate"]
