"""`rewrite bench`: kernels timed, predictions ranked, and what bad input gets."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
from typer.testing import CliRunner

from rewrite.cache.learned import MeasuredCost, database, digest, learn, recall
from rewrite.commands.cli import app
from rewrite.core.costs import cost_for
from rewrite.core.options import Options
from rewrite.egraph.ir.graph import Graph
from rewrite.egraph.ir.text import parse
from rewrite.extract.schedule.kernel import Kernel
from rewrite.pipeline import optimize_graph
from rewrite.tuning.measure import Subject, launches, measure, predicted
from rewrite.tuning.ranking import median_error, ranks, spearman

DEVICES = ("c", "numpy")
# An index that must be valid, a product, and reductions in turn.
TEXT = """graph demo(x: f32[b, 16], i: i32[b, 16], w: f32[16, 16]) {
  t: f32[b, 16] = gather x i axis=0
  a: f32[b, 1, 16] = reshape t
  v: f32[1, 16, 16] = reshape w
  y: f32[b, 16, 1] = contract a v full=[b, 16, 16] mask=[0, 0, 1] acc=f32
  z: f32[b, 16] = reshape y
  s: f32[b, 16] = softmax z mask=[0, 1]
  return s
}
"""


def bench(*args: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, ["bench", *map(str, args)])
    return done.exit_code, done.stdout, done.stderr


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "demo.graph"
    path.write_text(TEXT)
    return path


# ---- ranks ----


def test_ranks_share_the_mean_where_they_tie() -> None:
    assert ranks([3.0, 1.0, 3.0, 2.0]) == [3.5, 1.0, 3.5, 2.0]


def test_spearman_of_a_case_done_by_hand() -> None:
    # Ranks 1 2 3 4 5 and 2 1 4 3 5: 1 - 6 * (1 + 1 + 1 + 1 + 0) / (5 * 24)
    assert spearman([1, 2, 3, 4, 5], [20, 10, 40, 30, 50]) == pytest.approx(0.8)


def test_spearman_with_ties_is_the_correlation_of_the_ranks() -> None:
    a, b = [1.0, 1.0, 2.0, 5.0, 5.0, 5.0], [3.0, 1.0, 1.0, 4.0, 9.0, 4.0]
    want = float(np.corrcoef(ranks(a), ranks(b))[0, 1])
    assert spearman(a, b) == pytest.approx(want)
    assert spearman(a, [-x for x in a]) == pytest.approx(-1)


@pytest.mark.parametrize("same", [[], [1.0], [2.0, 2.0]])
def test_there_is_no_rank_correlation_without_an_order(same: list[float]) -> None:
    assert spearman(same, same) is None


def test_median_error_is_relative_to_the_measured() -> None:
    assert median_error([1, 3, 8], [2, 2, 2]) == 0.5


# ---- kernels ----


def demo(device: str, sizes: dict[str, int]) -> tuple[Graph, Subject]:
    graph = parse(TEXT, "demo")
    c = optimize_graph(graph, device, Options(fallback=False, hints=sizes))
    ready = c.executable(sizes)
    assert ready is not None
    b = sizes["b"]
    rng = np.random.default_rng(0)
    given = {
        "x": rng.standard_normal((b, 16)).astype(np.float32),
        "i": rng.integers(0, b, (b, 16)).astype(np.int32),
        "w": rng.standard_normal((16, 16)).astype(np.float32),
    }
    return c.source, Subject(ready, given)


@pytest.mark.parametrize("device", DEVICES)
def test_every_kernel_is_measured(device: str) -> None:
    _, subject = demo(device, {"b": 7})
    price = cost_for(subject.ready.device)
    told: list[tuple[str, int, int]] = []
    (found,) = measure([subject], price, 2, lambda *t: told.append(t))
    assert sum(k.launches for k in found.kernels) == len(subject.ready.program.steps)
    assert all(k.measured > 0 and k.predicted > 0 for k in found.kernels)
    assert found.measured > 0
    assert found.predicted == pytest.approx(predicted(subject.ready, price))
    assert told == [("rounds", 1, 2), ("rounds", 2, 2)]


def test_measuring_leaves_inputs_and_program_alone() -> None:
    _, subject = demo("c", {"b": 7})
    kept = {k: v.copy() for k, v in subject.inputs.items()}
    before = subject.ready(subject.inputs)["s"].copy()
    measure([subject], cost_for(subject.ready.device), 1)
    np.testing.assert_array_equal(subject.ready(subject.inputs)["s"], before)
    for k, v in kept.items():
        np.testing.assert_array_equal(subject.inputs[k], v)


def test_a_digest_is_that_of_the_structure() -> None:
    def digests(b: int) -> set[str]:
        _, subject = demo("c", {"b": b})
        price = cost_for(subject.ready.device)
        (found,) = measure([subject], price, 1)
        steps = subject.ready.program.steps
        assert {digest(s.kernel) for s in steps} == {k.digest for k in found.kernels}
        return {k.digest for k in found.kernels}

    assert digests(7) == digests(7)
    assert digests(7).isdisjoint(digests(11))


# ---- the command ----


def test_predict_prints_a_table_and_the_agreement(file: Path) -> None:
    status, out, err = bench(file, file, "--predict", "--device", "c", "--dim", "b=7")
    assert status == 0, err
    assert out.count("demo.graph") == 2
    assert "ratio" in out
    assert "Spearman" in out
    assert "worst: " in out
    assert "launch 4.00" in out
    assert "warm caches" in out


def test_predict_in_json(file: Path) -> None:
    given = [file, "--predict", "--json", "--device", "c", "--dim", "b=7"]
    status, out, err = bench(*given, "--rounds", 2)
    assert status == 0, err
    found = json.loads(out)
    assert found["rounds"] == 2
    assert found["device"] == "c"
    (model,) = found["models"]
    kernels = model["kernels"]
    assert {*kernels[0]} == {
        "label", "family", "digest", "launches", "predicted_us", "measured_us",
        "parts_us",
    }  # fmt: skip
    total = sum(k["predicted_us"] * k["launches"] for k in kernels)
    assert model["predicted_us"] == pytest.approx(total)
    assert len(found["worst"]) == min(3, len(kernels))


def test_without_predict_two_programs_are_compared(file: Path) -> None:
    given = [file, "--device", "c", "--dim", "b=7", "--rounds", 2]
    status, out, err = bench(*given)
    assert status == 0, err
    assert "no rules" in out
    assert "optimized" in out
    status, out, err = bench(*given, "--json")
    (model,) = json.loads(out)["models"]
    for key in ("kernels", "predicted_us", "measured_us"):
        assert model[key]["before"] > 0
        assert model[key]["after"] > 0


def test_a_graph_that_computes_nothing(tmp_path: Path) -> None:
    path = tmp_path / "same.graph"
    path.write_text("graph same(x: f32[4]) {\n  return x\n}\n")
    status, out, err = bench(path, "--predict", "--device", "c")
    assert status == 0, err
    assert "Spearman none, median error none over 0 kernels" in out


BAD = [
    ("garbage.graph", b"graph ?", []),
    ("binary.graph", b"\xff\xfe\x00", []),
    ("garbage.onnx", b"no model", []),
    ("demo.graph", TEXT.encode(), []),  # a size is missing
    ("demo.graph", TEXT.encode(), ["--dim", "c=3"]),
    ("demo.graph", TEXT.encode(), ["--dim", "b=seven"]),
    ("demo.graph", TEXT.encode(), ["--dim", "b=7", "--device", "abacus"]),
    ("demo.graph", TEXT.encode(), ["--dim", "b=7", "--precision", "some"]),
]


@pytest.mark.parametrize(("name", "data", "options"), BAD)
def test_bad_input_is_one_plain_line(
    tmp_path: Path, name: str, data: bytes, options: list[str]
) -> None:
    (tmp_path / name).write_bytes(data)
    for mode in ([], ["--predict"]):
        status, out, err = bench(tmp_path / name, *options, *mode)
        assert status == 2, err
        assert out == ""
        assert err.startswith("error: ")
        assert "Traceback" not in err


def test_a_missing_file_is_named(tmp_path: Path) -> None:
    status, _, err = bench(tmp_path / "none.graph")
    assert status == 2
    assert "none.graph" in err


# ---- measured costs ----


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("REWRITE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "measured"


def test_measured_seconds_replace_the_predicted_and_nothing_else() -> None:
    _, subject = demo("c", {"b": 7})
    price = cost_for(subject.ready.device)
    kernels = list({s.kernel for s in launches(subject.ready)})
    other = kernel_of_another_size()
    model = MeasuredCost(price, {digest(k): 0.5 for k in kernels})
    for k in kernels:
        cost, was = model(k), price(k)
        assert cost is not None
        assert was is not None
        assert cost == was._replace(seconds=0.5)
    assert model(other) == price(other)


def kernel_of_another_size() -> Kernel:
    _, subject = demo("c", {"b": 11})
    return launches(subject.ready)[0].kernel


def test_what_is_learned_is_recalled_and_the_last_word_counts(tmp_path: Path) -> None:
    path = tmp_path / "deep" / "c.jsonl"
    assert recall(path) == {}
    learn(path, {"a": 1.0, "b": 2.0})
    learn(path, {"b": 3.0})
    assert recall(path) == {"a": 1.0, "b": 3.0}


GARBAGE = (
    b"\xff\xfe", b"[]", b"3", b"{", b'{"digest": 1, "seconds": 1.0}',
    b'{"digest": "z", "seconds": -1.0}', b'{"digest": "z", "seconds": NaN}',
    b'{"digest": "z", "seconds": true}', b'{"digest": "z"', b"",
)  # fmt: skip


def test_lines_that_are_no_measurement_are_passed_over(tmp_path: Path) -> None:
    path = tmp_path / "c.jsonl"
    path.write_bytes(b"\n".join(GARBAGE) + b"\n")
    learn(path, {"a": 1.0})
    assert recall(path) == {"a": 1.0}


def test_strict_code_is_measured_apart() -> None:
    _, subject = demo("c", {"b": 7})
    device = subject.ready.device
    assert database(device, True) != database(device, False)


def test_learned_times_are_what_the_next_run_predicts(file: Path, cache: Path) -> None:
    given = [file, "--predict", "--json", "--device", "c", "--dim", "b=7"]
    status, out, err = bench(*given, "--rounds", 2, "--learn")
    assert status == 0, err
    assert len([*cache.glob("c-*.jsonl")]) == 1
    learned = {
        k["digest"]: k["measured_us"] for k in json.loads(out)["models"][0]["kernels"]
    }
    status, out, err = bench(*given, "--rounds", 2, "--cost", "measured")
    assert status == 0, err
    for k in json.loads(out)["models"][0]["kernels"]:
        if k["digest"] in learned:
            assert k["predicted_us"] == pytest.approx(learned[k["digest"]])


def test_without_measurements_one_is_told_how_to_get_them(cache: Path) -> None:
    graph = parse(TEXT, "demo")
    options = Options(fallback=False, cost="measured")
    with pytest.warns(RuntimeWarning, match="bench MODEL --predict --learn"):
        optimize_graph(graph, "c", options)
    assert not cache.exists()


def test_learning_needs_kernels(file: Path) -> None:
    status, _, err = bench(file, "--learn", "--dim", "b=7")
    assert status == 2
    assert "--predict" in err
    assert bench(file, "--cost", "guessed", "--dim", "b=7")[0] == 2
