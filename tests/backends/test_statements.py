"""Each kind of statement, on every device that is here."""

import numpy as np
import pytest
from rewrite.backends import nvrtc
from rewrite.lower.device import DeviceError

from .functions import CASES, Case
from .harness import RUNNABLE, open_device, run


def outputs(case: Case):
    return [np.empty(p.size, p.dtype.numpy) for p in case.function.params if p.writable]


@pytest.mark.parametrize("name", RUNNABLE)
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.function.name)
def test_functions_mean_what_they_say(name: str, case: Case):
    dev = open_device(name)
    if case.vectors and not dev.caps().vector_bytes:
        pytest.skip(f"{name} takes no vectors")
    got = run(dev, case.function, *case.reads, *outputs(case))
    for have, want in zip(got, case.meaning(*case.reads), strict=True):
        have, want = have.astype(np.float64), want.ravel().astype(np.float64)
        np.testing.assert_allclose(have, want, rtol=case.rtol, atol=case.rtol * 1e-2)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_every_function_compiles_for_cuda(arch: str):
    try:
        nvrtc.library()
    except DeviceError as e:
        pytest.skip(str(e))
    cubin = nvrtc.compile_only([c.function for c in CASES], arch)
    assert cubin[:4] == b"\x7fELF"
