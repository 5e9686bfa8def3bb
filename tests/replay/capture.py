"""Capture the replay set: export every network, leave its weights out, write the file.

    python -m tests.replay.capture [NAME ...]

needs torch, transformers, onnx and onnxscript. No weights are downloaded: networks are
built from their configurations. Each capture is compared with its network, under the
reference evaluator of onnx, before its weights are left out.
"""

import sys
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any
from zlib import crc32

import numpy as np
import onnx
import torch
from onnx import numpy_helper
from onnx.reference import ReferenceEvaluator
from torch import Tensor, nn

from .networks import NETWORKS, VOCABULARY
from .weights import LOCATION, MODELS, random_inputs

KEPT = 64  # elements: a tensor of more is left out
CAPTURED = {"batch": 2, "sequence": 16, "past": 20, "total": 36}
REPLAYED = {"batch": 3, "sequence": 24, "past": 17, "total": 41}


@dataclass(frozen=True)
class Input:
    """A named dimension is symbolic; `range` is inclusive; `descending` sorts rows."""

    name: str
    dims: tuple[int | str, ...]
    range: tuple[float, float] | None = None
    dtype: torch.dtype = torch.float32
    descending: bool = False

    @property
    def axes(self) -> dict[int, str]:
        return {i: dim for i, dim in enumerate(self.dims) if isinstance(dim, str)}


@dataclass(frozen=True)
class Case:
    """What one network is exported with; `raw` is without the exporter's optimizer."""

    inputs: tuple[Input, ...]
    outputs: tuple[str, ...]
    raw: bool


def tokens(*dims: str) -> Input:
    return Input("input_ids", dims, (0, VOCABULARY - 1), torch.int64)


def padding(*dims: str) -> Input:
    return Input("attention_mask", dims, (0, 1), torch.int64, descending=True)


def parameter(name: str, *dims: int, around: float = 0.0) -> Input:
    return Input(name, dims, (around - 0.1, around + 0.1))


TRAINED = (
    parameter("wide", 128, 64),
    parameter("wide_bias", 128),
    parameter("scale", 128, around=1.0),
    parameter("shift", 128),
    parameter("narrow", 10, 128),
    parameter("narrow_bias", 10),
)

CASES: dict[str, Case] = {
    "mlp": Case((Input("rows", ("batch", 64)),), ("classes",), raw=True),
    "convnet": Case((Input("image", ("batch", 3, 16, 16)),), ("logits",), raw=False),
    "resnet_block": Case(
        (Input("image", ("batch", 32, 16, 16)),), ("features", "logits"), raw=True
    ),
    "bert_layer": Case(
        (
            tokens("batch", "sequence"),
            padding("batch", "sequence"),
            Input("token_type_ids", ("batch", "sequence"), (0, 1), torch.int64),
        ),
        ("hidden", "pooled"),
        raw=False,
    ),
    "llama_layer": Case(
        (tokens("batch", "sequence"), padding("batch", "sequence")),
        ("logits",),
        raw=True,
    ),
    "llama_cached": Case(
        (
            tokens("batch", "sequence"),
            padding("batch", "total"),
            Input("past_key", ("batch", 2, "past", 32)),
            Input("past_value", ("batch", 2, "past", 32)),
        ),
        ("logits", "key", "value"),
        raw=False,
    ),
    "gpt2_layer": Case(
        (
            tokens("batch", "sequence"),
            padding("batch", "sequence"),
            Input("position_ids", ("batch", "sequence"), (0, 63), torch.int64),
        ),
        ("logits",),
        raw=True,
    ),
    "unet_block": Case(
        (Input("image", (2, 4, 16, 16)), Input("time", (2, 64))),
        ("noise",),
        raw=False,
    ),
    "lstm_cell": Case(
        (
            Input("row", ("batch", 64)),
            Input("hidden", ("batch", 128)),
            Input("cell", ("batch", 128)),
        ),
        ("logits", "next_hidden", "next_cell"),
        raw=True,
    ),
    "moe_layer": Case(
        (Input("hidden", ("batch", 16, 64)),), ("mixed", "experts"), raw=False
    ),
    "vit_block": Case((Input("image", ("batch", 3, 32, 32)),), ("logits",), raw=False),
    "training_step": Case(
        (
            Input("rows", (32, 64)),
            Input("labels", (32,), (0, 9), torch.int64),
            *TRAINED,
        ),
        ("loss", *(f"next_{item.name}" for item in TRAINED)),
        raw=True,
    ),
}


def build(name: str) -> nn.Module:
    """The network, with no weight at a value that would hide a mistake, as 0 and 1."""
    torch.manual_seed(crc32(name.encode()))
    network = NETWORKS[name]().eval()
    with torch.no_grad():
        for weight in network.parameters():
            if not weight.std() > 0:
                weight += 0.1 * torch.randn_like(weight)
        for norm in network.modules():
            if isinstance(norm, nn.BatchNorm2d):
                norm.running_mean.normal_(0.0, 0.3)
                norm.running_var.uniform_(0.5, 2.0)
    return network


def example(item: Input) -> Tensor:
    shape = [CAPTURED.get(dim, dim) for dim in item.dims]
    if item.range is None:
        return torch.randn(shape)
    low, high = item.range
    if item.dtype.is_floating_point:
        return torch.empty(shape).uniform_(low, high)
    drawn = torch.randint(int(low), int(high) + 1, shape, dtype=item.dtype)
    return drawn.sort(dim=-1, descending=True).values if item.descending else drawn


def export(network: nn.Module, case: Case) -> onnx.ModelProto:
    inputs = tuple(example(item) for item in case.inputs)
    axes = tuple(item.axes for item in case.inputs)
    program = torch.onnx.export(
        network,
        inputs,
        input_names=[item.name for item in case.inputs],
        output_names=case.outputs,
        dynamic_shapes=axes if any(axes) else None,
        optimize=not case.raw,
        dynamo=True,
        verbose=False,
    )
    return program.model_proto


def record(model: onnx.ModelProto, case: Case) -> None:
    """Write in the metadata how the model was captured and what to replay it with."""
    facts = {"exporter": f"torch {torch.__version__}", "optimized": str(not case.raw)}
    for item in case.inputs:
        if item.range is not None:
            facts[f"range:{item.name}"] = "{} {}".format(*item.range)
        if item.descending:
            facts[f"sorted:{item.name}"] = "descending"
        for dim in item.axes.values():
            facts[f"size:{dim}"] = str(REPLAYED[dim])
    onnx.helper.set_model_props(model, facts)


def messages(part: Any) -> Iterator[Any]:
    """`part` and every message in it."""
    yield part
    for field, value in part.ListFields():
        if field.message_type is not None:
            for inner in [value] if hasattr(value, "ListFields") else value:
                yield from messages(inner)


def anonymize(model: onnx.ModelProto) -> None:
    """Drop what the exporter says of the source: it names files of the machine."""
    for part in list(messages(model)):
        for name in ("doc_string", "metadata_props"):
            if name in part.DESCRIPTOR.fields_by_name:
                part.ClearField(name)


def leave_out(tensor: onnx.TensorProto) -> None:
    """Replace the data of a large tensor by their mean, deviation and range."""
    data = numpy_helper.to_array(tensor)
    if data.size <= KEPT:
        return
    kind = float if np.issubdtype(data.dtype, np.floating) else int
    facts = {"min": kind(data.min()), "max": kind(data.max())}
    if kind is float:
        facts = {"mean": data.mean(dtype=float), "std": data.std(dtype=float), **facts}
    slim = onnx.TensorProto(
        name=tensor.name, dims=tensor.dims, data_type=tensor.data_type
    )
    slim.data_location = onnx.TensorProto.EXTERNAL
    slim.external_data.add(key="location", value=LOCATION)
    for key, value in facts.items():
        slim.external_data.add(key=key, value=str(value))
    tensor.CopyFrom(slim)


def compare(name: str, network: nn.Module, model: onnx.ModelProto) -> None:
    """Raise unless `model` computes what `network` does, at the sizes of the replay."""
    inputs = random_inputs(model, {})
    with torch.no_grad():
        expected = network(*map(torch.from_numpy, inputs.values()))
    expected = [expected] if isinstance(expected, Tensor) else expected
    for wanted, found in zip(
        expected, ReferenceEvaluator(model).run(None, inputs), strict=True
    ):
        np.testing.assert_allclose(
            found, wanted.numpy(), rtol=1e-3, atol=1e-4, err_msg=name
        )


def capture(name: str) -> None:
    case, network = CASES[name], build(name)
    model = export(network, case)
    anonymize(model)
    record(model, case)
    compare(name, network, model)
    for tensor in model.graph.initializer:
        leave_out(tensor)
    data = model.SerializeToString(deterministic=True)
    (MODELS / f"{name}.onnx").write_bytes(data)
    print(f"{name}: {len(model.graph.node)} nodes, {len(data)} bytes")


if __name__ == "__main__":
    for chosen in sys.argv[1:] or CASES:
        capture(chosen)
