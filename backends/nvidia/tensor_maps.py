"""What the engine for copies of an NVIDIA GPU is told of a buffer, as 128 bytes that a
kernel takes by value."""

from __future__ import annotations

from collections.abc import Sequence
from importlib import import_module
from typing import Any

from ...egraph.ir.dtypes import BF16, F8E4M3, F8E5M2, F16, F32
from ...lower.device import DeviceError, TensorMap
from ...lower.targets.engine import ends

NBYTES = 128
LINE = 128  # bytes, of the last cache
ALIGNED = 16  # bytes, of each stride
KEPT = 256  # maps of other addresses that a kernel keeps


class TensorMaps:
    """The maps of one kernel, made again only for other addresses."""

    def __init__(self, maps: Sequence[TensorMap], offsets: Sequence[int] = ()) -> None:
        self.maps, self.offsets = maps, offsets
        self.known: dict[tuple[int, int], bytes] = {}

    def format(self, buffers: int) -> str:
        """Of a kernel's arguments, so many addresses first (`struct`)."""
        text, at = "P" * buffers, 8 * buffers
        for offset in self.offsets:
            text += f"{offset - at}x{NBYTES}s"
            at = offset + NBYTES
        return text

    def of(self, addresses: Sequence[int]) -> tuple[bytes, ...]:
        return tuple(
            self.known.get((i, addresses[m.buffer])) or self._made(i, m, addresses)
            for i, m in enumerate(self.maps)
        )

    def _made(self, i: int, m: TensorMap, addresses: Sequence[int]) -> bytes:
        if len(self.known) >= KEPT:
            self.known.clear()
        made = encoded(m, addresses[m.buffer])
        self.known[i, addresses[m.buffer]] = made
        return made


def offsets(cubin: bytes, name: str, params: Sequence[int]) -> tuple[int, ...]:
    """Where these parameters of a kernel lie: a map begins at a multiple of 64 bytes in
    the device's memory, not of what all of them take."""
    cu: Any = import_module("cuda.bindings.driver")
    (module,) = checked(cu.cuModuleLoadData(cubin))
    try:
        (kernel,) = checked(cu.cuModuleGetFunction(module, name.encode()))
        return tuple(int(checked(cu.cuFuncGetParamInfo(kernel, i))[0]) for i in params)
    finally:
        checked(cu.cuModuleUnload(module))


def checked(answer: Sequence[Any]) -> tuple[Any, ...]:
    error, *values = answer
    if int(error):
        raise DeviceError(f"the CUDA driver answers with error {error}")
    return tuple(values)


def encoded(m: TensorMap, address: int) -> bytes:
    cu: Any = import_module("cuda.bindings.driver")
    kind = cu.CUtensorMapDataType
    promotion, swizzle = cu.CUtensorMapL2promotion, cu.CUtensorMapSwizzle
    # Rows that begin within a line would bring twice as many lines as they have.
    whole = all(n * m.dtype.itemsize % LINE == 0 for n in m.strides[1:])
    kinds = {
        BF16: kind.CU_TENSOR_MAP_DATA_TYPE_BFLOAT16,
        F16: kind.CU_TENSOR_MAP_DATA_TYPE_FLOAT16,
        F32: kind.CU_TENSOR_MAP_DATA_TYPE_FLOAT32,
        F8E4M3: kind.CU_TENSOR_MAP_DATA_TYPE_UINT8,
        F8E5M2: kind.CU_TENSOR_MAP_DATA_TYPE_UINT8,
    }
    # Of a tensor of one axis no stride is read, but the driver refuses a null pointer.
    strides = [n * m.dtype.itemsize for n in m.strides[1:]] or [ALIGNED]
    where = (
        kinds[m.dtype], len(m.extents), address,
        [cu.cuuint64_t(n) for n in m.extents], [cu.cuuint64_t(n) for n in strides],
    )  # fmt: skip
    how = (
        cu.CUtensorMapInterleave.CU_TENSOR_MAP_INTERLEAVE_NONE,
        swizzle.CU_TENSOR_MAP_SWIZZLE_128B if m.mixed
        else swizzle.CU_TENSOR_MAP_SWIZZLE_NONE,
        promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_256B if whole
        else promotion.CU_TENSOR_MAP_L2_PROMOTION_L2_128B,
        cu.CUtensorMapFloatOOBfill.CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE,
    )  # fmt: skip
    if m.windows is None:
        steps = [cu.cuuint32_t(1)] * len(m.sizes)
        (made,) = checked(cu.cuTensorMapEncodeTiled(
            *where, [cu.cuuint32_t(n) for n in m.sizes], steps, *how
        ))  # fmt: skip
    else:
        steps = [cu.cuuint32_t(n) for n in (1, *m.windows.steps, 1)]
        corners = [*m.windows.first], [*ends(m.extents, m.windows)]
        (made,) = checked(cu.cuTensorMapEncodeIm2col(
            *where, *corners, *m.sizes[:2], steps, *how
        ))  # fmt: skip
    return b"".join(int(x).to_bytes(8, "little") for x in made.opaque)
