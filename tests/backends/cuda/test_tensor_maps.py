"""Where maps lie among a kernel's arguments, and that they follow their buffers."""

from __future__ import annotations

import struct
from types import SimpleNamespace
from unittest.mock import MagicMock

import pytest

from rewrite.backends.nvidia import tensor_maps
from rewrite.backends.nvidia.tensor_maps import KEPT, TensorMaps, checked, encoded
from rewrite.cache.frozen import freeze, thaw
from rewrite.egraph.ir.dtypes import BF16, F32
from rewrite.lower.device import DeviceError, Grid, TensorMap
from rewrite.lower.loops import Windows
from rewrite.lower.targets.engine import ends

ROWS = TensorMap(0, BF16, (64, 40), (1, 64), (64, 16))
COLUMNS = TensorMap(2, BF16, (40, 64), (1, 40), (64, 64))


def test_maps_are_where_the_driver_says() -> None:
    """After three addresses: 24 bytes, then a gap."""
    text = TensorMaps((ROWS, COLUMNS), (48, 176)).format(3)
    packed = struct.pack(text, 1, 2, 3, b"x" * 128, b"y" * 128)
    assert len(packed) == 304
    assert packed[48:176] == b"x" * 128 and packed[176:] == b"y" * 128
    assert TensorMaps(()).format(2) == "PP"


def test_maps_are_made_again_for_other_addresses(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made: list[tuple[TensorMap, int]] = []

    def encoded(m: TensorMap, address: int) -> bytes:
        made.append((m, address))
        return f"{m.buffer} {address}".encode()

    monkeypatch.setattr(tensor_maps, "encoded", encoded)
    maps = TensorMaps((ROWS, COLUMNS), (48, 176))
    assert maps.of((7, 8, 9)) == (b"0 7", b"2 9") == maps.of((7, 1, 9))
    assert maps.of((6, 8, 9)) == (b"0 6", b"2 9")
    assert made == [(ROWS, 7), (COLUMNS, 9), (ROWS, 6)]
    for address in range(2 * KEPT):
        assert maps.of((address, 0, 9))[0] == f"0 {address}".encode()
    assert len(maps.known) <= KEPT


def test_a_driver_that_refuses_is_an_error() -> None:
    assert checked((0, "made")) == ("made",)
    with pytest.raises(DeviceError, match="error 1"):
        checked((1,))


def test_a_tensor_of_one_axis_has_a_stride_too(monkeypatch: pytest.MonkeyPatch) -> None:
    """Statistics of one head: the driver reads none, and refuses a null pointer."""
    driver = MagicMock(cuuint64_t=int, cuuint32_t=int)
    made = SimpleNamespace(opaque=[1] * 16)
    driver.cuTensorMapEncodeTiled.return_value = 0, made
    monkeypatch.setattr(tensor_maps, "import_module", MagicMock(return_value=driver))
    line = TensorMap(0, F32, (130,), (1,), (64,))
    for m, rank, strides in ((line, 1, [16]), (ROWS, 2, [128])):
        assert len(encoded(m, 256)) == 128
        _, count, address, sizes, told = driver.cuTensorMapEncodeTiled.call_args[0][:5]
        assert (count, address, sizes, told) == (rank, 256, [*m.extents], strides)


def test_launches_with_maps_are_kept() -> None:
    grid = Grid("f_0", 132, 384, 229440, (ROWS, COLUMNS))
    assert thaw(freeze(grid)) == grid


WINDOWS = TensorMap(
    0, BF16, (256, 28, 56, 64), (1, 256, 7168, 401408), (64, 128, 1, 1),
    Windows((-1, -2), (1, 2), (28, 29)),
)  # fmt: skip


def test_windows_end_where_the_last_one_begins() -> None:
    """Counted from the last element of an axis: 26 of 27, and 54 of 55."""
    assert WINDOWS.windows is not None
    assert ends(WINDOWS.extents, WINDOWS.windows) == (-1, -1)
    assert thaw(freeze(WINDOWS)) == WINDOWS
