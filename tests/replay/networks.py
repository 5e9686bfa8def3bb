"""The networks that `capture.py` exports: small, with the structure of real ones."""

from collections.abc import Callable

import torch
import transformers
from torch import Tensor, nn
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional

VOCABULARY = 200
HEADS = 4
HEAD_SIZE = 32
HIDDEN = HEADS * HEAD_SIZE
SPREAD = 0.1  # of weights: wide enough for attention to be far from uniform
LEARNING_RATE = 0.05


def mlp() -> nn.Module:
    return nn.Sequential(
        nn.Linear(64, 256),
        nn.GELU(),
        nn.LayerNorm(256),
        nn.Dropout(0.1),
        nn.Linear(256, 128),
        nn.Tanh(),
        nn.Linear(128, 10),
        nn.Softmax(dim=-1),
    )


def convnet() -> nn.Module:
    return nn.Sequential(
        nn.Conv2d(3, 16, 3, padding=1, bias=False),
        nn.BatchNorm2d(16),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Conv2d(16, 32, 3, padding=1),
        nn.BatchNorm2d(32),
        nn.ReLU(),
        nn.MaxPool2d(2),
        nn.Flatten(),
        nn.Linear(32 * 4 * 4, 64),
        nn.ReLU(),
        nn.Linear(64, 10),
    )


class ResnetBlock(nn.Module):
    """A residual block that halves the image, and the head of the network."""

    def __init__(self) -> None:
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(32, 64, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(64),
            nn.ReLU(),
            nn.Conv2d(64, 64, 3, padding=1, bias=False),
            nn.BatchNorm2d(64),
        )
        self.downsample = nn.Sequential(
            nn.Conv2d(32, 64, 1, stride=2, bias=False), nn.BatchNorm2d(64)
        )
        self.pool = nn.AdaptiveAvgPool2d(1)
        self.head = nn.Linear(64, 10)

    def forward(self, image: Tensor) -> tuple[Tensor, Tensor]:
        features = functional.relu(self.main(image) + self.downsample(image))
        return features, self.head(self.pool(features).flatten(1))


class Bert(nn.Module):
    """One encoder layer with its embeddings and pooler."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.BertConfig(
            initializer_range=SPREAD,
            vocab_size=VOCABULARY,
            hidden_size=HIDDEN,
            num_hidden_layers=1,
            num_attention_heads=HEADS,
            intermediate_size=2 * HIDDEN,
            max_position_embeddings=64,
        )
        self.model = transformers.BertModel(config)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, token_type_ids: Tensor
    ) -> tuple[Tensor, Tensor]:
        result = self.model(input_ids, attention_mask, token_type_ids)
        return result.last_hidden_state, result.pooler_output


def llama() -> nn.Module:
    """One decoder layer with grouped queries, rotary positions and the vocabulary."""
    config = transformers.LlamaConfig(
        initializer_range=SPREAD,
        vocab_size=VOCABULARY,
        hidden_size=HIDDEN,
        num_hidden_layers=1,
        num_attention_heads=HEADS,
        num_key_value_heads=HEADS // 2,
        intermediate_size=2 * HIDDEN,
        max_position_embeddings=64,
    )
    return transformers.LlamaForCausalLM(config)


class Llama(nn.Module):
    """The layer over a whole text."""

    def __init__(self) -> None:
        super().__init__()
        self.model = llama()

    def forward(self, input_ids: Tensor, attention_mask: Tensor) -> Tensor:
        return self.model(input_ids, attention_mask, use_cache=False).logits


class CachedLlama(nn.Module):
    """The same layer, decoding: keys and values of the past come in and go out."""

    def __init__(self) -> None:
        super().__init__()
        self.model = llama()

    def forward(
        self,
        input_ids: Tensor,
        attention_mask: Tensor,
        past_key: Tensor,
        past_value: Tensor,
    ) -> tuple[Tensor, Tensor, Tensor]:
        cache = transformers.DynamicCache([(past_key, past_value)])
        result = self.model(
            input_ids, attention_mask, past_key_values=cache, use_cache=True
        )
        layer = result.past_key_values.layers[0]
        return result.logits, layer.keys, layer.values


class Gpt2(nn.Module):
    """One decoder layer, its attention spelled out in matrix products."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.GPT2Config(
            initializer_range=SPREAD,
            vocab_size=VOCABULARY,
            n_positions=64,
            n_embd=HIDDEN,
            n_layer=1,
            n_head=HEADS,
            bos_token_id=0,
            eos_token_id=0,
            attn_implementation="eager",
        )
        self.model = transformers.GPT2LMHeadModel(config)

    def forward(
        self, input_ids: Tensor, attention_mask: Tensor, position_ids: Tensor
    ) -> Tensor:
        result = self.model(
            input_ids,
            attention_mask=attention_mask,
            position_ids=position_ids,
            use_cache=False,
        )
        return result.logits


class Residual(nn.Module):
    """Convolutions between group norms, conditioned on a time embedding."""

    def __init__(self, channels: int, width: int, embedding: int) -> None:
        super().__init__()
        self.before = nn.Sequential(
            nn.GroupNorm(8, channels), nn.SiLU(), nn.Conv2d(channels, width, 3, 1, 1)
        )
        self.time = nn.Sequential(nn.SiLU(), nn.Linear(embedding, width))
        self.after = nn.Sequential(
            nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, width, 3, 1, 1)
        )
        self.skip = nn.Conv2d(channels, width, 1)

    def forward(self, image: Tensor, time: Tensor) -> Tensor:
        shifted = self.before(image) + self.time(time)[:, :, None, None]
        return self.skip(image) + self.after(shifted)


class PixelAttention(nn.Module):
    """Self-attention of one head over the pixels of an image."""

    def __init__(self, channels: int) -> None:
        super().__init__()
        self.norm = nn.GroupNorm(8, channels)
        self.project = nn.Linear(channels, 3 * channels)
        self.out = nn.Linear(channels, channels)

    def forward(self, image: Tensor) -> Tensor:
        pixels = self.norm(image).flatten(2).transpose(1, 2).unsqueeze(1)
        query, key, value = self.project(pixels).chunk(3, dim=-1)
        mixed = functional.scaled_dot_product_attention(query, key, value)
        return image + self.out(mixed.squeeze(1)).transpose(1, 2).reshape(image.shape)


class Unet(nn.Module):
    """One level of a diffusion U-Net: down, attend, up, join the skip."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(4, 32, 3, padding=1)
        self.enter = Residual(32, 32, 64)
        self.down = nn.Conv2d(32, 64, 3, stride=2, padding=1)
        self.middle = Residual(64, 64, 64)
        self.attention = PixelAttention(64)
        self.up = nn.Upsample(scale_factor=2, mode="nearest")
        self.leave = Residual(96, 32, 64)
        self.head = nn.Conv2d(32, 4, 3, padding=1)

    def forward(self, image: Tensor, time: Tensor) -> Tensor:
        skip = self.enter(self.stem(image), time)
        deep = self.attention(self.middle(self.down(skip), time))
        joined = torch.cat([self.up(deep), skip], dim=1)
        return self.head(self.leave(joined, time))


class LstmCell(nn.Module):
    """One step of a recurrent network and its prediction."""

    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(64, 128)
        self.head = nn.Linear(128, 10)

    def forward(
        self, row: Tensor, hidden: Tensor, cell: Tensor
    ) -> tuple[Tensor, Tensor, Tensor]:
        hidden, cell = self.cell(row, (hidden, cell))
        return self.head(hidden), hidden, cell


class Moe(nn.Module):
    """Every token goes through the two best of four experts, weighted by its gate."""

    def __init__(self, experts: int = 4, chosen: int = 2) -> None:
        super().__init__()
        self.chosen = chosen
        self.gate = nn.Linear(64, experts, bias=False)
        self.wide = nn.Parameter(torch.randn(experts, 64, 128) / 8)
        self.narrow = nn.Parameter(torch.randn(experts, 128, 64) / 11)
        self.norm = nn.RMSNorm(64)

    def forward(self, hidden: Tensor) -> tuple[Tensor, Tensor]:
        tokens = self.norm(hidden).flatten(0, 1)
        scores = self.gate(tokens)
        best, experts = scores.topk(self.chosen, dim=-1)
        weights = torch.zeros_like(scores).scatter(-1, experts, best.softmax(-1))
        inner = functional.silu(torch.einsum("th,ehf->etf", tokens, self.wide))
        each = torch.einsum("etf,efh->eth", inner, self.narrow)
        mixed = torch.einsum("te,eth->th", weights, each)
        return hidden + mixed.view_as(hidden), experts


class Vit(nn.Module):
    """Patch embedding, one encoder layer and the classifier."""

    def __init__(self) -> None:
        super().__init__()
        config = transformers.ViTConfig(
            initializer_range=SPREAD,
            image_size=32,
            patch_size=8,
            hidden_size=HIDDEN,
            num_hidden_layers=1,
            num_attention_heads=HEADS,
            intermediate_size=2 * HIDDEN,
            num_labels=10,
        )
        self.model = transformers.ViTForImageClassification(config)

    def forward(self, image: Tensor) -> Tensor:
        return self.model(image).logits


def loss(parameters: tuple[Tensor, ...], rows: Tensor, labels: Tensor) -> Tensor:
    wide, wide_bias, scale, shift, narrow, narrow_bias = parameters
    hidden = functional.gelu(functional.linear(rows, wide, wide_bias))
    normed = functional.layer_norm(hidden, [HIDDEN], scale, shift)
    logits = functional.linear(normed, narrow, narrow_bias)
    total = functional.cross_entropy(logits, labels, reduction="sum")
    return total / len(rows)  # the exporter drops this divisor of a mean's gradient


def training_step() -> nn.Module:
    """Forward, backward and an SGD update; the parameters come in and go out.

    Traced here, because `torch.export` does not trace through `torch.func.grad`.
    """

    def step(rows: Tensor, labels: Tensor, *before: Tensor) -> tuple[Tensor, ...]:
        gradients, value = torch.func.grad_and_value(loss)(before, rows, labels)
        pairs = zip(before, gradients, strict=True)
        return value, *(old - LEARNING_RATE * slope for old, slope in pairs)

    rows, labels = torch.randn(32, 64), torch.arange(32) % 10
    shapes = [(HIDDEN, 64), (HIDDEN,), (HIDDEN,), (HIDDEN,), (10, HIDDEN), (10,)]
    return make_fx(step)(rows, labels, *map(torch.randn, shapes))


NETWORKS: dict[str, Callable[[], nn.Module]] = {
    "mlp": mlp,
    "convnet": convnet,
    "resnet_block": ResnetBlock,
    "bert_layer": Bert,
    "llama_layer": Llama,
    "llama_cached": CachedLlama,
    "gpt2_layer": Gpt2,
    "unet_block": Unet,
    "lstm_cell": LstmCell,
    "moe_layer": Moe,
    "vit_block": Vit,
    "training_step": training_step,
}
