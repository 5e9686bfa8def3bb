"""Models with random weights, built offline: name -> (module, inputs)."""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn

type Model = tuple[nn.Module, tuple[Any, ...]]


def stirred(model: nn.Module) -> nn.Module:
    """Batch norms with statistics that are not 0 and 1, in eval mode."""
    for m in model.modules():
        if (
            isinstance(m, nn.modules.batchnorm._BatchNorm)
            and m.running_mean is not None
        ):
            m.running_mean.uniform_(-0.5, 0.5)
            m.running_var.uniform_(0.5, 1.5)
            if m.weight is not None:
                nn.init.uniform_(m.weight, 0.5, 1.5)
                nn.init.uniform_(m.bias, -0.5, 0.5)
    return model.eval()


def vision(name: str, size: int = 224) -> Model:
    models: Any = import_module("torchvision.models")
    return stirred(models.get_model(name, weights=None)), (
        torch.rand(1, 3, size, size),
    )


class Last(nn.Module):
    """A model of transformers whose result is its first tensor."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(ids, use_cache=False)[0]


def text(kind: str, length: int = 128, **config: Any) -> Model:
    transformers: Any = import_module("transformers")
    chosen = getattr(transformers, f"{kind}Config")(**config)
    model = getattr(transformers, f"{kind}Model")(chosen)
    ids = torch.randint(0, chosen.vocab_size, (1, length))
    return Last(model.eval()), (ids,)


class Lstm(nn.Module):
    """An LSTM cell, over some steps."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(64, 128)

    def forward(self, x: Tensor) -> Tensor:
        h = c = x.new_zeros(x.shape[1], 128)
        for step in x.unbind(0):
            h, c = self.cell(step, (h, c))
        return h


class Unet(nn.Module):
    """One level of a U-net: group norms, a skip, a pool and an upsampling."""

    def __init__(self, c: int = 32) -> None:
        super().__init__()
        self.first = nn.Sequential(
            nn.Conv2d(3, c, 3, padding=1), nn.GroupNorm(8, c), nn.SiLU()
        )
        self.inner = nn.Sequential(
            nn.Conv2d(c, 2 * c, 3, padding=1), nn.GroupNorm(8, 2 * c), nn.SiLU()
        )
        self.up = nn.ConvTranspose2d(2 * c, c, 2, 2)
        self.last = nn.Conv2d(2 * c, 3, 1)

    def forward(self, x: Tensor) -> Tensor:
        a = self.first(x)
        b = self.inner(nn.functional.avg_pool2d(a, 2))
        wide = nn.functional.interpolate(b, scale_factor=2, mode="nearest")
        return self.last(torch.cat([a, self.up(b)], 1)) + wide[:, :3]


SMALL: dict[str, Any] = {
    "hidden_size": 256, "intermediate_size": 1024, "num_hidden_layers": 2,
    "num_attention_heads": 4, "vocab_size": 1000,
}  # fmt: skip
MODELS: dict[str, Callable[[], Model]] = {
    "resnet18": lambda: vision("resnet18"),
    "mobilenet_v3": lambda: vision("mobilenet_v3_small"),
    "vit_b_16, 2 layers": lambda: _short_vit(),
    "unet level": lambda: (Unet().eval(), (torch.rand(1, 3, 64, 64),)),
    "lstm cell, 8 steps": lambda: (Lstm().eval(), (torch.rand(8, 16, 64),)),
    "bert, 2 layers": lambda: text("Bert", **SMALL),
    "llama, 2 layers": lambda: text("Llama", **SMALL, num_key_value_heads=2),
    "gpt2, 2 layers": lambda: text("GPT2", n_embd=256, n_layer=2, n_head=4,
                                   vocab_size=1000),
}  # fmt: skip


def _short_vit() -> Model:
    models: Any = import_module("torchvision.models.vision_transformer")
    model = models.VisionTransformer(
        image_size=224, patch_size=16, num_layers=2, num_heads=4, hidden_dim=256,
        mlp_dim=1024,
    )  # fmt: skip
    nn.init.normal_(model.heads.head.weight, std=0.02)  # it starts as zeros
    return model.eval(), (torch.rand(1, 3, 224, 224),)


class Perceptron(nn.Sequential):
    def __init__(self) -> None:
        super().__init__(
            nn.Linear(256, 512), nn.GELU(), nn.LayerNorm(512), nn.Linear(512, 64)
        )


class T5(nn.Module):
    """Encoder and decoder on one sequence."""

    def __init__(self) -> None:
        super().__init__()
        transformers: Any = import_module("transformers")
        config = transformers.T5Config(
            vocab_size=1000, d_model=256, d_kv=64, d_ff=512, num_layers=2, num_heads=4,
        )  # fmt: skip
        self.model = transformers.T5Model(config)

    def forward(self, ids: Tensor) -> Tensor:
        return self.model(input_ids=ids, decoder_input_ids=ids, use_cache=False)[0]


class Decoder(nn.Module):
    """A token of Llama, whose keys and values are written into a cache of one size."""

    def __init__(self, length: int, **config: Any) -> None:
        super().__init__()
        transformers: Any = import_module("transformers")
        chosen = transformers.LlamaConfig(**config)
        self.model = transformers.LlamaModel(chosen)
        self.cache = transformers.StaticCache(config=chosen, max_cache_len=length)
        width = chosen.hidden_size // chosen.num_attention_heads
        heads = chosen.num_key_value_heads
        self.cache.early_initialization(1, heads, width, torch.float32, "cpu")

    def forward(self, ids: Tensor, at: Tensor) -> Tensor:
        for layer in self.cache.layers:  # a call after another begins at the same token
            layer.cumulative_length.copy_(at[0])
        return self.model(ids, past_key_values=self.cache,
                          position_ids=at[None])[0]  # fmt: skip


def decoder() -> Model:
    model = Decoder(64, **SMALL, num_key_value_heads=2).eval()
    return model, (torch.randint(0, 1000, (1, 1)), torch.tensor([5]))


def tiny(name: str, **asked: Any) -> Model:
    """A model of timm."""
    timm: Any = import_module("timm")
    made = timm.create_model(name, pretrained=False, **asked)
    return stirred(made), (torch.rand(1, 3, 224, 224),)


# What no test compiles: `tests.torch.coverage` and the benchmark do.
MORE: dict[str, Callable[[], Model]] = {
    "resnet50": lambda: vision("resnet50"),
    "mobilenet_v3_large": lambda: vision("mobilenet_v3_large"),
    "convnext_tiny": lambda: vision("convnext_tiny"),
    "vit_tiny": lambda: tiny("vit_tiny_patch16_224"),
    "swin_t": lambda: vision("swin_t"),
    "t5": lambda: (T5().eval(), (torch.randint(0, 1000, (1, 32)),)),
    "mixtral": lambda: text("Mixtral", 32, **SMALL, num_key_value_heads=2,
                            num_local_experts=4, num_experts_per_tok=2),
    "llama, static cache": decoder,
    "lstm cell": lambda: (Lstm().eval(), (torch.rand(1, 16, 64),)),
}  # fmt: skip


class Digits(nn.Sequential):
    """The convolutional net of PyTorch's MNIST example."""

    def __init__(self) -> None:
        super().__init__(
            nn.Conv2d(1, 32, 3), nn.ReLU(), nn.Conv2d(32, 64, 3), nn.ReLU(),
            nn.MaxPool2d(2), nn.Dropout(0.25), nn.Flatten(), nn.Linear(9216, 128),
            nn.ReLU(), nn.Dropout(0.5), nn.Linear(128, 10), nn.LogSoftmax(1),
        )  # fmt: skip


MORE_TRAINED: dict[str, Callable[[], Model]] = {
    "mnist": lambda: (Digits(), (torch.rand(4, 1, 28, 28),)),
    "resnet18": lambda: (vision("resnet18", 64)[0].train(), (
        torch.rand(2, 3, 64, 64),)),
}  # fmt: skip
TRAINED: dict[str, Callable[[], Model]] = {
    "perceptron": lambda: (Perceptron(), (torch.randn(64, 256),)),
    "unet level": lambda: (Unet(), (torch.rand(1, 3, 32, 32),)),
    "bert, 2 layers": lambda: text("Bert", 64, **SMALL),
}
