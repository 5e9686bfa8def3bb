"""Every family's kernels on a GPU, launched together, held against the interpreter."""

from __future__ import annotations

import pytest

from rewrite.lower.axes import normalise
from rewrite.lower.device import Device
from rewrite.lower.loops import Function
from rewrite.lower.model import model_of
from rewrite.lower.registry import candidates_for
from rewrite.lower.verify import verify
from tests.backends.harness import launch, open_device
from tests.lower.cases import CASES, LARGE
from tests.lower.harness import buffers_for, close, reference

KERNELS = {name: normalise(make()) for name, make in (CASES | LARGE).items()}


def ways(dev: Device, strict: bool) -> list[tuple[str, Function]]:
    """Each case by each family that takes it; a scatter both ways."""
    caps = dev.caps()
    model, out = model_of(caps), list[tuple[str, Function]]()
    for name, kernel in KERNELS.items():
        for family in candidates_for(strict):
            if family.accepts(kernel) is None and family.cost(kernel, model):
                pulled = family.domains(kernel, model).get("pulled", ())
                for holes in [(("pulled", n),) for n in pulled] or [()]:
                    label = f"f{len(out)}"
                    made = family.lower(kernel, caps, label, strict, holes)
                    out.append((name, verify(made)))
    return out


@pytest.mark.parametrize("strict", [False, True])
def test_every_case_by_every_family(strict: bool) -> None:
    dev = open_device("cuda")
    found = ways(dev, strict)
    module = dev.compile([f for _, f in found], contract=not strict)
    for name, function in found:
        kernel = KERNELS[name]
        arrays = buffers_for(kernel)
        got = launch(dev, module, function, *arrays)
        close(kernel, got, reference(kernel, arrays, strict))
    assert len(found) > 100
