"""Stores past the caches of a CPU, a few lines of memory at a time."""

from __future__ import annotations

from collections.abc import Mapping

from ...egraph.ir.dtypes import DType, compute
from ..loops import Ex, For, Let, Load, Store
from ..passes.rebuild import first_of, substituted
from ..walking import subterms, values, walk
from .stages import carries

STREAMED = 256  # bytes of a part
LEAST = 4096  # bytes of a loop's result: its edges are stored as always

# `rw_edge`: how many elements from `to` on come before a line of memory begins.
# `rw_streamed`: what was stored so far is there for other threads.
STREAM_C = f"""\
#if defined __clang__
typedef i64 rw_vector __attribute__((vector_size(16), may_alias));
#define RW_PAST(to, x) __builtin_nontemporal_store(x, to)
#elif defined __AVX512F__
typedef long long rw_vector __attribute__((vector_size(64), may_alias));
#define RW_PAST(to, x) __builtin_ia32_movntdq512(to, x)
#elif defined __AVX__
typedef long long rw_vector __attribute__((vector_size(32), may_alias));
#define RW_PAST(to, x) __builtin_ia32_movntdq256(to, x)
#elif defined __SSE2__
typedef long long rw_vector __attribute__((vector_size(16), may_alias));
#define RW_PAST(to, x) __builtin_ia32_movntdq(to, x)
#else
typedef i64 rw_vector __attribute__((vector_size(16), may_alias));
#define RW_PAST(to, x) (*(to) = (x))
#endif
static inline i64 rw_edge(const void *to, i64 size, i64 count) {{
  const i64 edge = (i64)(-(uintptr_t)to % 64) / size;
  return edge < count ? edge : count;
}}
static inline __attribute__((always_inline)) void rw_past(
    void *to, const void *line) {{
  #pragma GCC unroll 16
  for (i64 i = 0; i < {STREAMED} / (i64)sizeof(rw_vector); i++)
    RW_PAST((rw_vector *)to + i, ((const rw_vector *)line)[i]);
}}
static inline void rw_streamed(void) {{
#if defined __SSE2__
  __builtin_ia32_sfence();
#else
  __sync_synchronize();
#endif
}}
"""


def streaming(loop: For, arrays: Mapping[str, DType]) -> tuple[Store, Ex] | None:
    """The one store of a `simd` loop that streams, and where its first turn stores; of
    a type that is stored as it is computed, to a buffer that the loop does not read."""
    if loop.kind != "simd" or loop.step != 1 or carries(loop):
        return None
    read = {
        x.array
        for s in walk(loop.body)
        for v in values(s)
        for x in subterms(v)
        if isinstance(x, Load)
    }
    lets: dict[str, Ex] = {}
    for s in loop.body:
        match s:
            case Let(var, value, False) if var.dtype.is_int:
                lets[var.name] = substituted(value, lets)
            case Store(array, index, _, 1, True) if array not in read:
                dtype = arrays[array]
                long = loop.extent * dtype.itemsize >= LEAST
                first = first_of(substituted(index, lets), loop.var)
                if long and first is not None and compute(dtype) is dtype:
                    return s, first
            case _:
                pass
    return None
