"""Programs of `torch.export`: read, optimized, run, saved for where no PyTorch is."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="PyTorch is an extra: rewrite[torch]")

from torch import nn  # noqa: E402
from typer.testing import CliRunner  # noqa: E402

import rewrite  # noqa: E402
from rewrite.commands.cli import app  # noqa: E402
from rewrite.torch.exported import ExportError, graph_of, read  # noqa: E402

from .zoo import Unet, stirred  # noqa: E402


def net() -> nn.Module:
    torch.manual_seed(0)
    return stirred(nn.Sequential(
        nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.SiLU(),
        nn.AdaptiveAvgPool2d(2), nn.Flatten(), nn.Linear(32, 5), nn.Softmax(-1),
    ))  # fmt: skip


def written(model: nn.Module, path: Path, *inputs: Any, **asked: Any) -> Path:
    torch.export.save(torch.export.export(model, inputs, **asked), path)
    return path


@pytest.mark.parametrize("model", [net, lambda: Unet(8).eval()], ids=["net", "unet"])
def test_the_values_of_eager_pytorch(model: Any, tmp_path: Path) -> None:
    made, x = model(), torch.rand(1, 3, 16, 16)
    graph = read(written(made, tmp_path / "m.pt2", x))
    (given,) = (n.attrs[0] for n in graph.inputs)
    fast = rewrite.compile_graph(graph, "c", effort=1, fallback=False, cache=False)
    (got,) = fast({given: x.numpy()}).values()
    np.testing.assert_allclose(got, made(x).detach().numpy(), rtol=1e-4, atol=1e-5)


@pytest.mark.sweep(3)
@pytest.mark.parametrize(
    ("asked", "said"),
    [(("explain", "{}", "--no-run"), "Kernels"), (("cover", "{}"), "matched"),
     (("why-not", "div-recip", "softmax", "{}"), "div-recip")],
    ids=["explain", "cover", "why-not"],
)  # fmt: skip
def test_commands_that_judge_rules_take_it(
    asked: tuple[str, ...], said: str, tmp_path: Path
) -> None:
    path = written(net()[4:], tmp_path / "m.pt2", torch.rand(3, 8, 2, 2))
    done = CliRunner().invoke(app, [x.format(path) for x in asked])
    assert done.exit_code == 0 and said in done.output, done.output


def test_sizes_that_change(tmp_path: Path) -> None:
    model, batch = net()[4:], torch.export.Dim("batch", min=2, max=64)
    path = written(model, tmp_path / "m.pt2", torch.rand(3, 8, 2, 2),
                   dynamic_shapes=({0: batch},))  # fmt: skip
    graph = read(path)
    assert len(graph.symbols) == 1
    fast = rewrite.compile_graph(graph, "c", effort=1, fallback=False, cache=False)
    (given,) = (n.attrs[0] for n in graph.inputs)
    for n in (2, 7):
        x = torch.rand(n, 8, 2, 2)
        (got,) = fast({given: x.numpy()}).values()
        np.testing.assert_allclose(got, model(x).detach().numpy(), rtol=1e-4)


def test_the_commands(tmp_path: Path) -> None:
    path = written(net(), tmp_path / "m.pt2", torch.rand(1, 3, 8, 8))
    for command in ("optimize", "run"):
        result = CliRunner().invoke(app, [command, str(path), "--device", "c"])
        assert result.exit_code == 0, result.output


def test_a_record_of_eager_pytorch(tmp_path: Path) -> None:
    model, x = net(), torch.rand(1, 3, 8, 8)
    path = written(model, tmp_path / "m.pt2", x)
    program = torch.export.load(path)
    (given,) = program.graph_signature.user_inputs
    (output,) = program.graph_signature.user_outputs
    asked = ["check", str(path), "--against", str(tmp_path / "r.npz"), "--device", "c"]
    for off, status in ((0.0, 0), (0.1, 1)):
        y = model(x).detach().numpy() + np.float32(off)
        np.savez(tmp_path / "r.npz", **{given: x.numpy(), output: y})
        result = CliRunner().invoke(app, asked)
        assert result.exit_code == status, result.output


def test_a_bundle_loads_without_pytorch(tmp_path: Path) -> None:
    model, x = net(), torch.rand(1, 3, 8, 8)
    graph = read(written(model, tmp_path / "m.pt2", x))
    rewrite.compile_graph(graph, "c", effort=1, cache=False).save(tmp_path / "m.rw")
    np.save(tmp_path / "x.npy", x.numpy())
    code = f"""
import sys
sys.modules["torch"] = None  # importing it is an error
import numpy as np, rewrite
(y,) = rewrite.load(r"{tmp_path / "m.rw"}")(
    np.load(r"{tmp_path / "x.npy"}")).values()
np.save(r"{tmp_path / "y.npy"}", y)
"""
    subprocess.run([sys.executable, "-c", code], check=True, cwd=tmp_path)
    got, want = np.load(tmp_path / "y.npy"), model(x).detach().numpy()
    np.testing.assert_allclose(got, want, rtol=1e-4, atol=1e-5)


def test_what_is_not_read_is_named(tmp_path: Path) -> None:
    class Best(nn.Module):
        def forward(self, x: Any) -> Any:
            return torch.kthvalue(x, 2).values

    class Counter(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.register_buffer("count", torch.zeros(()))

        def forward(self, x: Any) -> Any:
            self.count.add_(1)
            return x * self.count

    with pytest.raises(ExportError, match=r"aten\.kthvalue\.default: it has no reader"):
        graph_of(torch.export.export(Best(), (torch.rand(4),)))
    with pytest.raises(ExportError, match="writes to count"):
        graph_of(torch.export.export(Counter(), (torch.rand(4),)))
    other = tmp_path / "m.pt2"
    other.write_bytes(b"no program")
    with pytest.raises(ExportError, match=r"no program of torch\.export"):
        read(other)
    result = CliRunner().invoke(app, ["optimize", str(other)])
    assert result.exit_code == 2
