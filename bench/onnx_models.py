"""The models of bench/onnx_tools.py: exported by torch, with inputs and true outputs.

    python -m bench.onnx_models [DIR]        (build/onnx-models; needs '.[bench]')

Writes NAME.raw.onnx (optimize=False), NAME.opt.onnx (as the exporter leaves it) and
NAME.npz: the inputs, and the outputs of the same module in float64.  Nothing is
downloaded: weights are random, shapes static, batches of one.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
import torchvision
import transformers
from torch import Tensor, nn
from torch.nn import functional
from torch.overrides import TorchFunctionMode

VOCABULARY = 2000
SEQUENCE = 128


class Exact(TorchFunctionMode):
    """Float64 throughout: a module's own steps to float32 are not taken."""

    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Any,
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is Tensor.float:
            func = Tensor.double
        wide = [torch.float64 if a is torch.float32 else a for a in args]
        named = {
            k: torch.float64 if v is torch.float32 else v
            for k, v in (kwargs or {}).items()
        }
        return func(*wide, **named)


def block(inner: int, outer: int, stride: int = 1) -> nn.Sequential:
    conv = nn.Conv2d(inner, outer, 3, stride, padding=1, bias=False)
    return nn.Sequential(conv, nn.BatchNorm2d(outer))


class ConvBn(nn.Module):
    """Six convolutions, each with its batch norm, and two skips around two of them."""

    def __init__(self) -> None:
        super().__init__()
        self.stem, self.down = block(3, 32, 2), block(32, 64, 2)
        self.first, self.second = block(32, 32), block(32, 32)
        self.third, self.fourth = block(64, 64), block(64, 64)
        self.head = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> Tensor:
        x = functional.max_pool2d(self.stem(image).relu(), 2)
        x = (x + self.second(self.first(x).relu())).relu()
        x = self.down(x).relu()
        x = (x + self.fourth(self.third(x).relu())).relu()
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Bert(nn.Module):
    """Two encoder layers with their embeddings."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.BertConfig(vocab_size=VOCABULARY, num_hidden_layers=2)
        self.model = transformers.BertModel(config, add_pooling_layer=False)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.model(input_ids).last_hidden_state


class Llama(nn.Module):
    """Two decoder layers with grouped queries, rotary positions and the vocabulary."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.LlamaConfig(
            vocab_size=VOCABULARY,
            hidden_size=512,
            intermediate_size=1376,
            num_hidden_layers=2,
            num_attention_heads=8,
            num_key_value_heads=4,
            max_position_embeddings=256,
        )
        self.model = transformers.LlamaForCausalLM(config)

    def forward(self, input_ids: Tensor) -> Tensor:
        return self.model(input_ids, use_cache=False).logits


def image(side: int) -> Tensor:
    return torch.randn(1, 3, side, side)


def tokens() -> Tensor:
    return torch.randint(VOCABULARY, (1, SEQUENCE))


@dataclass(frozen=True)
class Case:
    build: Callable[[], nn.Module]
    example: Callable[[], Tensor]
    names: tuple[str, str]  # of the input and the output


MODELS = {
    "resnet50": Case(
        torchvision.models.resnet50, lambda: image(224), ("image", "logits")
    ),
    "bert2": Case(Bert, tokens, ("input_ids", "hidden")),
    "llama2": Case(Llama, tokens, ("input_ids", "logits")),
    "conv_bn": Case(ConvBn, lambda: image(160), ("image", "logits")),
}


def build(case: Case) -> nn.Module:
    """The network, with no batch norm that is the identity, as a new one nearly is."""
    torch.manual_seed(0)  # pyright: ignore[reportUnknownMemberType]
    network = case.build().eval()
    with torch.no_grad():
        for norm in network.modules():
            if isinstance(norm, nn.BatchNorm2d):
                norm.weight.uniform_(0.5, 1.5)
                norm.bias.normal_(0.0, 0.1)
                norm.running_mean = 0.3 * torch.randn(norm.num_features)
                norm.running_var = 0.5 + 1.5 * torch.rand(norm.num_features)
    return network


def export(network: nn.Module, case: Case, given: Tensor, path: Path) -> None:
    program = torch.onnx.export(  # pyright: ignore[reportUnknownMemberType]
        network,
        (given,),
        input_names=case.names[:1],
        output_names=case.names[1:],
        optimize=path.suffixes[0] == ".opt",
        dynamo=True,
        verbose=False,
    )
    assert program is not None
    program.save(path)  # pyright: ignore[reportUnknownMemberType]


def exact(network: nn.Module, given: Tensor) -> Tensor:
    """What the network gives in float64; leaves it in float64."""
    with torch.no_grad(), Exact():
        out = network.double()(given.double() if given.is_floating_point() else given)
    assert out.dtype == torch.float64
    return out


def write(name: str, folder: Path) -> None:
    case = MODELS[name]
    network, given = build(case), case.example()
    for form in ("raw", "opt"):
        export(network, case, given, folder / f"{name}.{form}.onnx")
    arrays: dict[str, Any] = {
        key: tensor.numpy()
        for key, tensor in zip(case.names, (given, exact(network, given)), strict=True)
    }
    np.savez(folder / f"{name}.npz", **arrays)


def main() -> None:
    default = Path(__file__).parents[1] / "build/onnx-models"
    folder = Path(sys.argv[1]) if len(sys.argv) > 1 else default
    folder.mkdir(parents=True, exist_ok=True)
    for name in MODELS:
        write(name, folder)
        print(f"{name}: written to {folder}")


if __name__ == "__main__":
    main()
