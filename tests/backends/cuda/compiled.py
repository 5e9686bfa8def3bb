"""Whether the kernels of the replay set compile for every device.

    python -m tests.backends.cuda.compiled [MODEL...]     all unless told otherwise

Each model is planned for each device.  NVRTC compiles for two architectures, and it is
a fault if registers are spilled to memory; OpenCL C is built and WGSL validated where
there is a driver.  Exits with 1 at a fault; a dtype that a device lacks is none.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import cache

from rewrite.backends.devices import device
from rewrite.backends.nvidia.nvrtc import emit, usage
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.rules.rulefile import load_rules
from rewrite.egraph.saturate.saturate import saturator
from rewrite.extract.schedule.plan import plan
from rewrite.extract.schedule.steps import schedule
from rewrite.lower.device import Caps, CompileError, DeviceError
from rewrite.lower.loops import Function
from rewrite.lower.model import kernel_cost
from rewrite.lower.program import build
from rewrite.lower.registry import FAMILIES
from rewrite.onnx import load as read
from tests.backends.cuda.test_cuda_compiles import LIKE_H200
from tests.replay.planned import NAMES
from tests.replay.weights import fill, load, metadata

ARCHS = ("sm_80", "sm_90a")


@cache
def graph_of(name: str) -> tuple[Graph, dict[str, int]]:
    model = fill(load(name))
    graph, known = read(model), metadata(model)
    return graph, {s: int(known[f"size:{s}"]) for s in graph.symbols}


def functions(name: str, caps: Caps) -> tuple[Function, ...]:
    """What a device with these capabilities would run for the model."""
    graph, sizes = graph_of(name)
    price = kernel_cost(caps, FAMILIES)
    found = plan(graph, saturator(load_rules()), price, hints=sizes)
    return build(schedule(found.graph, found.groups, sizes), caps).functions


def by_nvrtc(name: str) -> tuple[int, list[str]]:
    """How many kernels there are, and what is wrong with which."""
    text = emit(functions(name, LIKE_H200)).text
    faults: list[str] = []
    count = 0
    for arch in ARCHS:
        found = usage(text, arch)
        count = len(found)
        faults += [
            f"{k} spills {u.spilled} bytes on {arch}, with {u.registers} registers"
            for k, u in found.items()
            if u.spilled
        ]
    return count, faults


def by_driver(target: str) -> Callable[[str], tuple[int, list[str]]]:
    def check(name: str) -> tuple[int, list[str]]:
        dev = device(target)
        made = functions(name, dev.caps())
        try:
            source = dev.emit(made)
        except DeviceError as e:
            if "cast to one of" not in str(e):
                raise
            return 0, []
        try:
            dev.build(source, made, True)
        except CompileError as e:
            return len(made), [str(e)]
        return sum(map(len, source.launches.values())), []

    return check


CHECKS = {"cuda": by_nvrtc, "opencl": by_driver("opencl"), "wgpu": by_driver("wgpu")}


def main() -> int:
    names = sys.argv[1:] or NAMES
    there = [t for t in CHECKS if t == "cuda" or device(t).probe().ok]
    print(f"{'kernels of':16}" + "".join(f"{t:>8}" for t in there))
    wrong = 0
    for name in names:
        found = {t: CHECKS[t](name) for t in there}
        counts = "".join(f"{n or 'refused':>8}" for n, _ in found.values())
        print(f"{name:16}{counts}", flush=True)
        for target, (_, faults) in found.items():
            wrong += len(faults)
            for fault in faults:
                print(f"  {target}: {fault}")
    return int(wrong > 0)


if __name__ == "__main__":
    sys.exit(main())
