"""A node for each operator of `com.microsoft` that ONNX Runtime runs on the CPU."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import onnx
from onnx import helper, numpy_helper

DOMAIN = "com.microsoft"
RNG = np.random.default_rng(26)


@dataclass(frozen=True, eq=False)
class Case:
    """A node: operands in order, None where there is none; `stored`: the places of
    those that are initializers; `given`: which outputs are asked for."""

    op: str
    operands: tuple[Any, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    stored: frozenset[int] = frozenset()
    given: tuple[bool, ...] = (True,)

    @property
    def inputs(self) -> dict[str, Any]:
        return {
            f"x{i}": x
            for i, x in enumerate(self.operands)
            if x is not None and i not in self.stored
        }

    def model(self, around: bool = False) -> onnx.ModelProto:
        """The node; `around`: between nodes that are compiled."""
        names = ["" if x is None else f"x{i}" for i, x in enumerate(self.operands)]
        outputs = [f"y{i}" if g else "" for i, g in enumerate(self.given)]
        wanted = [o for o in outputs if o]
        before: list[onnx.NodeProto] = []
        after: list[onnx.NodeProto] = []
        if around:
            for name, x in self.inputs.items():
                if x.dtype in (np.float32, np.float16):
                    before.append(helper.make_node("Neg", [name], [f"{name}n"]))
                    before.append(helper.make_node("Neg", [f"{name}n"], [f"{name}m"]))
                    names[names.index(name)] = f"{name}m"
            first, *rest = wanted
            wanted = [f"{o}z" for o in wanted]
            after += [helper.make_node("Identity", [o], [f"{o}z"]) for o in rest]
            if self.op == "Tokenizer":
                after.append(helper.make_node("Identity", [first], [wanted[0]]))
            else:
                after.append(helper.make_node("Cast", [first], ["c"], to=1))
                after.append(helper.make_node("Tanh", ["c"], [wanted[0]]))
        node = helper.make_node(
            self.op, names, outputs, domain=DOMAIN, **self.attributes
        )
        infos = [
            helper.make_tensor_value_info(
                n, helper.np_dtype_to_tensor_dtype(x.dtype), x.shape
            )
            for n, x in self.inputs.items()
        ]
        graph = helper.make_graph(
            [*before, node, *after], "g", infos,
            [helper.make_empty_tensor_value_info(o) for o in wanted],
            [numpy_helper.from_array(self.operands[i], f"x{i}")
             for i in sorted(self.stored)],
        )  # fmt: skip
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid(DOMAIN, 1)]
        return helper.make_model(graph, opset_imports=opsets, ir_version=8)


def case(
    op: str, *operands: Any, stored: Sequence[int] = (), given: Any = (1,), **attrs: Any
) -> Case:
    return Case(op, operands, attrs, frozenset(stored), tuple(map(bool, given)))


def f4(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype("f4")


def u1(*shape: int) -> Any:
    return RNG.integers(0, 256, shape).astype("u1")


def i1(*shape: int) -> Any:
    """Of 7 bits: without VNNI, ONNX Runtime adds pairs of products u8 · i8 in 16 bits,
    which saturate beyond."""
    return RNG.integers(-64, 64, shape).astype("i1")


def scale(*shape: int) -> Any:
    return RNG.uniform(0.01, 0.03, shape).astype("f4")


def whole(*numbers: Any, dtype: str = "i8") -> Any:
    return np.asarray(numbers[0] if len(numbers) == 1 else numbers, dtype)


Z8, Z9 = np.asarray(120, "u1"), np.asarray(131, "u1")
# Of these no ratio is simple: no sum lies half way between two integers, where one
# more rounding on the way decides.
S1, S2, S3 = (np.asarray(v, "f4") for v in (0.0213717, 0.0129431, 0.0337199))


def activations() -> list[Case]:
    x = f4(2, 3, 8)
    return [
        case("Gelu", x), case("FastGelu", x), case("FastGelu", x, f4(8), stored=[1]),
        case("BiasGelu", x, f4(8), stored=[1]), case("QuickGelu", x),
        case("QuickGelu", x, alpha=1.0), case("ScaledSiLU", x, alpha=1.5),
        case("GatedAdd", x, f4(2, 3, 8), f4(2, 3, 1)),
    ]  # fmt: skip


def products() -> list[Case]:
    a, b = f4(2, 3, 4), f4(2, 4, 5)
    c = f4(3, 2, 4)
    return [
        case("FusedMatMul", a, b, alpha=0.5),
        case("FusedMatMul", f4(2, 4, 3), f4(5, 4), stored=[1], transA=1, transB=1),
        case("FusedMatMul", c, f4(4, 2, 5), transBatchA=1, transBatchB=1),
        case("FusedMatMul", f4(4, 2, 3), b, transBatchA=1, transA=1),
        case("TransposeMatMul", a, f4(2, 5, 4), transB=1, alpha=2.0),
        case("FusedGemm", f4(3, 4), f4(5, 4), f4(5), stored=[1, 2], transB=1,
             activation="Relu"),
        case("FusedGemm", f4(3, 4), f4(4, 5), f4(5), activation="LeakyRelu",
             activation_alpha=0.2, alpha=0.5, beta=2.0),
        case("FusedConv", f4(1, 3, 8, 8), f4(4, 3, 3, 3), f4(4), stored=[1, 2],
             activation="Relu", kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        case("FusedConv", f4(1, 3, 8, 8), f4(4, 3, 3, 3), f4(4), f4(1, 4, 6, 6),
             stored=[1, 2], activation="Relu"),
        case("FusedConv", f4(1, 4, 8), f4(4, 1, 3), None, stored=[1], group=4,
             activation="HardSigmoid", activation_params=[0.2, 0.5]),
        case("FusedConv", f4(1, 3, 8), f4(4, 3, 3), f4(4), stored=[1, 2],
             activation="Clip", activation_params=[-0.5, 0.5]),
    ]  # fmt: skip


def norms() -> list[Case]:
    x, skip = f4(2, 3, 8), f4(2, 3, 8)
    words, places, kinds = f4(20, 8), f4(6, 8), f4(2, 8)
    ids, sorts = (RNG.integers(0, n, (2, 5)).astype("i4") for n in (20, 2))
    mask = whole([[1, 1, 1, 1, 1], [1, 1, 1, 0, 0]], dtype="i4")
    four = (1, 0, 0, 1)
    return [
        case("SkipLayerNormalization", x, skip, f4(8), f4(8), f4(8),
             stored=[2, 3, 4], epsilon=1e-6, given=four),
        case("SkipLayerNormalization", x, f4(3, 8), f4(8), stored=[2]),
        case("SkipSimplifiedLayerNormalization", x, skip, f4(8), stored=[2],
             given=four),
        case("SkipSimplifiedLayerNormalization", x, skip, f4(8), f4(8), epsilon=1e-6),
        case("EmbedLayerNormalization", ids, sorts, words, places, kinds, f4(8), f4(8),
             mask, stored=[2, 3, 4, 5, 6], given=(1, 1, 1)),
        case("EmbedLayerNormalization", ids, None, words, places, None, f4(8), f4(8),
             stored=[2, 3, 5, 6], given=(1, 1)),
        case("GatedRMSNorm", f4(4, 8), f4(8), f4(4, 8), stored=[1]),
        case("BranchwiseRMSNorm", f4(2, 3, 8), f4(8), num_branches=2),
        case("QEmbedLayerNormalization", ids, sorts, u1(20, 8), u1(6, 8), u1(2, 8),
             u1(8), u1(8), mask, *[scale() for _ in range(5)],
             *[u1() for _ in range(5)], given=(1, 1)),
    ]  # fmt: skip


def attention() -> list[Case]:
    b, n, h, d = 2, 5, 2, 4
    e = 16  # GroupQueryAttention takes no other than multiples of it
    x, w, bias = f4(b, n, 8), f4(8, 24), f4(24)
    q, k, v = f4(b, n, 8), f4(b, 6, 8), f4(b, 6, 8)
    left = whole(5, 3, dtype="i4")
    raw = whole([[1, 1, 1, 1, 1], [1, 1, 0, 1, 0]], dtype="i4")
    past = f4(2, b, h, 3, d)
    small = S1 / 4, S2 / 4  # scores of a size that a softmax is taken of
    angles = RNG.standard_normal((16, d // 2))
    cos, sin = np.cos(angles).astype("f4"), np.sin(angles).astype("f4")
    angles = RNG.standard_normal((16, e // 2))
    wide_cos, wide_sin = np.cos(angles).astype("f4"), np.sin(angles).astype("f4")
    places = whole([[0, 1, 2, 3, 4], [3, 4, 5, 6, 7]])
    caches = [f4(b, 1, 3, e), f4(b, 1, 3, e)]
    totals, most = whole(7, 6, dtype="i4"), np.asarray(8, "i4")
    return [
        case("Attention", x, w, bias, stored=[1, 2], num_heads=2),
        case("Attention", x, w, bias, stored=[1, 2], num_heads=2, unidirectional=1),
        case("Attention", x, w, bias, left, stored=[1, 2], num_heads=2),
        case("Attention", x, w, bias, raw, stored=[1, 2], num_heads=2, scale=0.3),
        case("Attention", x, w, bias, None, past, stored=[1, 2], num_heads=2,
             unidirectional=1, given=(1, 1)),
        case("Attention", x, w, bias, None, None, f4(1, h, n, n), stored=[1, 2],
             num_heads=2),
        case("Attention", x, f4(8, 28), f4(28), stored=[1, 2], num_heads=2,
             qkv_hidden_sizes=[8, 8, 12]),
        case("MultiHeadAttention", q, k, v, num_heads=2),
        case("MultiHeadAttention", q, k, v, f4(24), None, f4(1, h, n, 6), stored=[3],
             num_heads=2, scale=0.4),
        case("MultiHeadAttention", q, f4(b, n, 8), f4(b, n, 8), num_heads=2,
             unidirectional=1),
        case("MultiHeadAttention", q, f4(b, h, 6, d), f4(b, h, 6, d), num_heads=2),
        case("MultiHeadAttention", q, k, v, None,
             whole([[1] * 6, [1, 1, 0, 1, 0, 0]], dtype="i4"), num_heads=2),
        case("MultiHeadAttention", q, f4(b, n, 8), f4(b, n, 8), None, None, None,
             f4(b, h, 3, d), f4(b, h, 3, d), num_heads=2, given=(1, 1, 1)),
        case("DecoderMaskedMultiHeadAttention", f4(b, 1, 8), f4(b, 1, 8), f4(b, 1, 8),
             None, None, f4(b, h, 3, d), f4(b, h, 3, d), whole([2], dtype="i4"),
             num_heads=2, past_present_share_buffer=1, given=(1, 1, 1)),
        case("GroupQueryAttention", f4(b, n, 32), f4(b, n, 16), f4(b, n, 16), None,
             None, whole(4, 4, dtype="i4"), np.asarray(5, "i4"), num_heads=2,
             kv_num_heads=1, given=(1, 1, 1)),
        case("GroupQueryAttention", f4(b, n, 32), f4(b, n, 16), f4(b, n, 16), None,
             None, whole(4, 4, dtype="i4"), np.asarray(5, "i4"), wide_cos, wide_sin,
             stored=[7, 8],
             num_heads=2, kv_num_heads=1, do_rotary=1, scale=0.6, given=(1, 1, 1)),
        case("GroupQueryAttention", f4(b, 1, 32), f4(b, 1, 16), f4(b, 1, 16), *caches,
             whole(3, 3, dtype="i4"), np.asarray(4, "i4"), wide_cos, wide_sin,
             num_heads=2, kv_num_heads=1, do_rotary=1, stored=[6, 7, 8],
             given=(1, 1, 1)),
        case("GroupQueryAttention", f4(b, n, 64), None, None, None, None,
             whole(4, 4, dtype="i4"), np.asarray(5, "i4"), num_heads=2,
             kv_num_heads=1, local_window_size=2, stored=[6], given=(1, 1, 1)),
        case("GroupQueryAttention", f4(b, n, 64), None, None, None, None,
             whole(4, 2, dtype="i4"), np.asarray(5, "i4"), num_heads=2,
             kv_num_heads=1, softcap=2.0, given=(1, 1, 1)),
        case("RotaryEmbedding", f4(b, n, 8), places, cos, sin, stored=[2, 3]),
        case("RotaryEmbedding", f4(b, h, n, d), whole([2]), cos, sin, stored=[2, 3],
             interleaved=1),
        case("RotaryEmbedding", f4(b, n, 16), places, cos, sin, num_heads=2,
             rotary_embedding_dim=4),
        case("MRotaryEmbedding", f4(b, n, 8), np.stack([places] * 3), cos, sin,
             mrope_section=[1, 1, 0], num_heads=2),
        case("QAttention", u1(b, n, 8), i1(8, 24), f4(24), *small, left, Z8,
             np.asarray(0, "i1"), stored=[1, 2, 3, 4, 6, 7], num_heads=2),
        case("QAttention", u1(b, n, 8), u1(8, 24), f4(24), *small, None, Z8, Z9,
             stored=[1, 2, 3, 4, 6, 7], num_heads=2, unidirectional=1),
        case("LinearAttention", f4(1, 4, 8), f4(1, 4, 8), f4(1, 4, 8), q_num_heads=2,
             kv_num_heads=2, update_rule="linear", given=(1, 1)),
        case("GroupQueryAttention", f4(b, 1, 32), f4(b, 1, 16), f4(b, 1, 16),
             f4(b, 1, 8, e), f4(b, 1, 8, e), totals, most, num_heads=2,
             kv_num_heads=1, stored=[6], given=(1, 1, 1)),
    ]  # fmt: skip


def quantized() -> list[Case]:
    a, b, image = u1(2, 3, 8), u1(2, 3, 8), u1(1, 3, 6, 6)
    qs = [1, 2, 4, 5, 6, 7]
    return [
        case("QLinearAdd", a, S1, Z8, b, S2, Z9, S3, Z8, stored=qs),
        case("QLinearAdd", i1(2, 8), S1, np.asarray(3, "i1"), i1(8), S2,
             np.asarray(-5, "i1"), S3, np.asarray(7, "i1"), stored=[*qs, 3]),
        case("QLinearMul", a, S1, Z8, b, S2, Z9, S3, Z8, stored=qs),
        case("QLinearMul", a, S1, Z8, u1(1, 3, 1), S2, Z9, S3, Z8, stored=qs),
        case("QLinearSigmoid", a, S1, Z8, np.asarray(1 / 256, "f4"),
             np.asarray(0, "u1"), stored=[1, 2, 3, 4]),
        case("QLinearLeakyRelu", a, S1, Z8, S2, Z9, stored=[1, 2, 3, 4], alpha=0.1),
        case("QLinearSoftmax", a, S1, Z8, np.asarray(1 / 256, "f4"),
             np.asarray(0, "u1"), stored=[1, 2, 3, 4], axis=-1, opset=13),
        case("QLinearConcat", S3, Z8, a, S1, Z8, b, S2, Z9,
             stored=[0, 1, 3, 4, 6, 7], axis=1),
        case("QLinearWhere", RNG.integers(0, 2, (2, 3, 8)).astype(bool), a, S1, Z8, b,
             S2, Z9, S3, Z8, stored=[2, 3, 5, 6, 7, 8]),
        case("QLinearGlobalAveragePool", image, S1, Z8, S2, Z9, stored=[1, 2, 3, 4]),
        case("QLinearGlobalAveragePool", u1(1, 6, 6, 3), S1, Z8, S2, Z9,
             stored=[1, 2, 3, 4], channels_last=1),
        case("QLinearAveragePool", image, S1, Z8, S2, Z9, stored=[1, 2, 3, 4],
             kernel_shape=[2, 2], strides=[2, 2]),
        case("QLinearAveragePool", image, S1, Z8, S2, Z9, stored=[1, 2, 3, 4],
             kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
        case("QLinearConv", u1(1, 3, 8, 8), S1, Z8, u1(4, 3, 3, 3), S2, Z9, S3, Z8,
             whole([1, 2, 3, 4], dtype="i4"), stored=[1, 2, 3, 4, 5, 6, 7, 8]),
        case("QLinearConv", u1(1, 8, 8, 3), S1, Z8, i1(4, 3, 3, 3), scale(4),
             np.zeros(4, "i1"), S3, Z8, stored=[1, 2, 3, 4, 5, 6, 7],
             channels_last=1, pads=[1, 1, 1, 1]),
        case("QGemm", u1(3, 4), S1, Z8, u1(4, 5), S2, Z9,
             whole([1, 2, 3, 4, 5], dtype="i4"), S3, Z8,
             stored=[1, 2, 3, 4, 5, 6, 7, 8]),
        case("QGemm", u1(3, 4), S1, Z8, i1(5, 4), scale(5), np.zeros(5, "i1"), None,
             stored=[1, 2, 3, 4, 5], transB=1, alpha=0.5),
        case("DynamicQuantizeMatMul", f4(2, 3, 8), i1(8, 5), S2, np.asarray(0, "i1"),
             f4(5), stored=[1, 2, 3, 4]),
        case("DynamicQuantizeMatMul", f4(3, 8), u1(8, 5), scale(5), u1(5),
             stored=[1, 2, 3]),
        case("MatMulIntegerToFloat", u1(2, 3, 8), i1(8, 5), S1, scale(5), Z8,
             np.zeros(5, "i1"), f4(5), stored=[1, 3, 5, 6]),
        case("MatMulIntegerToFloat", u1(3, 8), u1(8, 5), S1, S2, stored=[1, 3]),
        case("MatMulInteger16", RNG.integers(-999, 999, (3, 8)).astype("i2"),
             RNG.integers(-999, 999, (8, 5)).astype("i2")),
        case("QuantizeLinear", f4(2, 3, 8), S1, Z8, stored=[1, 2]),
        case("QuantizeLinear", 9 * f4(2, 3), scale(3), np.asarray([1, 2, 3], "u2"),
             stored=[1, 2], axis=1),
        case("DequantizeLinear", a, S1, Z8, stored=[1, 2]),
        case("DequantizeLinear", i1(2, 3, 8), scale(3), i1(3), stored=[1, 2], axis=1),
        case("DynamicQuantizeLSTM", f4(4, 2, 3), i1(1, 3, 16), i1(1, 4, 16), f4(1, 32),
             None, None, None, None, scale(1), np.zeros(1, "i1"), scale(1),
             np.zeros(1, "i1"), stored=[1, 2, 3, 8, 9, 10, 11], hidden_size=4,
             given=(1, 1, 1)),
    ]  # fmt: skip


def blocks() -> list[Case]:
    """Weights of four bits and such."""
    order = np.asarray(np.arange(64) // 32, "i4")
    return [
        case("MatMulNBits", f4(2, 3, 64), u1(5, 2, 16), scale(10), stored=[1, 2],
             K=64, N=5, bits=4, block_size=32),
        case("MatMulNBits", f4(3, 64), u1(5, 2, 16), scale(10), u1(5), None, f4(5),
             stored=[1, 2, 3, 5], K=64, N=5, bits=4, block_size=32),
        case("MatMulNBits", f4(3, 48), u1(5, 3, 8), scale(15), u1(10), stored=[1, 2, 3],
             K=48, N=5, bits=4, block_size=16),
        case("MatMulNBits", f4(3, 64), u1(5, 2, 32), scale(10), u1(10),
             stored=[1, 2, 3], K=64, N=5, bits=8, block_size=32),
        case("MatMulNBits", f4(3, 64), u1(5, 2, 16), scale(10), None, order,
             stored=[1, 2, 4], K=64, N=5, bits=4, block_size=32),
        case("GatherBlockQuantized", u1(12, 32), whole([[1, 5], [11, 0]]), scale(12, 2),
             u1(12, 1), stored=[0, 2, 3], block_size=32, quantize_axis=1),
        case("GatherBlockQuantized", u1(12, 32), whole([3, 4]), scale(12, 2),
             stored=[0, 2], block_size=16, quantize_axis=1, bits=8),
        case("MatMulBnb4", f4(3, 64), u1(5 * 32), scale(10), stored=[1, 2], K=64, N=5,
             block_size=32, quant_type=1),
        case("MoE", f4(3, 8), f4(3, 4), f4(4, 16, 8), None, f4(4, 8, 16),
             stored=[2, 4], k=2, activation_type="gelu"),
        case("QMoE", f4(3, 32), f4(3, 2), u1(2, 32, 16), scale(2, 32), None,
             u1(2, 32, 16), scale(2, 32), stored=[2, 3, 5, 6], k=1,
             activation_type="gelu", expert_weight_bits=4),
        case("SampleOp", f4(3)),
    ]  # fmt: skip


def recent() -> list[Case]:
    """Of language models of late."""
    return [
        case("LinearAttentionGate", f4(2, 3, 4), f4(4), f4(4), f4(2, 3, 4),
             given=(1, 1)),
        case("MoEGroupRouter", f4(3, 8), f4(8), n_group=1, topk_group=1, group_topk=2,
             top_k=2, given=(0, 1, 1)),
        case("HyperConnectionPreMix", f4(2, 3, 32), f4(2, 3, 4), num_branches=4),
        case("HyperConnectionPostMix", f4(2, 3, 32), f4(2, 3, 8), f4(2, 3, 4),
             num_branches=4),
        case("EngramGate", f4(2, 3, 2, 8), f4(2, 3, 2, 8), f4(2, 3, 8), f4(2, 8),
             f4(2, 8)),
        case("NGramHashMapping", whole([[1, 2, 3, 4]]), whole(3, 5),
             whole([11, 13]), max_ngram_size=2, n_head_per_ngram=2, pad_id=0),
        case("GatedDeltaNet", f4(1, 4, 2, 8), f4(1, 4, 2, 8), f4(1, 4, 2, 8), None,
             -np.abs(f4(1, 4, 2)), np.abs(np.tanh(f4(1, 4, 2))), given=(1, 1)),
        case("AttnLSTM", f4(4, 2, 3), f4(1, 16, 5), f4(1, 16, 4), f4(1, 32), None, None,
             None, None, f4(1, 4, 4), f4(1, 3, 4), f4(1, 4), f4(2, 5, 3), None,
             f4(1, 7, 2), hidden_size=4, given=(1, 1, 1)),
        case("GatherPacked", u1(12, 34), whole([3, 4]), K=32, packed_type=8,
             output_dtype=1),
        case("VarlenCausalConvWithState", f4(6, 4), f4(4, 1, 3), whole(0, 2, 6,
             dtype="i4"), f4(4), f4(2, 4, 2), given=(1, 1)),
        case("VarlenNGramHashMapping", whole(1, 2, 3, 4), whole(3, 5), whole([11, 13]),
             whole(0, 4, dtype="i4"), max_ngram_size=2, n_head_per_ngram=2, pad_id=0),
    ]  # fmt: skip


def moves() -> list[Case]:
    x = f4(3, 4, 4)
    sorted_ids = whole([[1, 2, 3, 1, 2, 5], [4, 4, 4, 4, 4, 4]])
    return [
        case("Trilu", x), case("Trilu", x, np.asarray(1, "i8"), stored=[1], upper=0),
        case("Inverse", x + 4 * np.eye(4, dtype="f4")),
        case("ExpandDims", x, whole([1], dtype="i4")[0:1].reshape(()), stored=[1]),
        case("GatherND", x, whole([[0, 1], [2, 3]])),
        case("Range", np.asarray(1.0, "f4"), np.asarray(9.0, "f4"),
             np.asarray(2.0, "f4"), stored=[0, 1, 2]),
        case("Pad", x, whole(0, 1, 1, 0, 0, 2), np.asarray([1.5], "f4"), stored=[1, 2]),
        case("Pad", x, whole(0, 1, 1, 0, 0, 2), mode="reflect", stored=[1]),
        case("CDist", f4(3, 4), f4(5, 4)),
        case("CDist", f4(3, 4), f4(5, 4), metric="sqeuclidean"),
        case("Unique", whole([2.0, 1.0, 2.0, 5.0], dtype="f4"), given=(1, 1, 1)),
        case("NhwcMaxPool", u1(1, 6, 6, 3), kernel_shape=[2, 2], strides=[2, 2]),
        case("NhwcMaxPool", i1(1, 6, 6, 3), kernel_shape=[3, 3], pads=[1, 1, 1, 1]),
        case("MaxpoolWithMask", f4(1, 1, 6, 6),
             np.ones((1, 1, 6, 6), "i4"), kernel_shape=[2, 2], strides=[2, 2]),
        case("GridSample", f4(1, 2, 5, 5), np.tanh(f4(1, 3, 3, 2))),
        case("CropAndResize", f4(2, 3, 8, 8), np.abs(np.tanh(f4(4, 4))),
             whole(0, 1, 0, 1, dtype="i4"), whole(3, 3, dtype="i4"), stored=[3]),
        case("UnfoldTensor", f4(2, 9), dim=1, size=3, step=2),
        case("ConvTransposeWithDynamicPads", f4(1, 2, 4, 4), f4(2, 3, 3, 3),
             whole(1, 1, 1, 1), stored=[1, 2], strides=[2, 2], kernel_shape=[3, 3]),
        case("MurmurHash3", whole(3, 4, 5, dtype="i4"), seed=3),
        case("NGramRepeatBlock", sorted_ids, f4(2, 8), ngram_size=2),
        case("DynamicTimeWarping", f4(1, 4, 5)),
        case("BifurcationDetector", whole(2, 2, 1), whole(1, 1, 2), np.asarray(0),
             given=(1, 1)),
        case("WordConvEmbedding", whole([[1, 2, 3, 4]], dtype="i4"), f4(6, 1, 2, 3),
             f4(6), f4(9, 3), char_embedding_size=3, conv_window_size=2,
             embedding_size=6),
        case("CausalConvWithState", f4(1, 4, 6), f4(4, 1, 3), f4(4), None,
             activation="silu", given=(1, 1)),
        case("Tokenizer", np.asarray(["ab cd", "e"], object), mincharnum=1, mark=0,
             pad_value="#", separators=[" "]),
    ]  # fmt: skip


def all_cases() -> list[Case]:
    groups = (activations, products, norms, attention, quantized, blocks, recent, moves)
    return [c for make in groups for c in make()]
