"""Each kind of statement, on every device that is here."""

import numpy as np
import pytest

from rewrite.backends.nvidia import nvrtc
from rewrite.lower.device import DeviceError

from . import emulate
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
    check(case, run(dev, case.function, *case.reads, *outputs(case)))


def check(case: Case, got) -> None:
    for have, want in zip(got, case.meaning(*case.reads), strict=True):
        have, want = have.astype(np.float64), want.ravel().astype(np.float64)
        np.testing.assert_allclose(have, want, rtol=case.rtol, atol=case.rtol * 1e-2)


@pytest.mark.sweep(3)
@pytest.mark.skipif(not emulate.COMPILER, reason="no C++ compiler")
@pytest.mark.parametrize("case", CASES, ids=lambda c: c.function.name)
def test_cuda_text_means_what_it_says(case: Case, tmp_path):
    got = emulate.run(case.function, tmp_path, *case.reads, *outputs(case))
    check(case, got)


@pytest.mark.parametrize("arch", ["sm_80", "sm_90a"])
def test_every_function_compiles_for_cuda(arch: str):
    try:
        nvrtc.library()
    except DeviceError as e:
        pytest.skip(str(e))
    text = nvrtc.emit([c.function for c in CASES]).text
    cubin = nvrtc.compile_cubin(text, arch, contract=True)
    assert cubin[:4] == b"\x7fELF"
