"""Pages of optimized models: what changed is marked, what is shown is only text."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from time import process_time
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import rewrite.onnx
from rewrite.onnx import Optimized
from rewrite.report.models import bytes_text, models_html, seconds_text
from rewrite.report.network import fates, network
from rewrite.report.operators import operators

OPSET = [helper.make_opsetid("", 20)]


def model(
    nodes: Iterable[onnx.NodeProto], outputs: Iterable[str], **weights: np.ndarray
) -> onnx.ModelProto:
    def info(name: str) -> onnx.ValueInfoProto:
        return helper.make_tensor_value_info(name, TensorProto.FLOAT, [2, "n"])

    infos = [info(o) for o in outputs]
    kept = [numpy_helper.from_array(a, name) for name, a in weights.items()]
    g = helper.make_graph(list(nodes), "g", [info("x")], infos, kept)
    return helper.make_model(g, opset_imports=OPSET, ir_version=10)


def node(kind: str, inputs: str, output: str, **attributes: object) -> onnx.NodeProto:
    return helper.make_node(kind, inputs.split(), [output], f"n_{output}", **attributes)  # type: ignore[arg-type]


def float_(value: float, *shape: int) -> np.ndarray:
    return np.full(shape, value, np.float32)


BEFORE = model(
    [
        helper.make_node("Constant", [], ["c"], value_float=2.0),
        node("Mul", "x c", "a"),
        node("Neg", "a", "b"),
        node("Neg", "b", "d"),
        node("Add", "d w", "e"),
        node("Softmax", "e", "f", axis=0),
        node("Relu", "f", "y"),
    ],
    ["y"],
    w=float_(1, 2, 1),
)
AFTER = model(
    [
        node("Mul", "x c2", "a"),  # the same number by another name
        node("Add", "a w2", "e"),
        node("Softmax", "e", "f", axis=1),
        node("Sigmoid", "f", "s"),
        node("Relu", "f", "y"),
    ],
    ["y"],
    c2=float_(2),
    w2=float_(1, 2, 1),
)


@pytest.fixture(scope="module")
def found() -> Optimized:
    result = rewrite.onnx.optimize(BEFORE)
    assert result.after.nodes < result.before.nodes
    return result


def shown(
    before: onnx.ModelProto, after: onnx.ModelProto, found: Optimized, **at: Any
) -> Any:
    """The JSON of the page."""
    page = models_html(before, after, found, "title", **at)
    match = re.search(r'<script type="application/json" id="data">(.*?)</script>', page)
    assert match
    return json.loads(match[1])


def by_text(nodes: list[Any]) -> dict[str, Any]:
    return {n["text"]: n for n in nodes}


def test_what_is_not_in_both_models_is_marked(found: Optimized) -> None:
    nets = network(BEFORE), network(AFTER)
    fate = fates(*nets)
    assert fate.before == ["kept", "gone", "gone", "changed", "changed", "kept"]
    assert fate.after == ["kept", "changed", "changed", "new", "kept"]
    assert fate.same == [(0, 0), (3, 1), (4, 2), (5, 4)]
    data = shown(BEFORE, AFTER, found)
    assert data["states"] == {"kept": 2, "changed": 2, "gone": 2, "new": 1}
    before, after = by_text(data["before"]), by_text(data["after"])
    assert before.keys() == {"x", "n_a", "n_b", "n_d", "n_e", "n_f", "n_y"}
    assert (before["n_b"]["state"], after["n_s"]["state"]) == ("gone", "new")
    assert before["n_e"]["same"] == [after["n_e"]["id"]] and not before["n_b"]["same"]
    assert before["n_b"]["args"] == [before["n_a"]["id"]]
    assert before["n_a"]["args"] == [before["x"]["id"]]


def test_changes_hang_together(found: Optimized) -> None:
    first, second, third = shown(BEFORE, AFTER, found)["changes"]
    assert first["text"] == "Neg ×2, Add → Add"
    assert (first["before"], first["after"]) == ([1, 2, 3], [1])
    assert (second["text"], third["text"]) == ("Softmax → Softmax", "nothing → Sigmoid")
    apart = model(
        [node("Neg", "x", "a"), node("Relu", "a", "b"), node("Neg", "b", "y")], ["y"]
    )
    other = model(
        [node("Abs", "x", "a"), node("Relu", "a", "b"), node("Sin", "b", "y")], ["y"]
    )
    found_ = shown(apart, other, found)["changes"]
    assert [c["text"] for c in found_] == ["Neg → Abs", "Neg → Sin"]


@pytest.mark.parametrize(
    ("weight", "state"),
    [(float_(1, 2, 1), "kept"), (float_(3, 2, 1), "changed"), (float_(1), "changed")],
)
def test_constants_count_by_their_elements(weight: np.ndarray, state: str) -> None:
    nodes = [node("Add", "x w", "y")]
    one = model(nodes, ["y"], w=float_(1, 2, 1))
    unpacked = helper.make_tensor("w", TensorProto.FLOAT, [2, 1], [1.0, 1.0])
    other = model(nodes, ["y"], w=weight)
    assert fates(network(one), network(other)).after == [state]
    one.graph.initializer[0].CopyFrom(unpacked)
    assert fates(network(one), network(other)).after == [state]


def test_boxes_say_what_their_constants_and_attributes_are() -> None:
    w = float_(0, 4, 3, 3, 3)
    wide = model(
        [
            node("Pow", "x two", "p"),
            node("Reshape", "p shape", "r", allowzero=0),
            node("Conv", "r w", "c", pads=[1, 1, 1, 1], strides=[1, 1], group=1),
            node("Cast", "c", "y", to=TensorProto.INT64),
        ],
        ["p"],
        two=float_(2),
        shape=np.array([1, 3, -1, 8]),
        w=w,
    )
    wide.graph.node[2].name = "/net/layers.0/conv"
    found = {n.kind: n for n in operators(network(wide), ["kept"] * 4, [None] * 4)}
    assert (found["Pow"].op, found["Pow"].type) == ("Pow 2", "f32[2,n]")
    assert found["Pow"].outputs == ("p",)
    assert found["Reshape"].details == ("shape=[1,3,-1,8]",)
    conv = found["Conv"]
    assert conv.details == ("W f32[4,3,3,3]", "pads=[1,1,1,1]")
    assert (conv.type, conv.scope) == ("f32[1,4,?,8]", ("net", "layers.0"))
    assert "group = 1" in conv.line and "→ c f32[1,4,?,8]" in conv.line
    assert found["Cast"].details == ("to=i64",)


def test_the_page_has_the_figures_and_is_offline(found: Optimized) -> None:
    given = replace(
        found, predicted=(2.5e-5, 1.2e-5), measured=(3e-3, 2e-3), error=2.5e-7,
        notes=("a <note>",), fired={"reshape-reshape": 3, "contract-open": 4},
    )  # fmt: skip
    page = models_html(BEFORE, given.model, given, "small <model>")
    assert "<title>small &lt;model&gt;: before and after</title>" in page
    links = set(re.findall(r"https?://[^\"' )<]+", page))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not a fetch
    assert not re.search(r"<(img|iframe)|src=|@import|url\(", page)
    assert page == models_html(BEFORE, given.model, given, "small <model>")
    data = shown(BEFORE, given.model, given)
    b, a = found.before.nodes, found.after.nodes
    figures = {name: values for name, *values in data["figures"]}
    assert figures["operators"] == [str(b), str(a)]
    assert figures["predicted time"] == ["25 µs", "12 µs"]
    assert figures["measured time"] == ["3 ms", "2 ms"]
    assert figures["outputs differ by"] == ["2.5e-07"]
    assert "a <note>" in data["notes"]
    assert [r["name"] for r in data["rules"]] == ["contract-open", "reshape-reshape"]
    assert data["rules"][0]["file"] == "contraction.egg" and data["rules"][0]["text"]
    assert ["Neg", 2, 0] in data["operators"]
    assert data["summary"]["nodes"] == {"before": b, "after": a}


def test_what_is_not_known_is_not_claimed(found: Optimized) -> None:
    given = replace(found, predicted=None, measured=None, error=None, fired={})
    data = shown(BEFORE, BEFORE, given)
    names = [name for name, *_ in data["figures"]]
    assert names == ["operators", "parameters", "outputs differ by"]
    assert data["figures"][-1] == ["outputs differ by", "not compared"]
    assert not any("random inputs" in n for n in data["notes"])
    assert data["states"]["kept"] == 6
    assert data["rules"] == data["changes"] == []


def test_rules_of_the_user_are_listed(found: Optimized, tmp_path: Path) -> None:
    file = tmp_path / "mine.egg"
    file.write_text(
        ";;  </td><script> twice.\n;;@ equal   bitwise\n"
        ';;@ fires   (Un "neg" (Un "neg" x)) => x\n;;@ skips   (Un "neg" x)\n'
        '(rewrite (Un "neg" (Un "neg" x)) x :ruleset fold :name "mine")\n'
    )
    given = replace(found, fired={"mine": 2})
    (rule,) = shown(BEFORE, AFTER, given, rules=[file])["rules"]
    assert (rule["file"], rule["line"], rule["uses"]) == (str(file), 5, 2)
    assert rule["sentence"] == "</td><script> twice."
    page = models_html(BEFORE, AFTER, given, "rules", "default", [file])
    assert "</td><script>" not in page


EVIL = '</script><script>alert(1)</script>" onload="alert(2)\u202e\n\x01'


def hostile() -> onnx.ModelProto:
    found = model([], [EVIL], **{EVIL + "w": float_(1, 3), EVIL + "c": float_(1)})
    g = found.graph
    g.input[0].name = EVIL + "x"
    g.input[0].type.tensor_type.shape.dim[1].dim_param = EVIL
    inner = helper.make_graph([node("Relu", "x", "z")], EVIL, [], g.output)
    attributes = {EVIL: EVIL, "g": inner, "t": g.initializer[0]}
    g.node.add(
        op_type=EVIL, name=EVIL, domain=EVIL, output=["a"],
        input=[EVIL + "x", EVIL + "w", EVIL + "c"],
        attribute=[helper.make_attribute(k, v) for k, v in attributes.items()],
    )  # fmt: skip
    g.node.add(op_type="If", input=["a", "later"], output=[EVIL, "later"])
    g.node.add(op_type=EVIL * 1000, input=[""], output=[""])
    return found


def test_names_from_models_are_only_text(found: Optimized) -> None:
    evil = hostile()
    given = replace(found, fired={EVIL: 1}, notes=(EVIL,))
    page = models_html(evil, evil, given, EVIL)
    assert "<script>alert" not in page and 'onload="alert' not in page
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert "\u202e" not in page and "\x01" not in page
    data = shown(evil, evil, given)
    assert "\u202e" not in json.dumps(data["before"], ensure_ascii=False)
    values = [n for n in data["before"] if n["kind"] == "input"]
    assert len(values) == 4  # what is made later than it is read is among them
    assert len(data["before"]) == len(values) + 3
    assert any("g = (1 nodes, not drawn)" in n["line"] for n in data["before"])


def chain(count: int, shared: bool) -> onnx.ModelProto:
    """Where `shared`, all operators read the first one's result."""
    nodes = [node("Relu", "x", "v0")]
    for i in range(1, count):
        kind = "Add" if shared else "Relu"
        nodes.append(node(kind, f"v{i - 1} {'v0' if shared else ''}", f"v{i}"))
    return model(nodes, [f"v{count - 1}"])


@pytest.mark.parametrize("shared", [False, True])
def test_pages_of_thousands_of_operators_are_made_in_seconds(
    found: Optimized, shared: bool
) -> None:
    large = chain(5000, shared)
    start = process_time()
    page = models_html(large, large, found, "large")
    assert process_time() - start < 10
    assert len(page) < 6e6


def test_a_model_of_nothing_has_a_page(found: Optimized) -> None:
    empty = onnx.ModelProto()
    data = shown(empty, empty, found)
    assert data["before"] == data["after"] == data["changes"] == []


def test_units() -> None:
    assert [seconds_text(s) for s in (2.0, 1.5e-3, 2e-6, 5e-10)] == [
        "2 s", "1.5 ms", "2 µs", "0.5 ns"
    ]  # fmt: skip
    assert [bytes_text(n) for n in (0, 999, 1000, 2.5e6, 3e9)] == [
        "0 B", "999 B", "1 kB", "2.5 MB", "3 GB"
    ]  # fmt: skip
