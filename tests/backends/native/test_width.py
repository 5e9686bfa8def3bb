"""Compiled code has vectors as wide as register tiles are laid out for."""

from __future__ import annotations

import subprocess

import pytest

from rewrite.backends.native.toolchain import Toolchain, examine

LOOP = "void f(float *a) { for (int i = 0; i < 1024; i++) a[i] = a[i] * 2 + 1; }"


def assembled(made: Toolchain) -> str:
    command = (*made.command, *made.flags, "-S", "-o", "-", "-x", "c", "-")
    done = subprocess.run(
        command, input=LOOP, capture_output=True, text=True, check=True
    )
    return done.stdout


@pytest.mark.parametrize("tune", ["generic", "znver1", "skylake-avx512"])
def test_vectors_are_not_halved(tune: str) -> None:
    """gcc halves them for Zen 1 and for AVX-512, where it is left to itself."""
    made = examine(("cc", f"-mtune={tune}"))
    if made.vector_bytes < 32:
        pytest.skip("this processor has no AVX: there is one width of vectors")
    register = {32: "%ymm", 64: "%zmm"}[made.vector_bytes]
    assert register in assembled(made)
