"""Whole blocks and models in bf16, for `blocks.py`, as their users write them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from importlib import import_module
from itertools import pairwise
from typing import Any

torch: Any = import_module("torch")
nn: Any = import_module("torch.nn")

type Tensors = tuple[Any, ...]
type Made = tuple[Any, Tensors]


@dataclass(frozen=True)
class Block:
    """A model, what it is called with, and how many products of numbers it takes."""

    name: str
    make: Callable[[], Made]  # on the default device
    flops: float
    freeze: bool = False  # whether parameters are built in


def heads(x: Any, count: int) -> Any:
    return x.unflatten(-1, (count, -1)).transpose(1, 2)


class Plain(nn.Module):
    """A block as of GPT, attention written by hand."""

    def __init__(self, width: int, count: int, tokens: int) -> None:
        nn.Module.__init__(self)
        self.count = count
        self.before, self.between = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        later = torch.ones(tokens, tokens, dtype=torch.bool).triu(1)
        self.register_buffer("later", later)

    def attend(self, x: Any) -> Any:
        q, k, v = (heads(y, self.count) for y in self.qkv(x).chunk(3, -1))
        scores = q @ k.transpose(-1, -2) * q.shape[-1] ** -0.5
        weights = scores.masked_fill(self.later, float("-inf")).softmax(-1)
        return self.out((weights @ v).transpose(1, 2).flatten(2))

    def forward(self, x: Any) -> Any:
        x = x + self.attend(self.before(x))
        return x + self.down(nn.functional.gelu(self.up(self.between(x))))


class RMSNorm(nn.Module):
    def __init__(self, width: int) -> None:
        nn.Module.__init__(self)
        self.weight = nn.Parameter(torch.ones(width))

    def forward(self, x: Any) -> Any:
        y = x.float()
        y = y * torch.rsqrt(y.pow(2).mean(-1, keepdim=True) + 1e-5)
        return self.weight * y.to(x.dtype)


def turned(x: Any, cos: Any, sin: Any) -> Any:
    a, b = x.chunk(2, -1)
    return x * cos + torch.cat((-b, a), -1) * sin


class Llama(nn.Module):
    """A block of Llama 3 8B.  With a cache it takes some more tokens and writes their
    keys and values there."""

    def __init__(self, width: int, count: int, groups: int, inner: int) -> None:
        nn.Module.__init__(self)
        size = width // count
        self.count, self.groups = count, groups
        self.before, self.between = RMSNorm(width), RMSNorm(width)
        self.q, self.o = (nn.Linear(width, width, bias=False) for _ in "qo")
        self.k, self.v = (nn.Linear(width, groups * size, bias=False) for _ in "kv")
        self.gate, self.up = (nn.Linear(width, inner, bias=False) for _ in "gu")
        self.down = nn.Linear(inner, width, bias=False)

    def attend(self, x: Any, cos: Any, sin: Any, *cache: Any) -> Any:
        q = turned(heads(self.q(x), self.count), cos, sin)
        k = turned(heads(self.k(x), self.groups), cos, sin)
        v = heads(self.v(x), self.groups)
        first = len(cache) == 0
        if not first:
            at, keys, values = cache
            keys.index_copy_(2, at, k)
            values.index_copy_(2, at, v)
            k, v = keys, values
        y = nn.functional.scaled_dot_product_attention(
            q, k, v, is_causal=first, enable_gqa=True
        )
        return self.o(y.transpose(1, 2).flatten(2))

    def forward(self, x: Any, cos: Any, sin: Any, *cache: Any) -> Any:
        x = x + self.attend(self.before(x), cos, sin, *cache)
        y = self.between(x)
        return x + self.down(nn.functional.silu(self.gate(y)) * self.up(y))


class Encoder(nn.Module):
    """A layer of BERT, or with the norms first one of ViT."""

    def __init__(self, width: int, count: int, first: bool) -> None:
        nn.Module.__init__(self)
        self.count, self.first = count, first
        self.q, self.k, self.v, self.out = (nn.Linear(width, width) for _ in "qkvo")
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)
        self.one, self.two = nn.LayerNorm(width), nn.LayerNorm(width)

    def attend(self, x: Any) -> Any:
        q, k, v = (heads(f(x), self.count) for f in (self.q, self.k, self.v))
        return self.out(
            nn.functional.scaled_dot_product_attention(q, k, v)
            .transpose(1, 2)
            .flatten(2)
        )

    def feed(self, x: Any) -> Any:
        return self.down(nn.functional.gelu(self.up(x)))

    def forward(self, x: Any) -> Any:
        if self.first:
            x = x + self.attend(self.one(x))
            return x + self.feed(self.two(x))
        x = self.one(x + self.attend(x))
        return self.two(x + self.feed(x))


class ViT(nn.Module):
    """ViT-B/16."""

    def __init__(self, layers: int = 12, width: int = 768) -> None:
        nn.Module.__init__(self)
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.randn(1, 197, width) * 0.02)
        self.layers = nn.Sequential(*(Encoder(width, 12, True) for _ in range(layers)))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 1000)

    def forward(self, x: Any) -> Any:
        y = self.patches(x).flatten(2).transpose(1, 2)
        y = torch.cat((self.token.expand(len(x), -1, -1), y), 1) + self.places
        return self.head(self.norm(self.layers(y))[:, 0])


class Bottleneck(nn.Module):
    def __init__(self, wide: int, narrow: int, stride: int) -> None:
        nn.Module.__init__(self)

        def unit(a: int, b: int, size: int, by: int = 1) -> list[Any]:
            conv = nn.Conv2d(a, b, size, by, size // 2, bias=False)
            return [conv, nn.BatchNorm2d(b)]

        out = 4 * narrow
        self.body = nn.Sequential(
            *unit(wide, narrow, 1), nn.ReLU(),
            *unit(narrow, narrow, 3, stride), nn.ReLU(), *unit(narrow, out, 1),
        )  # fmt: skip
        short = unit(wide, out, 1, stride) if stride > 1 or wide != out else []
        self.short = nn.Sequential(*short)

    def forward(self, x: Any) -> Any:
        return torch.relu(self.body(x) + self.short(x))


class ResNet(nn.Module):
    """ResNet-50."""

    def __init__(self, depths: Sequence[int] = (3, 4, 6, 3)) -> None:
        nn.Module.__init__(self)
        self.stem = nn.Sequential(
            nn.Conv2d(3, 64, 7, 2, 3, bias=False), nn.BatchNorm2d(64), nn.ReLU(),
            nn.MaxPool2d(3, 2, 1),
        )  # fmt: skip
        made: list[Any] = []
        wide = 64
        for k, depth in enumerate(depths):
            for i in range(depth):
                made.append(Bottleneck(wide, 64 << k, 2 if k and not i else 1))
                wide = 256 << k
        self.body, self.head = nn.Sequential(*made), nn.Linear(wide, 1000)

    def forward(self, x: Any) -> Any:
        return self.head(self.body(self.stem(x)).mean((2, 3)))


def random(*shape: int) -> Any:
    return torch.randn(shape, dtype=torch.bfloat16)


def angles(tokens: int, size: int, first: int = 0) -> Tensors:
    steps = 500000.0 ** (-torch.arange(0, size, 2) / size)
    x = torch.outer(torch.arange(first, first + tokens), steps)
    x = torch.cat((x, x), -1)
    return x.cos().bfloat16(), x.sin().bfloat16()


def gpt(batch: int = 8, tokens: int = 1024, width: int = 1024) -> Made:
    return Plain(width, width // 64, tokens), (random(batch, tokens, width),)


def decode(context: int = 2048, width: int = 4096, batch: int = 1) -> Made:
    model = Llama(width, width // 128, width // 512, width * 7 // 2)
    cache = [random(batch, width // 512, context, 128) for _ in "kv"]
    at = torch.tensor([context - 1])
    x = random(batch, 1, width)
    return model, (x, *angles(1, 128, context - 1), at, *cache)


def prefill(tokens: int = 2048, width: int = 4096) -> Made:
    model = Llama(width, width // 128, width // 512, width * 7 // 2)
    return model, (random(1, tokens, width), *angles(tokens, 128))


def bert(batch: int = 8, tokens: int = 512, width: int = 768, layers: int = 12) -> Made:
    made = (Encoder(width, width // 64, False) for _ in range(layers))
    return nn.Sequential(*made), (random(batch, tokens, width),)


def vit(batch: int = 32, layers: int = 12) -> Made:
    return ViT(layers), (random(batch, 3, 224, 224),)


def resnet(batch: int = 32, depths: Sequence[int] = (3, 4, 6, 3)) -> Made:
    last = torch.channels_last
    model, x = ResNet(depths), random(batch, 3, 224, 224)
    for m in model.modules():
        if isinstance(m, nn.BatchNorm2d):
            nn.init.uniform_(m.running_var, 0.5, 1.5)
            nn.init.normal_(m.running_mean, 0, 0.1)
    return model.to(memory_format=last), (x.to(memory_format=last),)


def mlp(batch: int = 64, width: int = 256, inner: int = 1024) -> Made:
    sizes = (width, inner, inner, width)
    layers = [nn.Linear(a, b) for a, b in pairwise(sizes)]
    acts = [x for layer in layers for x in (layer, nn.GELU())]
    return nn.Sequential(*acts[:-1]), (random(batch, width),)


LINEAR = 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336)  # weights of a block of Llama
BLOCKS: dict[str, Block] = {
    "gpt": Block("GPT block, attention by hand, 8x1024x1024", gpt,
                 2 * 8 * 1024 * (12 * 1024**2 + 2 * 1024 * 1024)),
    "decode": Block("Llama 8B block, a token at context 2048", decode,
                    2.0 * LINEAR + 4 * 2048 * 4096),
    "prefill": Block("Llama 8B block, 2048 tokens", prefill,
                     2048 * (2.0 * LINEAR + 2 * 2048 * 4096)),
    "bert": Block("BERT-base, 12 layers, 8x512", bert,
                  12 * 2 * 8 * 512 * (12.0 * 768**2 + 2 * 512 * 768)),
    "vit": Block("ViT-B/16, batch 32", vit,
                 12 * 2 * 32 * 197 * (12.0 * 768**2 + 2 * 197 * 768)),
    "mlp": Block("MLP, 256 to 1024 to 1024 to 256, batch 64", mlp,
                 64 * 2.0 * 1024 * (256 + 1024 + 256)),
    "resnet": Block("ResNet-50, batch 32", resnet, 32 * 8.2e9, freeze=True),
}  # fmt: skip


def made(block: Block, device: str) -> Made:
    """The model, ready to be called without gradients, and what with."""
    torch.manual_seed(0)
    with torch.device(device):
        model, given = block.make()
    model = model.eval().requires_grad_(False)
    return model.to(torch.bfloat16), given
