"""E-graphs in JSON: what is read, and one clear line for all that is not."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from random import Random

import pytest
from typer.testing import CliRunner, Result

from rewrite.commands.cli import app
from rewrite.extract.dag.methods import Effort, extracted
from rewrite.extract.dag.serialized import EGraphError, load, parse

from .choices import brute
from .instances import instance, small, to_json

TINY: dict[str, object] = {
    "nodes": {
        "a": {"op": "+", "children": ["b", "b2"], "eclass": "top"},
        "b": {"op": "x", "eclass": "low", "cost": 2.5},
        "b2": {"op": "y", "children": [], "eclass": "low", "cost": 4},
        "gone": {"op": "z", "eclass": "low", "cost": 0, "subsumed": True},
    },
    "root_eclasses": ["top"],
    "class_data": {"top": {"type": "T"}},
}


def command(*args: str) -> Result:
    return CliRunner().invoke(app, ["extract", *args])


def test_read() -> None:
    found = parse(json.dumps(TINY).encode(), "tiny.json")
    assert found.classes == ("top", "low")
    assert found.nodes == (("a",), ("b", "b2"))  # never the subsumed one
    answer = extracted(found.problem, "exact", Effort(), lambda what, cost: None)
    assert answer.cost == 3.5  # a cost that is missing is 1
    assert answer.picked == {0: 0, 1: 0}


def test_there_and_back() -> None:
    for seed in range(60):
        p = small(Random(seed))
        q = parse(to_json(p).encode(), "there").problem
        assert brute(p) == brute(q)


def node(**fields: object) -> str:
    """TINY with fields of node b set; None takes one away."""
    made = json.loads(json.dumps(TINY))
    made["nodes"]["b"].update(fields)
    made["nodes"]["b"] = {k: v for k, v in made["nodes"]["b"].items() if v is not None}
    return json.dumps(made)


def top(**fields: object) -> str:
    made = {**TINY, **fields}
    return json.dumps({k: v for k, v in made.items() if v is not None})


BROKEN = {
    "empty": ("", "the file is empty"),
    "blank": (" \n", "the file is empty"),
    "text": ("(+ a b)", "f.json:1:1: not JSON"),
    "cut off": (json.dumps(TINY)[:-9], "not JSON"),
    "trailing": (json.dumps(TINY) + "x", "not JSON: extra data"),
    "list": ("[]", 'an object with "nodes" and "root_eclasses"'),
    "number": ("3", "not 3"),
    "deep": ("[" * 200_000, "nested too deeply"),
    "no nodes": (top(nodes=None), '"nodes" was expected'),
    "nodes list": (top(nodes=[]), '"nodes": an object was expected, not []'),
    "no roots": (top(root_eclasses=None), '"root_eclasses" was expected'),
    "empty roots": (top(root_eclasses=[]), '"root_eclasses" is empty'),
    "root number": (top(root_eclasses=[1]), "names of classes (strings)"),
    "root unknown": (top(root_eclasses=["up"]), '"up" is the "eclass" of no node'),
    "roots text": (top(root_eclasses="top"), "a list was expected"),
    "no op": (node(op=None), 'node "b": "op": a string was expected, it is missing'),
    "no class": (node(eclass=None), '"eclass": a string was expected, it is missing'),
    "class number": (node(eclass=7), '"eclass": a string was expected, not 7'),
    "children text": (node(children="a"), "a list of node ids was expected"),
    "child number": (node(children=[0]), "node ids were expected, not 0"),
    "child unknown": (node(children=["q"]), 'node "b": "children": "q" is none of'),
    "child class": (node(children=["low"]), '"low" is none of the 4 nodes'),
    "cost text": (node(cost="1"), '"cost": a number was expected, not "1"'),
    "cost bool": (node(cost=True), '"cost": a number was expected, not true'),
    "cost negative": (
        node(cost=-1),
        'node "b": "cost": negative; a number of at least',
    ),
    "cost nan": (node(cost=float("nan")), "a finite number was expected, not NaN"),
    "cost infinite": (node(cost=float("inf")), "a finite number was expected"),
    "cost huge": (node(cost=10**400), "a finite number was expected, not 1000"),
    "cost digits": (top()[:-1] + ', "x": ' + "9" * 5000 + "}", "cannot be read"),
    "subsumed text": (node(subsumed="no"), "true or false was expected"),
    "node list": (top(nodes={"a": []}), 'node "a": an object was expected, not []'),
    "twice": (
        '{"nodes": {"a": {"op": "x", "eclass": "1"}, "a": {}}, "root_eclasses": []}',
        'the key "a" occurs twice',
    ),
    "line": (node(op=None, eclass="\n"), 'node "b": "op"'),
    "only subsumed": (
        top(nodes={"a": {"op": "x", "eclass": "top", "subsumed": True}}),
        'root "top": no finite term makes this class',
    ),
}


@pytest.mark.parametrize("kind", BROKEN)
def test_one_line_and_status_2(kind: str, tmp_path: Path) -> None:
    text, expected = BROKEN[kind]
    path = tmp_path / "f.json"
    path.write_text(text)
    result = command(str(path))
    assert result.exit_code == 2
    assert result.stdout == ""
    assert result.stderr.startswith("error: ") and result.stderr.count("\n") == 1
    assert "f.json" in result.stderr and expected in result.stderr


def test_bytes_that_are_no_text(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_bytes(b'{"nodes": "\xff"}')
    with pytest.raises(EGraphError, match="byte 11 is not UTF-8"):
        load(path)
    assert command(str(path)).exit_code == 2
    assert "is a folder" in command(str(tmp_path)).stderr
    assert "no such file" in command(str(tmp_path / "none")).stderr


@pytest.mark.parametrize(
    ("args", "expected"),
    [
        (["--method", "best"], "--method best: auto, tree"),
        (["--moves", "1", "--seconds", "1"], "give one of them"),
        (["--method", "tree", "--moves", "1"], "--moves is for auto and local"),
        (["--method", "local", "--seconds", "1"], "--seconds is for auto and exact"),
        (["--seconds", "inf"], "a number of seconds was expected"),
    ],
)
def test_options(args: list[str], expected: str, tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(TINY))
    result = command(str(path), *args)
    assert result.exit_code == 2 and expected in result.stderr


def test_json(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(TINY))
    made = json.loads(command(str(path), "--json").stdout)
    assert made.pop("seconds") >= 0
    assert made == {
        "method": "auto", "cost": 3.5, "bound": 3.5, "gap": 0.0, "optimal": True,
        "starts": {"tree": 3.5, "greedy-dag": 3.5}, "note": "",
        "choices": {"top": "a", "low": "b"},
    }  # fmt: skip
    made = json.loads(command(str(path), "--json", "--method", "tree").stdout)
    assert made["bound"] is None and made["gap"] is None and not made["optimal"]


def test_table(tmp_path: Path) -> None:
    path = tmp_path / "f.json"
    path.write_text(json.dumps(TINY))
    text = command(str(path)).stdout
    assert [line.split()[0] for line in text.splitlines()] == [
        "method", "tree", "greedy-dag", "auto",
    ]  # fmt: skip
    assert "optimal" in text and "0.00%" in text


def test_the_same_in_every_process(tmp_path: Path) -> None:
    """Not decided by hashes: choices are the same whatever their seed."""
    path = tmp_path / "f.json"
    path.write_text(to_json(instance("cyclic", 500, seed=3)))
    made: list[object] = []
    for seed in ("1", "2"):
        done = subprocess.run(
            [sys.executable, "-m", "rewrite", "extract", str(path), "--json",
             "--moves", "500"],
            capture_output=True, check=True, text=True,
            env={**os.environ, "PYTHONHASHSEED": seed},
        )  # fmt: skip
        answer = json.loads(done.stdout)
        del answer["seconds"]
        made.append(answer)
    assert made[0] == made[1]
