"""What the engine for copies of an NVIDIA GPU has room for, where rows of a box are
windows of an image (sm_90; CUDA driver API, `cuTensorMapEncodeIm2col`)."""

from __future__ import annotations

from ..loops import Tensor, Windows

BYTES = 16  # of which steps of a tensor, and where rows of a box begin, are multiples
BITS = {3: 16, 4: 8, 5: 5}  # by axes of a tensor: of how far rows are moved
STEP, COUNT = 8, 1024  # at most: from window to window, and rows


def refused(t: Tensor) -> str | None:
    """Why windows of a tensor are not for it."""
    if t.windows is None:
        return None
    bits = BITS.get(len(t.extents), 0)
    first, steps, counts = t.windows
    if {len(first), len(steps), len(counts)} != {len(t.extents) - 2} or not bits:
        return f"along {len(first)} of {len(t.extents)} axes"
    if max(steps) > STEP or min(steps) < 1 or min(counts) < 1:
        return f"{counts} windows, by {steps}"
    if t.sizes[1] > COUNT or any(n != 1 for n in t.sizes[2:]):
        return f"boxes of {t.sizes}"
    last = ends(t.extents, t.windows)
    if any(not -1 << bits - 1 <= n < 1 << bits - 1 for n in (*first, *last)):
        return f"from {first} on, to {last} beyond the last element"
    return None


def ends(extents: tuple[int, ...], windows: Windows) -> tuple[int, ...]:
    """How far the last windows begin from the last elements of their axes."""
    every = zip(*windows, extents[1:-1], strict=True)
    return tuple(
        first + step * (count - 1) - (n - 1) for first, step, count, n in every
    )
