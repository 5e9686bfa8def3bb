"""Random nodes of the operators of `com.microsoft` that have a reader: shapes,
attributes, types, and which operands there are."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from .cases import Case, case

type Maker = Callable[[Draw], Case]
DRAWS: dict[str, Maker] = {}


class Draw:
    """A source of sizes, choices and arrays."""

    def __init__(self, seed: int) -> None:
        self.rng = np.random.default_rng(seed)

    def flip(self, chance: float = 0.5) -> bool:
        return bool(self.rng.random() < chance)

    def pick(self, *options: Any) -> Any:
        return options[int(self.rng.integers(len(options)))]

    def size(self, low: int = 1, high: int = 5) -> int:
        return int(self.rng.integers(low, high + 1))

    def some(self, **options: Any) -> dict[str, Any]:
        """Each attribute or not."""
        return {k: v for k, v in options.items() if self.flip() and v is not None}

    def maybe(self, x: Any) -> Any:
        return x if self.flip() else None

    def real(self, *shape: int, dtype: str = "f4") -> Any:
        return self.rng.standard_normal(shape).astype(dtype)

    def whole(self, dtype: str, *shape: int) -> Any:
        info = np.iinfo(dtype)
        return self.rng.integers(info.min, info.max + 1, shape).astype(dtype)

    def weights(self, dtype: str, *shape: int) -> Any:
        """Those of i8 of 7 bits, as in `cases.i1`."""
        if dtype == "i1":
            return self.rng.integers(-64, 64, shape).astype(dtype)
        return self.whole(dtype, *shape)

    def scale(self, *shape: int, around: float = 0.02) -> Any:
        return (around * self.rng.uniform(0.7, 1.3, shape)).astype("f4")

    def zero(self, dtype: str, *shape: int) -> Any:
        middle = 128 if dtype == "u1" else 0
        return (middle + self.rng.integers(-20, 20, shape)).astype(dtype)

    def below(self, n: int, *shape: int, dtype: str = "i8") -> Any:
        return self.rng.integers(0, n, shape).astype(dtype)


def draws(*names: str) -> Callable[[Callable[[Draw, str], Case]], None]:
    def register(make: Callable[[Draw, str], Case]) -> None:
        for name in names:
            DRAWS[name] = lambda d, name=name: make(d, name)

    return register


# ---- activations and products ----


@draws("Gelu", "FastGelu", "BiasGelu", "QuickGelu")
def _gelu(d: Draw, op: str) -> Case:
    n = d.size()
    x = d.real(*(d.size() for _ in range(d.size(0, 2))), n)
    bias = d.real(n) if op == "BiasGelu" else None
    bias = d.maybe(d.real(n)) if op == "FastGelu" else bias
    attrs = d.some(alpha=d.pick(0.5, 1.0, 2.0)) if op == "QuickGelu" else {}
    operands = (x,) if bias is None else (x, bias)
    return case(op, *operands, **attrs)


@draws("FusedMatMul", "TransposeMatMul")
def _matmul(d: Draw, op: str) -> Case:
    lead = [d.size(1, 3) for _ in range(d.size(0, 2))]
    m, k, n = d.size(), d.size(), d.size()
    dtype = d.pick("f4", "f8") if op == "FusedMatMul" else "f4"
    attrs = d.some(alpha=d.pick(0.5, 2.0), transA=d.size(0, 1), transB=d.size(0, 1))
    sides = ([m, k], [k, n])
    shapes: list[list[int]] = []
    for (rows, columns), side in zip(sides, "AB", strict=True):
        turned, batch = attrs.get(f"trans{side}", 0), False
        if op == "FusedMatMul" and lead and d.flip(0.3):
            attrs[f"transBatch{side}"] = int(batch := True)
        pair = [columns, rows] if turned else [rows, columns]
        # The first of the axes moves behind the others, before the last.
        shapes.append(
            [pair[0], *lead, pair[1]] if batch else [*lead, *pair]
        )  # fmt: skip
    return case(op, *(d.real(*s, dtype=dtype) for s in shapes), **attrs)


@draws("FusedGemm")
def _gemm(d: Draw, op: str) -> Case:
    m, k, n = d.size(), d.size(), d.size()
    attrs = d.some(transA=1, transB=1, alpha=0.5, beta=d.pick(0.0, 2.0))
    a = d.real(*((k, m) if "transA" in attrs else (m, k)))
    b = d.real(*((n, k) if "transB" in attrs else (k, n)))
    c = d.maybe(d.real(*d.pick((n,), (m, n), (1, n), (m, 1), (1,))))
    kinds = {
        "Relu": (), "Tanh": (), "Sigmoid": (), "Softplus": (), "Softsign": (),
        "LeakyRelu": ("alpha",), "Elu": ("alpha",), "ThresholdedRelu": ("alpha",),
        "HardSigmoid": ("alpha", "beta"), "Selu": ("alpha", "gamma"),
    }  # fmt: skip
    name = d.pick(*kinds)
    named = {f"activation_{p}": d.pick(0.2, 0.7, 1.5) for p in kinds[name]}
    return case(op, a, b, *(() if c is None else (c,)), activation=name, **named,
                **attrs)  # fmt: skip


def windows(d: Draw, rank: int, size: int, pool: bool = False) -> dict[str, Any]:
    kernel = [d.size(1, 3) for _ in range(rank)]
    most = min(kernel) - 1
    attrs = d.some(strides=[d.size(1, 3) for _ in range(rank)])
    if d.flip(0.3):
        attrs["auto_pad"] = d.pick("SAME_UPPER", "SAME_LOWER", "VALID")
    else:
        attrs |= d.some(pads=[d.size(0, most) for _ in range(2 * rank)])
        if pool:
            attrs |= d.some(ceil_mode=1)
    return {"kernel_shape": kernel, **attrs}


@draws("FusedConv")
def _conv(d: Draw, op: str) -> Case:
    rank, group = d.size(1, 2), d.pick(1, 1, 2)
    attrs = windows(d, rank, 7)
    if "auto_pad" not in attrs:
        attrs |= d.some(dilations=[d.size(1, 2) for _ in range(rank)])
    kernel = attrs["kernel_shape"]
    if d.flip():
        del attrs["kernel_shape"]
    kinds = {"Relu": 0, "Tanh": 0, "Sigmoid": 0, "LeakyRelu": 1, "Clip": 2,
             "HardSigmoid": 2}  # fmt: skip
    name = d.pick(*kinds)
    given = {0: [], 1: [0.2], 2: [-0.3, 0.5]}[kinds[name]]
    if given:
        attrs["activation_params"] = given
    x, w = d.real(d.size(1, 2), 2 * group, *[7] * rank), d.real(4, 2, *kernel)
    bias = d.maybe(d.real(4))
    return case(op, x, w, bias, group=group, activation=name, stored=[1], **attrs)


# ---- norms ----


@draws("SkipLayerNormalization", "SkipSimplifiedLayerNormalization")
def _skip(d: Draw, op: str) -> Case:
    b, n, k = d.size(), d.size(), d.size(2, 9)
    dtype, plain = d.pick("f4", "f4", "f2"), op == "SkipLayerNormalization"
    r = lambda *s: d.real(*s, dtype=dtype)  # noqa: E731
    x = r(b, n, k) if d.flip(0.8) else r(n, k)
    skip = r(*x.shape) if d.flip() else r(*d.pick((n, k), (1, n, k))[-x.ndim :])
    rest = (d.maybe(r(k)), d.maybe(r(k))) if plain else (d.maybe(r(k)),)
    attrs = d.some(epsilon=d.pick(1e-5, 1e-3))
    given = (1, 0, 0, d.size(0, 1))
    return case(op, x, skip, r(k), *rest, given=given, **attrs)


@draws("EmbedLayerNormalization")
def _embedded(d: Draw, op: str) -> Case:
    b, n, k = d.size(), d.size(), d.size(2, 9)
    segments = d.flip()
    ids = d.below(20, b, n, dtype="i4")
    kinds = (d.below(2, b, n, dtype="i4"), d.real(2, k)) if segments else (None, None)
    mask = d.maybe(d.below(2, b, n, dtype="i4"))
    places = d.maybe(d.below(6, d.pick(1, b), n, dtype="i4"))
    attrs = d.some(epsilon=1e-4, mask_index_type=d.size(0, 1))
    return case(op, ids, kinds[0], d.real(20, k), d.real(6, k), kinds[1], d.real(k),
                d.real(k), mask, places, given=(1, 1, d.size(0, 1)),
                **attrs)  # fmt: skip


# ---- attention ----


def _mask(d: Draw, b: int, n: int, keys: int) -> Any:
    kind = d.pick("none", "counts", "keys", "square", "ends")
    if kind == "counts":
        return 1 + d.below(keys, b, dtype="i4")
    if kind == "ends":
        return np.concatenate([1 + d.below(keys, b), d.below(1, b)]).astype("i4")
    if kind == "keys":
        mask = d.below(2, b, keys, dtype="i4")
    elif kind == "square":
        mask = d.below(2, b, n, keys, dtype="i4")
    else:
        return None
    mask[..., 0] = 1  # of a row that hides all no result is specified
    return mask


@draws("Attention")
def _attention(d: Draw, op: str) -> Case:
    b, n, heads, size, k = d.size(1, 3), d.size(), d.size(1, 3), d.pick(2, 4), d.size()
    past, causal = d.pick(0, 0, 3), d.flip(0.3)
    width = heads * size
    values = width + heads * d.pick(0, 2) if d.flip(0.3) and not past else width
    attrs = d.some(scale=0.3, mask_filter_value=-100.0, do_rotary=0,
                   past_present_share_buffer=0, rotary_embedding_dim=0)  # fmt: skip
    if causal or d.flip(0.3):
        attrs["unidirectional"] = int(causal)
    if values != width or d.flip(0.2):
        attrs["qkv_hidden_sizes"] = [width, width, values]
    total = 2 * width + values
    kept = d.real(2, b, heads, past, size) if past else None
    bias = d.maybe(d.real(d.pick(1, b), d.pick(1, heads), n, n + past))
    return case(op, d.real(b, n, k), d.real(k, total), d.real(total),
                _mask(d, b, n, n + past), kept, bias, stored=[1, 2], num_heads=heads,
                given=(1, int(values == width and (past > 0 or d.flip(0.3)))),
                **attrs)  # fmt: skip


@draws("QAttention")
def _quantized_attention(d: Draw, op: str) -> Case:
    b, n, heads, size, k = d.size(1, 3), d.size(), d.size(1, 3), d.pick(2, 4), d.size()
    width, kind, past = 3 * heads * size, d.pick("u1", "i1"), d.pick(0, 0, 3)
    columns = (width,) if d.flip(0.3) else ()
    zeros = (d.zero("u1"), d.zero(kind)) if d.flip(0.8) else ()
    kept = d.real(2, b, heads, past, size) if past and zeros else None
    attrs = d.some(scale=0.3, mask_filter_value=-100.0, unidirectional=d.size(0, 1))
    attrs |= d.some(do_rotary=0, past_present_share_buffer=0)
    mask = _mask(d, b, n, n + (past if kept is not None else 0))
    mask = None if mask is not None and mask.ndim == 3 and past else mask
    rest = (mask, *zeros, *(() if kept is None else (kept,)))
    return case(op, d.whole("u1", b, n, k), d.weights(kind, k, width), d.real(width),
                d.scale(around=0.008), d.scale(*columns, around=0.004), *rest,
                stored=[1, 2, 3, 4, *([6, 7] if zeros else [])], num_heads=heads,
                given=(1, int(kept is not None)), **attrs)  # fmt: skip


@draws("MultiHeadAttention")
def _multi_head(d: Draw, op: str) -> Case:
    b, n, heads, size = d.size(1, 3), d.size(), d.size(1, 3), d.pick(2, 4)
    keys, past = d.pick(n, d.size()), d.pick(0, 0, 3)
    split = not past and d.flip(0.2)
    values = size if past or split else d.pick(size, size, 3)
    keys = n if past else keys
    shape = (b, heads, keys, size) if split else (b, keys, heads * size)
    q, k = d.real(b, n, heads * size), d.real(*shape)
    v = d.real(*shape) if split else d.real(b, keys, heads * values)
    total = keys + past
    bias = d.maybe(d.real(heads * (2 * size + values))) if not split else None
    kept = [d.real(b, heads, past, s) if past else None for s in (size, values)]
    attrs = d.some(scale=0.3, mask_filter_value=-100.0)
    if keys == n:
        attrs |= d.some(unidirectional=d.size(0, 1))
    added = d.maybe(d.real(d.pick(1, b), d.pick(1, heads), n, total))
    last = int(past > 0 or d.flip(0.3))
    return case(op, q, k, v, bias, _mask(d, b, n, total), added, *kept,
                num_heads=heads, given=(1, last, last), **attrs)  # fmt: skip


@draws("GroupQueryAttention")
def _group(d: Draw, op: str) -> Case:
    b, few, size = d.size(1, 3), d.size(1, 2), d.pick(16, 32)
    dtype = d.pick("f4", "f4", "f2")
    heads, past, room = few * d.size(1, 2), d.pick(0, 0, 3), d.pick(0, 2)
    n = 1 if past else d.size()
    r = lambda *s: d.real(*s, dtype=dtype)  # noqa: E731
    total = n + past
    lengths = total - 1 - d.below(min(total, 3) if past else 1, b)
    lengths[0] = total - 1
    kept = [r(b, few, past + room, size) if past else None for _ in "kv"]
    if d.flip(0.3):
        operands = (r(b, n, (heads + 2 * few) * size), None, None)
    else:
        operands = (r(b, n, heads * size), *(r(b, n, few * size) for _ in "kv"))
    rotary, half = d.flip(), d.pick(8, size // 2)
    angles = d.real(16, half)
    tables = (np.cos(angles).astype(dtype), np.sin(angles).astype(dtype))
    places = d.below(16, b, n) if rotary and d.flip(0.2) else None
    added = r(d.pick(1, b), d.pick(1, heads), n, total) if d.flip(0.3) else None
    sink = r(heads) if d.flip(0.2) else None
    attrs = d.some(scale=0.3, causal=1, qk_output=0, kv_cache_bit_width=0,
                   k_quant_type="NONE", v_quant_type="NONE", qk_norm_epsilon=1e-5,
                   sliding_window_cache=0, rotary_interleaved=d.size(0, 1))  # fmt: skip
    attrs |= {"local_window_size": d.size(1, 4)} if d.flip(0.3) and not past else {}
    attrs |= {"softcap": 2.0} if d.flip(0.3) else {}
    attrs |= {"smooth_softmax": d.size(0, 1)} if d.flip(0.3) and sink is None else {}
    operands = (*operands, *kept, lengths.astype("i4"), np.asarray(total, "i4"),
                *(tables if rotary else (None, None)), places, added, sink)  # fmt: skip
    while operands[-1] is None:
        operands = operands[:-1]
    return case(op, *operands, stored=[6, *((7, 8) if rotary else ())],
                num_heads=heads, kv_num_heads=few, do_rotary=int(rotary),
                given=(1, 1, 1), **attrs)  # fmt: skip


@draws("RotaryEmbedding")
def _rotary(d: Draw, op: str) -> Case:
    b, n, heads, half = d.size(1, 3), d.size(), d.size(1, 3), d.pick(2, 4)
    dtype, part = d.pick("f4", "f4", "f2"), d.flip(0.3)
    size = 2 * half + (4 if part else 0)
    flat = part or d.flip()
    x = d.real(*((b, n, heads * size) if flat else (b, heads, n, size)), dtype=dtype)
    at = d.below(8, b, n) if d.flip() else d.below(4, 1)
    angles = d.real(16, half)
    attrs = d.some(interleaved=d.size(0, 1), is_packed_batching=0, scale=1.0)
    if part:
        attrs |= {"num_heads": heads, "rotary_embedding_dim": 2 * half}
    elif d.flip(0.3):
        attrs |= {"num_heads": heads}
    return case(op, x, at, np.cos(angles).astype(dtype), np.sin(angles).astype(dtype),
                stored=[2, 3], **attrs)  # fmt: skip


# ---- moves ----


@draws("Trilu")
def _triangle(d: Draw, op: str) -> Case:
    x = d.pick(d.real, lambda *s: d.below(9, *s))(d.size(1, 3), d.size(), d.size())
    k = (np.asarray(d.size(-3, 3), "i8"),) if d.flip() else ()
    return case(op, x, *k, stored=[1] if k else [], **d.some(upper=d.size(0, 1)))


@draws("GatherND")
def _gather(d: Draw, op: str) -> Case:
    x = d.real(d.size(), d.size(), d.size())
    k = d.size(1, 3)
    index = np.stack([d.below(n, d.size(1, 1), 3) for n in x.shape[:k]], -1)
    return case(op, x, index.astype(d.pick("i4", "i8")))


@draws("Range")
def _range(d: Draw, op: str) -> Case:
    dtype = d.pick("i4", "i8", "i2")
    a, b = np.asarray(d.size(-3, 3), dtype), np.asarray(d.size(4, 9), dtype)
    step = (np.asarray(1, dtype),) if d.flip() else ()
    return case(op, a, b, *step, stored=range(2 + len(step)))


@draws("Pad")
def _pad(d: Draw, op: str) -> Case:
    x, mode = d.real(3, 4), d.pick("constant", "reflect", "edge")
    pads = np.asarray([d.size(-1, 2) for _ in range(4)])
    value = (np.asarray([1.5], "f4"),) if mode == "constant" and d.flip() else ()
    attrs = {"mode": mode} if mode != "constant" or d.flip() else {}
    return case(op, x, pads, *value, stored=[1, 2] if value else [1], **attrs)


@draws("ExpandDims")
def _expand(d: Draw, op: str) -> Case:
    x = d.real(d.size(), d.size())
    return case(op, x, np.asarray(d.size(-3, 2), "i4"), stored=[1])


@draws("CDist")
def _distances(d: Draw, op: str) -> Case:
    k, dtype = d.size(), d.pick("f4", "f8")
    a, b = (d.real(d.size(), k, dtype=dtype) for _ in "ab")
    return case(op, a, b, **d.some(metric=d.pick("euclidean", "sqeuclidean")))


@draws("NhwcMaxPool")
def _max_pool(d: Draw, op: str) -> Case:
    attrs = windows(d, 2, 7, pool=True)
    if "auto_pad" not in attrs:
        attrs |= d.some(dilations=[1, 2])
    return case(op, d.whole(d.pick("u1", "i1"), d.size(1, 2), 7, 7, d.size()), **attrs)
