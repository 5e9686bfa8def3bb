"""The commands as people type them, and what they say to bad input."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import rewrite
from rewrite.backends.devices import device
from rewrite.lower.tiles.text import parse
from rewrite.version import VERSION
from tests.command import invoke

GRAPH = """graph demo(x: f32[8, 16], w: f32[16, 4]) {
  a: f32[8, 1, 16] = reshape x
  b: f32[4, 16] = permute w perm=[1, 0]
  c: f32[1, 4, 16] = reshape b
  y: f32[8, 4, 1] = contract a c full=[8, 4, 16] mask=[0, 0, 1] acc=f32
  z: f32[8, 4, 1] = gelu y
  return z
}
"""
PEAKS = """graph peaks(x: f32[64, 1000]) {
  m: f32[64, 1] = reduce max x mask=[0, 1] acc=f32
  w: f32[64, 1000] = expand m mask=[0, 1]
  d: f32[64, 1000] = sub x w
  e: f32[64, 1000] = exp d
  return e
}
"""


def process(*args: str, **env: str) -> tuple[int, str, str]:
    done = subprocess.run(
        [sys.executable, "-m", "rewrite", *args],
        capture_output=True, text=True, timeout=120, env={**os.environ, **env},
    )  # fmt: skip
    return done.returncode, done.stdout, done.stderr


@pytest.fixture
def graph(tmp_path: Path) -> str:
    path = tmp_path / "demo.graph"
    path.write_text(GRAPH)
    return str(path)


def test_run_prints_results_and_error(graph: str) -> None:
    status, out, err = invoke("run", graph, "--device", "c")
    assert status == 0, err
    assert "z: f32[8, 4, 1]" in out
    assert float(out.split("error")[1]) < 1e-5


def test_run_says_where_no_error_is_known(tmp_path: Path) -> None:
    path = tmp_path / "void.graph"
    path.write_text(
        "graph g(x: f32[4]) {\n  a: f32[4] = exp x\n  n: f32[4] = neg a\n"
        "  y: f32[4] = log n\n  return y\n}\n"
    )
    status, out, err = invoke("run", str(path), "--device", "numpy")
    assert (status, err) == (0, "")
    assert "error not known, no value is finite" in out


WRONG = """\
;; A cheap exponential.
;;@ equal   real
;;@ fires   (Un "exp" x) => (Un "neg" x)
(rewrite (Un "exp" x) (Un "neg" x) :ruleset algebra :name "turned")
"""


@pytest.mark.parametrize("precision", ["default", "fast"])
def test_run_fails_where_a_rule_is_wrong(tmp_path: Path, precision: str) -> None:
    (tmp_path / "turned.egg").write_text(WRONG)
    (tmp_path / "m.graph").write_text(
        "graph m(x: f32[8, 128]) {\n"
        "  e: f32[8, 128] = exp x\n"
        "  s: f32[8, 1] = reduce sum e mask=[0, 1] acc=f32\n"
        "  return s\n}\n"
    )
    given = [str(tmp_path / "m.graph"), "--precision", precision, "--device", "c"]
    assert invoke("run", *given)[0] == 0
    rules = str(tmp_path / "turned.egg")
    status, out, err = invoke("run", *given, "--rules", rules)
    assert float(out.split("error")[1].split()[0]) > 1e-2, "the rule was not used"
    assert status == 1
    assert "wrong:" in err
    assert f"rewrite reduce {given[0]} --rules {rules}" in err


def test_optimize_prints_counts_and_json(graph: str, tmp_path: Path) -> None:
    target = tmp_path / "out.graph"
    status, out, err = invoke("optimize", graph, "--device", "c", str(target))
    assert status == 0, err
    assert "kernels" in out
    assert invoke("run", str(target), "--device", "c")[0] == 0
    status, out, err = invoke("optimize", graph, "--device", "c", "--json")
    assert json.loads(out)["kernels"]["after"] == 1


def test_optimize_prints_tile_programs(tmp_path: Path) -> None:
    """Of a CPU's kernels it says who writes their loops."""
    path = tmp_path / "peaks.graph"
    path.write_text(PEAKS)
    status, out, err = invoke("optimize", str(path), "--device", "c", "--tiles")
    assert status == 0, err
    assert "; k0: loops, written by the family row" in out
    probe = device("wgpu").probe()
    if not probe.ok:
        pytest.skip(probe.detail)
    status, out, err = invoke("optimize", str(path), "--device", "wgpu", "--tiles")
    assert status == 0, err
    (grid,) = parse(out[out.index("tiles k0") :]).body
    assert grid.axes[0].extent == 64


def test_the_version() -> None:
    code, said, _ = process("--version")
    assert (code, said.strip()) == (0, f"rewrite {VERSION}")


def test_devices_lists_all_with_reasons() -> None:
    status, out, _ = invoke("devices")
    assert status == 0
    for name in ("cuda", "c", "numpy", "opencl", "wgpu"):
        assert name in out


def test_demo_writes_its_picture(tmp_path: Path) -> None:
    page = tmp_path / "demo.html"
    status, out, err = invoke(
        "demo", "--device", "c", "--report", str(page), "--batch", "32", "--width", "32"
    )
    assert status == 0, err
    assert "kernels" in out
    assert "largest error" in out
    assert "rewrite explanation 1" in page.read_text()


BROKEN = sorted((Path(__file__).parent.parent / "broken").glob("*.graph"))


@pytest.mark.parametrize("path", BROKEN[:3], ids=lambda p: p.stem)
def test_a_malformed_graph_is_one_line_with_a_place(path: Path) -> None:
    status, out, err = invoke("run", str(path))
    assert status == 2
    assert not out
    assert err.startswith("error: ")
    assert f"{path.name}:" in err
    assert "Traceback" not in err


@pytest.mark.parametrize(
    ("args", "say"),
    [
        (["run", "nowhere.graph"], "nowhere.graph"),
        (["run", "GRAPH", "--device", "abacus"], "known: cuda, c, numpy"),
        (["run", "GRAPH", "--dim", "b=4"], "symbols here: none"),
        (["run", "GRAPH", "--precision", "vague"], "strict, default, fast or unstable"),
        (["optimize", "GRAPH", "--rules", "nowhere.egg"], "nowhere.egg"),
    ],
)
def test_bad_arguments(graph: str, args: list[str], say: str) -> None:
    status, _, err = invoke(*(graph if a == "GRAPH" else a for a in args))
    assert status == 2
    assert say in err.replace("\n", " ")
    assert "Traceback" not in err


def test_a_rule_file_that_runs_code_is_refused(graph: str, tmp_path: Path) -> None:
    marker = tmp_path / "ran"
    rules = tmp_path / "evil.egg"
    rules.write_text(f"(py-exec \"open({str(marker)!r}, 'w')\" (py-dict) (py-dict))\n")
    status, _, err = invoke("optimize", graph, "--rules", str(rules))
    assert status == 2
    assert "evil.egg:1:" in err
    assert not marker.exists()


def test_a_missing_compiler_is_said(graph: str, tmp_path: Path) -> None:
    env = {"PATH": str(tmp_path), "CC": "", "XDG_CACHE_HOME": str(tmp_path)}
    status, _, err = process("run", graph, "--device", "c", **env)
    assert status == 2
    assert "compiler" in err
    assert "Traceback" not in err


def test_a_missing_device_is_said(graph: str) -> None:
    status, _, err = invoke("run", graph, "--device", "cuda")
    if status == 0:
        pytest.skip("there is a CUDA device here")
    assert status == 2
    assert "cuda" in err.lower()
    assert "Traceback" not in err


ALIASED = """graph g(x: f32[4]) {
  c: f32[4] = exp x
  return c
  alias c <- x must
}
"""


def test_an_updated_input_does_not_spoil_the_comparison(tmp_path: Path) -> None:
    path = tmp_path / "alias.graph"
    path.write_text(ALIASED)
    status, out, err = invoke("run", str(path), "--device", "c")
    assert status == 0, err
    assert float(out.split("error")[1]) < 1e-6


@pytest.mark.parametrize(
    "body",
    [
        "y: f32[1000000, 1000000, 1000] = exp x",
        "y: f32[4] = call foo x dtype=f32 shape=[4]",
    ],
)
def test_what_cannot_run_is_one_line(tmp_path: Path, body: str) -> None:
    path = tmp_path / "g.graph"
    shape = body.split("[")[1].split("]")[0] if "exp" in body else "4"
    path.write_text(f"graph g(x: f32[{shape}]) {{\n  {body}\n  return y\n}}\n")
    status, _, err = invoke("run", str(path), "--device", "c")
    assert status == 2
    assert err.startswith("error: ")
    assert "Traceback" not in err


@pytest.mark.parametrize("content", [b"", b"PK\x03\x04 broken", b"\x93NUMPY nonsense"])
def test_an_npz_that_is_none(graph: str, tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "in.npz"
    path.write_bytes(content)
    status, _, err = invoke("run", graph, "--inputs", str(path), "--device", "c")
    assert status == 2
    assert "Traceback" not in err
    assert "in.npz" in err


def test_a_cache_that_cannot_be_written_is_no_failure(
    graph: str, tmp_path: Path
) -> None:
    file = tmp_path / "file"
    file.write_text("in the way")
    status, _, err = process("run", graph, "--device", "c", REWRITE_CACHE=str(file))
    assert status == 0, err


@pytest.mark.parametrize("value", ["none", "²", "-1", "0"])
def test_a_wrong_thread_count_is_said(graph: str, value: str) -> None:
    status, _, err = process("run", graph, REWRITE_THREADS=value)
    assert status == 2
    assert "REWRITE_THREADS" in err


def test_fuzz_counts_what_it_runs() -> None:
    status, out, _ = invoke("fuzz", "--count", "3", "--device", "numpy")
    assert status == 0
    assert "3 graphs on numpy, 0 wrong" in out
    assert invoke("fuzz", "--count", "0")[0] == 2


def test_what_run_is_asked_for_is_what_it_does(tmp_path: Path, graph: str) -> None:
    """A size twice, sizes beside arrays that have them, files by another name."""
    free = tmp_path / "free.graph"
    free.write_text("graph g(x: f32[b]) {\n  y: f32[b] = exp x\n  return y\n}\n")
    np.savez(tmp_path / "in.npz", x=np.ones(4, np.float32))
    given = ["--inputs", str(tmp_path / "in.npz"), "--device", "numpy"]
    status, _, err = invoke("run", free, "--dim", "b=2", "--dim", "b=3")
    assert (status, err) == (2, "error: --dim b=3: b is 2 already; name it once\n")
    status, _, err = invoke("run", free, "--dim", "b=2", *given)
    assert status == 2 and "the arrays of --inputs say the sizes" in err
    status, _, err = invoke("run", free, *given, "--save", tmp_path / "out")
    assert (status, err) == (0, "")
    np.testing.assert_allclose(np.load(tmp_path / "out")["y"], np.exp(np.ones(4)))
    status, _, err = invoke("run", free, *given, "--save", tmp_path)
    assert status == 2 and "is a folder" in err


def test_run_says_that_there_is_nothing_to_run(tmp_path: Path) -> None:
    path = tmp_path / "none.graph"
    path.write_text("graph g(x: f32[4]) {\n  return\n}\n")
    status, out, err = invoke("run", path)
    assert (status, out) == (2, "") and "the graph returns nothing" in err


def test_sizes_beyond_any_memory_are_one_line(tmp_path: Path) -> None:
    path = tmp_path / "big.graph"
    path.write_text("graph g(x: f32[b, c]) {\n  y: f32[b, c] = exp x\n  return y\n}\n")
    most = 99999999999
    status, _, err = invoke("run", path, "--dim", f"b={most}", "--dim", f"c={most}")
    assert status == 2 and err.startswith("error: not enough memory (x would have")


def test_a_bundle_where_a_graph_is_wanted_says_how_it_runs(tmp_path: Path) -> None:
    path = tmp_path / "f.rw"
    rewrite.optimize(lambda x: x + 1, np.ones(3, np.float32), device="numpy").save(path)
    for command in ("run", "optimize"):
        status, _, err = invoke(command, path)
        assert status == 2 and "as in rewrite.load(path)(x)" in err
        assert err.count("\n") == 1


def test_a_mark_of_utf8_is_no_character_of_a_graph(tmp_path: Path, graph: str) -> None:
    marked = tmp_path / "marked.graph"
    marked.write_bytes(b"\xef\xbb\xbf" + Path(graph).read_bytes())
    assert invoke("run", marked, "--device", "numpy")[0] == 0
