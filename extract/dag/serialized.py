"""E-graphs as JSON, in the form of egraph-serialize, and the names that they use.

    {"nodes": {ID: {"op": TEXT, "children": [ID, ...], "eclass": CLASS, "cost": 1.0,
                    "subsumed": false}, ...},
     "root_eclasses": [CLASS, ...]}

A child is a node and stands for its class.  `children` may be missing (a leaf), and so
may `cost` (1.0) and `subsumed`; a subsumed node names its class but is never chosen.
Other keys are read over.
"""

from __future__ import annotations

import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from ...egraph.ir.files import open_plain
from .terms import Node, Problem

SIZE = 1 << 31  # bytes: more than that is refused before it is read
SHOWN = 60  # characters of a value in a message


class EGraphError(ValueError):
    """No e-graph; the message names file, place and what was expected."""


@dataclass(frozen=True, slots=True)
class Serialized:
    """A problem and what its classes and nodes are called."""

    problem: Problem
    classes: tuple[str, ...]  # in order of their first node
    nodes: tuple[tuple[str, ...], ...]  # class -> names of its nodes


class _Duplicate(ValueError):
    pass


def load(path: Path) -> Serialized:
    """The e-graph in a file; OSError where it cannot be read."""
    with open_plain(path, given=True) as file:
        data = file.read(SIZE + 1)
    if len(data) > SIZE:
        raise EGraphError(f"{path}: at most {SIZE >> 20} MiB were expected")
    return parse(data, str(path))


def parse(data: bytes, name: str) -> Serialized:
    """The e-graph in `data`; `name` is what messages call it."""
    top = _decoded(data, name)
    if not isinstance(top, dict):
        raise EGraphError(
            f'{name}: an object with "nodes" and "root_eclasses" was expected, not '
            f"{_shown(top)}"
        )
    top = cast(dict[str, Any], top)
    for key, kind in (("nodes", dict), ("root_eclasses", list)):
        if key not in top:
            raise EGraphError(f'{name}: "{key}" was expected at the top; it is missing')
        if not isinstance(top[key], kind):
            what = "an object" if kind is dict else "a list"
            raise EGraphError(
                f'{name}: "{key}": {what} was expected, not {_shown(top[key])}'
            )
    return _read(top["nodes"], top["root_eclasses"], name)


def _decoded(data: bytes, name: str) -> object:
    if not data.strip():
        raise EGraphError(f"{name}: the file is empty; an e-graph in JSON was expected")
    try:
        return json.loads(data.decode("utf-8-sig"), object_pairs_hook=_unique)
    except UnicodeDecodeError as e:
        raise EGraphError(
            f"{name}: byte {e.start} is not UTF-8; an e-graph in JSON was expected"
        ) from None
    except json.JSONDecodeError as e:
        raise EGraphError(
            f"{name}:{e.lineno}:{e.colno}: not JSON: {e.msg[:1].lower()}{e.msg[1:]}"
        ) from None
    except RecursionError:
        raise EGraphError(
            f"{name}: lists or objects in it are nested too deeply; nodes are flat"
        ) from None
    except _Duplicate as e:
        raise EGraphError(f"{name}: {e}") from None
    except ValueError as e:  # integers of thousands of digits
        raise EGraphError(f"{name}: a number that cannot be read: {e}") from None


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen = set[str]()
        for key, _ in pairs:
            if key in seen:
                raise _Duplicate(f"the key {_shown(key)} occurs twice in one object")
            seen.add(key)
    return made


def _read(nodes: dict[str, Any], roots: list[Any], name: str) -> Serialized:
    number: dict[str, int] = {}
    home: dict[str, int] = {}  # node -> its class
    for node, value in nodes.items():
        if not isinstance(value, dict):
            raise _wrong(name, node, "an object was expected", value)
        label = cast(dict[str, Any], value).get("eclass")
        if not isinstance(label, str):
            raise _wrong(name, node, '"eclass": a string was expected', label)
        home[node] = number.setdefault(label, len(number))
    classes: list[list[Node]] = [[] for _ in number]
    names: list[list[str]] = [[] for _ in number]
    for node, value in nodes.items():
        made = _node(value, home, name, node)
        if made is not None:
            classes[home[node]].append(made)
            names[home[node]].append(node)
    return Serialized(
        Problem(tuple(map(tuple, classes)), _roots(roots, number, name)),
        tuple(number),
        tuple(map(tuple, names)),
    )


def _node(
    value: dict[str, Any], home: dict[str, int], name: str, node: str
) -> Node | None:
    """A node, or None for one that must not be chosen."""
    if not isinstance(value.get("op"), str):
        raise _wrong(name, node, '"op": a string was expected', value.get("op"))
    children = value.get("children", ())
    if not isinstance(children, list | tuple):
        raise _wrong(
            name, node, '"children": a list of node ids was expected', children
        )
    kids: list[int] = []
    for child in cast(list[Any], children):
        if not isinstance(child, str):
            raise _wrong(name, node, '"children": node ids were expected', child)
        if child not in home:
            raise EGraphError(
                f'{name}: node {_shown(node)}: "children": {_shown(child)} is none of '
                f"the {len(home)} nodes"
            )
        kids.append(home[child])
    subsumed = value.get("subsumed", False)
    if not isinstance(subsumed, bool):
        raise _wrong(name, node, '"subsumed": true or false was expected', subsumed)
    cost = _cost(value.get("cost", 1.0), name, node)
    return None if subsumed else Node(cost, tuple(kids))


def _cost(value: object, name: str, node: str) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise _wrong(name, node, '"cost": a number was expected', value)
    try:
        cost = float(value)
    except OverflowError:
        cost = math.inf
    if not math.isfinite(cost):
        raise _wrong(name, node, '"cost": a finite number was expected', value)
    if cost < 0:
        raise _wrong(
            name, node, '"cost": negative; a number of at least 0 was expected', value
        )
    return cost + 0.0  # -0.0 is 0.0


def _roots(roots: list[Any], number: dict[str, int], name: str) -> tuple[int, ...]:
    if not roots:
        raise EGraphError(
            f'{name}: "root_eclasses" is empty; at least one class was expected'
        )
    for root in roots:
        if not isinstance(root, str):
            raise EGraphError(
                f'{name}: "root_eclasses": names of classes (strings) were expected, '
                f"not {_shown(root)}"
            )
        if root not in number:
            raise EGraphError(
                f'{name}: "root_eclasses": {_shown(root)} is the "eclass" of no node'
            )
    return tuple(number[root] for root in roots)


def _wrong(name: str, node: str, expected: str, value: object) -> EGraphError:
    got = "it is missing" if value is None else f"not {_shown(value)}"
    return EGraphError(f"{name}: node {_shown(node)}: {expected}, {got}")


def _shown(value: object) -> str:
    """A value as JSON in one short line."""
    try:
        text = json.dumps(value)
    except ValueError:
        text = "a number of thousands of digits"
    return text if len(text) <= SHOWN else text[: SHOWN - 3] + "..."
