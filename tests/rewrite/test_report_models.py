"""Pages of optimized models: what changed is coloured, what is shown is only text."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from time import process_time
from xml.etree import ElementTree

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import rewrite.onnx
from rewrite.onnx import Optimized
from rewrite.report.models import models_html
from rewrite.report.network import network, states
from rewrite.report.operators import LARGEST, operators_svg

SVG = "{http://www.w3.org/2000/svg}"
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


def drawn(svg: str | None) -> dict[str, tuple[str, list[str], str]]:
    """By name of the node: classes, lines, the colour of its box."""
    assert svg is not None
    out: dict[str, tuple[str, list[str], str]] = {}
    for g in ElementTree.fromstring(svg).iter(f"{SVG}g"):
        title = (g.findtext(f"{SVG}title") or "").split("\n")[0]
        rect = g.find(f"{SVG}rect")
        assert rect is not None
        lines = [t.text or "" for t in g.iter(f"{SVG}text")]
        name = title.split(" ")[1 if "leaf" not in g.get("class", "") else 0]
        out[name] = (g.get("class", ""), lines, rect.get("style", ""))
    return out


def test_what_is_not_in_both_models_is_coloured() -> None:
    nets = network(BEFORE), network(AFTER)
    first, second = states(*nets)
    assert first == ["kept", "gone", "gone", "changed", "changed", "kept"]
    assert second == ["kept", "changed", "changed", "new", "kept"]
    before = drawn(operators_svg(nets[0], first, {}))
    after = drawn(operators_svg(nets[1], second, {}))
    assert before.keys() == {"x", "n_a", "n_b", "n_d", "n_e", "n_f", "n_y"}
    assert {n for n, (_, _, fill) in before.items() if not fill} == {"x", "n_a", "n_y"}
    assert {n for n, (_, _, fill) in after.items() if not fill} == {"x", "n_a", "n_y"}
    fills = {after["n_s"][2], after["n_e"][2], before["n_b"][2]}
    assert len(fills) == 3 and after["n_e"][2] == before["n_e"][2]


@pytest.mark.parametrize(
    ("weight", "state"),
    [(float_(1, 2, 1), "kept"), (float_(3, 2, 1), "changed"), (float_(1), "changed")],
)
def test_constants_count_by_their_elements(weight: np.ndarray, state: str) -> None:
    nodes = [node("Add", "x w", "y")]
    one = model(nodes, ["y"], w=float_(1, 2, 1))
    unpacked = helper.make_tensor("w", TensorProto.FLOAT, [2, 1], [1.0, 1.0])
    other = model(nodes, ["y"], w=weight)
    assert states(network(one), network(other))[1] == [state]
    one.graph.initializer[0].CopyFrom(unpacked)
    assert states(network(one), network(other))[1] == [state]


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
    net = network(wide)
    boxes = drawn(operators_svg(net, ["kept"] * 4, {"Pow": "k7"}))
    assert boxes["n_p"][:2] == ("node kept k7 output", ["Pow 2", "f32[2,n]", "→ p"])
    assert boxes["n_r"][1][:2] == ["Reshape", "shape=[1,3,-1,8]"]
    conv = ["Conv", "W f32[4,3,3,3]", "pads=[1,1,1,1]", "f32[1,4,?,8]"]
    assert boxes["n_c"][1] == conv
    assert boxes["n_y"][1][1:] == ["to=i64", "i64[1,4,?,8]"]


def test_the_page_has_the_figures_and_is_offline(found: Optimized) -> None:
    given = replace(
        found, predicted=(2.5e-5, 1.2e-5), measured=(3e-3, 2e-3), error=2.5e-7,
        notes=("a <note>",), fired={"reshape-reshape": 3, "contract-open": 4},
    )  # fmt: skip
    page = models_html(BEFORE, given.model, given, "small <model>")
    texts = ("25 µs", "12 µs", "3 ms", "2 ms", "2.5e-07", "small &lt;model&gt;")
    for text in (
        *texts,
        "a &lt;note&gt;",
        "no proof",
        "contract-open",
        "contraction.egg:",
    ):
        assert text in page
    b, a = found.before.nodes, found.after.nodes
    assert f"<span>{b}</span><i>→</i><strong>{a}</strong>" in page
    assert page.index("contract-open") < page.index("reshape-reshape")
    assert re.search(r'<td>Neg</td><td class="n">2</td><td class="n">0</td>', page)
    links = set(re.findall(r"https?://[^\"' )<]+", page))
    assert links == {"http://www.w3.org/2000/svg"}  # a name, not a fetch
    assert not re.search(r"<(link|img|iframe)|src=|@import|url\(", page)
    assert page == models_html(BEFORE, given.model, given, "small <model>")


def test_what_is_not_known_is_not_claimed(found: Optimized) -> None:
    given = replace(found, predicted=None, measured=None, error=None, fired={})
    page = models_html(BEFORE, BEFORE, given, "same")
    assert "not compared" in page and "random inputs" not in page
    assert "predicted time" not in page and "measured time" not in page
    assert "Rules that matched" not in page and "6 kept" in page


def test_rules_of_the_user_are_listed(found: Optimized, tmp_path: Path) -> None:
    file = tmp_path / "mine.egg"
    file.write_text(
        ";;  </td><script> twice.\n;;@ equal   bitwise\n"
        ';;@ fires   (Un "neg" (Un "neg" x)) => x\n;;@ skips   (Un "neg" x)\n'
        '(rewrite (Un "neg" (Un "neg" x)) x :ruleset fold :name "mine")\n'
    )
    given = replace(found, fired={"mine": 2})
    page = models_html(BEFORE, AFTER, given, "rules", "default", [file])
    assert "mine.egg:5:1" in page and "&lt;/td&gt;&lt;script&gt; twice." in page
    assert "</td><script>" not in page


EVIL = '</script><script>alert(1)</script>" onload="alert(2)\u202e\n\x01'


def test_names_from_models_are_only_text(found: Optimized) -> None:
    hostile = model([], [EVIL], **{EVIL + "w": float_(1, 3), EVIL + "c": float_(1)})
    g = hostile.graph
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
    given = replace(found, fired={EVIL: 1}, notes=(EVIL,))
    page = models_html(hostile, hostile, given, EVIL)
    assert "<script>alert" not in page and 'onload="alert' not in page
    assert page.count("<script") == 2 and page.count("</script>") == 2
    assert "\u202e" not in page and "\x01" not in page
    for svg in re.findall(r"<svg.*?</svg>", page, re.DOTALL):
        assert len(ElementTree.fromstring(svg).findall(f"{SVG}g")) >= 4
    assert "g = (1 nodes, not drawn)" in page


def chain(count: int, shared: bool) -> onnx.ModelProto:
    """Where `shared`, all operators read the first one's result."""
    nodes = [node("Relu", "x", "v0")]
    for i in range(1, count):
        kind = "Add" if shared else "Relu"
        nodes.append(node(kind, f"v{i - 1} {'v0' if shared else ''}", f"v{i}"))
    return model(nodes, [f"v{count - 1}"])


@pytest.mark.parametrize("shared", [False, True])
def test_thousands_of_operators_are_drawn_in_seconds(
    found: Optimized, shared: bool
) -> None:
    large = chain(5000, shared)
    start = process_time()
    page = models_html(large, large, found, "large")
    assert process_time() - start < 10
    assert page.count('class="node ') >= 10_000 and "Not drawn" not in page


def test_more_than_a_picture_holds_is_a_sentence(found: Optimized) -> None:
    dense = model(
        [node("Sum", " ".join(f"v{j}" for j in range(i)), f"v{i}") for i in range(420)],
        ["v419"],
    )
    assert sum(len(n.input) for n in dense.graph.node) > LARGEST
    page = models_html(dense, AFTER, found, "dense")
    assert "Not drawn: 420 operators" in page and page.count("<svg") == 1
    far = [node("Sum", f"v{i - 1} v{max(0, i - 30)}", f"v{i}") for i in range(1, 3000)]
    bent = model([node("Relu", "x", "v0"), *far], ["v2999"])
    assert operators_svg(network(bent), ["kept"] * 3000, {}) is None


def test_a_model_of_nothing_has_a_page(found: Optimized) -> None:
    empty = onnx.ModelProto()
    page = models_html(empty, empty, found, "")
    assert page.count("<svg") == 2
