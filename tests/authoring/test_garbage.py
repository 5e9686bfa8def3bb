"""What authors get wrong is one line that names the place and the next action."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from rewrite.commands.cli import app

RULE = """\
;; A sign leaves a product.
;;@ equal   bitwise
;;@ fires   (Bin "mul" (Un "neg" x) y) => (Un "neg" (Bin "mul" x y))
;;@ skips   (Bin "mul" x y)
(rewrite (Bin "mul" (Un "neg" x) y) (Un "neg" (Bin "mul" x y))
         :ruleset algebra :name "sign-out")
"""
GRAPH = """graph g(x: f32[4, 8], y: f32[4, 8]) {
  n: f32[4, 8] = neg x
  z: f32[4, 8] = mul n y
  return z
}
"""
SKIPS = '(Bin "mul" x y)\n'
LARGE = "x:[9999999,9999]"
# Name -> the text of a rule file, and what is said of it.
BROKEN = {
    "paren": (RULE[:-2], r":5:1: '\(' is never closed; add a '\)'"),
    "extra": (RULE + ")", r":7:1: '\)' closes nothing; remove it"),
    "opcode": (RULE.replace("neg", "nge"), r':5:25: "nge" is no opcode.*mean.*neg'),
    "head": (RULE.replace("(Un", "(Unn"), r":5:\d+: \(Unn …\) is not known"),
    "arity": (RULE.replace('"neg" x) y) (', "x) y) ("), r":5:\d+: Un takes 2"),
    "name": (RULE.replace("sign-out", "Sign_out"), r":6:\d+: rule names are kebab"),
    "letters": (RULE.replace("sign-out", "sign-π"), r":6:33: .*ASCII alone, found 'π'"),
    "no-name": (RULE.replace(':name "sign-out"', ""), r':5:1: .* add :name "'),
    "twice": (RULE + RULE, r":12:\d+: 'sign-out' names the rule at .*:5:1 already"),
    "library": (RULE.replace("sign-out", "add-zero"), r":6:\d+: 'add-zero' names"),
    "contract": (RULE.replace("bitwise", "exactly"), r":5:1: ';;@ equal'"),
    "no-term": (RULE.replace(SKIPS, "\n"), r":4:1: ';;@ skips' needs a term"),
    "ruleset": (RULE.replace("algebra", "nowhere"), r":6:\d+: :ruleset expected"),
    "deep": (RULE.replace(" x) y)", f" {'(Un ' * 200} x{')' * 200}) y)"), "nested"),
    "form": ('(include "x")', r":1:1: \(include …\) is not allowed"),
}
# The same of examples, which only `rewrite test` reads.
EXAMPLES = {
    "open": ('(Bin "mul" x y\n', r":4:1: '\(' is never closed"),
    "dtype": ('(Bin "mul" x:q9[2] y)\n', r":4:\d+: .*unknown dtype 'q9'; known: f64"),
    "many": ('(Bin "mul" x y x)\n', r":4:1: Bin takes 3"),
    "large": (f'(Un "neg" {LARGE})\n', r":4:\d+: .*more than 1048576 elements; .*smal"),
}


def run(*args: object) -> tuple[int, str, str]:
    done = CliRunner().invoke(app, [str(a) for a in args])
    if done.exception is not None and not isinstance(done.exception, SystemExit):
        raise done.exception
    return done.exit_code, done.stdout, done.stderr


def refused(*args: object) -> str:
    """The one line on stderr of bad input."""
    code, _, err = run(*args)
    assert code == 2
    assert err.startswith("error: ") and err.count("\n") == 1, err
    return err


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    path = tmp_path / "g.graph"
    path.write_text(GRAPH)
    return path


def readers(rules: Path, graph: Path) -> list[tuple[object, ...]]:
    """Every command that reads a rule file."""
    other = ("--device", "numpy", "--rules", rules)
    term = '(Un "neg" x)'
    return [
        ("test", rules), ("prove", rules), ("optimize", graph, *other),
        ("explain", graph, *other), ("why-not", "neg-mul", "z", graph, *other),
        ("cover", graph, "--fast", "--jobs", "1", *other), ("reduce", graph, *other),
        ("derive", term, term, "--rules", rules),
    ]  # fmt: skip


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", BROKEN)
def test_a_broken_rule_file_is_refused_at_its_place(
    name: str, tmp_path: Path, graph: Path
) -> None:
    text, said = BROKEN[name]
    path = tmp_path / "my.egg"
    path.write_text(text, encoding="utf-8")
    for command in readers(path, graph):
        if name == "no-term" and command[0] in ("test", "prove"):
            continue  # an example alone: a finding of its rule
        assert re.search(said, refused(*command)), command


@pytest.mark.sweep(3)
@pytest.mark.parametrize("name", BROKEN)
def test_the_linter_finds_it_too(name: str, tmp_path: Path) -> None:
    text, _ = BROKEN[name]
    path = tmp_path / "my.egg"
    path.write_text(text, encoding="utf-8")
    code, out, err = run("lint", path, "--jobs", "1")
    assert code in (1, 2) and re.search(r"my\.egg:\d+:\d+: ", out + err)


@pytest.mark.parametrize("name", EXAMPLES)
def test_an_example_that_cannot_be_read_fails_its_rule(
    name: str, tmp_path: Path
) -> None:
    text, said = EXAMPLES[name]
    path = tmp_path / "my.egg"
    path.write_text(RULE.replace(SKIPS, text))
    code, out, _ = run("test", path, "--jobs", "1")
    place, _, what = said.partition(": ")
    assert code == 1, out
    assert re.search(rf"FAIL  .*my\.egg{place}  sign-out", out), out
    assert re.search(what, out), out


@pytest.mark.parametrize("term", ["x:[5] y:[7]", "x:[5] y:i32[5]"])
def test_an_ill_typed_example_fails_the_rule(term: str, tmp_path: Path) -> None:
    path = tmp_path / "my.egg"
    path.write_text(RULE.replace("x y)\n(rewrite", f"{term})\n(rewrite"))
    code, out, _ = run("test", path, "--jobs", "1")
    assert code == 1
    assert re.search(r"FAIL  .*my\.egg:4:1  sign-out\n +is no term: .*mend", out)


def test_no_file_a_folder_and_what_is_no_text(tmp_path: Path, graph: Path) -> None:
    folder, binary = tmp_path / "empty", tmp_path / "b.egg"
    folder.mkdir()
    binary.write_bytes(bytes(range(256)))
    for path, said in (
        (tmp_path / "none.egg", "no such file; name a rule file"),
        (folder, "name a rule file"),
        (binary, "byte 128 is not UTF-8"),
    ):
        for command in (*readers(path, graph), ("lint", path)):
            err = refused(*command)
            assert str(path) in err and said in err, command


def test_windows_lines_a_mark_and_files_given_twice_are_fine(tmp_path: Path) -> None:
    path = tmp_path / "my.egg"
    path.write_bytes(b"\xef\xbb\xbf" + RULE.replace("\n", "\r\n").encode())
    code, out, _ = run("test", path, tmp_path, "--jobs", "1")
    assert code == 0 and "1 passed" in out
    assert "0 errors" in run("lint", path, path, "--jobs", "1")[1]


def models(path: Path) -> list[tuple[object, ...]]:
    """Every command that reads a model."""
    return [
        ("why-not", "neg-mul", "z", path), ("cover", path, "--jobs", "1"),
        ("reduce", path), ("optimize", path), ("explain", path),
        ("derive", path, path),
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("a.graph", None), ("a.onnx", None), ("a.graph", b""), ("a.onnx", b""),
        ("a.graph", bytes(range(256))), ("a.onnx", bytes(range(256))),
        ("a.graph", b"graph g(x: f32[2]) {\n  n: f32[2] = frob x\n  return n\n}\n"),
    ],
)  # fmt: skip
def test_a_model_that_is_none_is_refused(
    name: str, data: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / name
    if data is not None:
        path.write_bytes(data)
    for command in models(path):
        assert refused(*command).count(str(path)) == 1, command


def test_words_that_mean_nothing(tmp_path: Path, graph: Path) -> None:
    rules = tmp_path / "my.egg"
    rules.write_text(RULE)
    for said, command in (
        ("-k nonesuch: no rule", ("test", rules, "-k", "nonesuch")),
        ("-k nonesuch: no rule", ("prove", rules, "-k", "nonesuch")),
        ("-k nonesuch: no rule", ("cover", graph, "-k", "nonesuch", "--jobs", "1")),
        ("did you mean neg-mul", ("why-not", "neg-mull", "z", graph)),
        ("known are x, ", ("why-not", "neg-mul", "none", graph)),
        ("no rule is called none", ("reduce", graph, "--only", "none")),
        ("is a folder; name a .graph, .onnx or .pt2 file in it", ("reduce", tmp_path)),
        ("is a folder; name a .graph, .onnx or .pt2 file in it", ("why-not", tmp_path)),
        ("there is no folder", ("run", tmp_path / "none" / "a.graph")),
        ("make it first", ("run", graph, "--save", tmp_path / "none" / "a.npz")),
        ("make it first", ("demo", "--report", tmp_path / "none" / "a.html")),
        ("np.savez(path, x=x) writes it", ("run", graph, "--inputs", rules)),
        ("unknown device 'none'", ("reduce", graph, "--device", "none")),
        ("unknown device 'none'", ("cover", graph, "--device", "none", "--jobs", "1")),
        ("is a quote not closed", ("reduce", graph, "--check", "a 'b")),
        (
            "strict, default, fast or unstable",
            ("why-not", "a", "z", graph, "--precision", "x"),
        ),
        ("--only and --inputs", ("reduce", graph, "--check", "true", "--only", "x")),
        ("an .npz", ("reduce", graph, "--inputs", rules)),
        ("one of each", ("derive", graph, "(x)")),
        ("a second term", ("derive", graph)),
        ("no such file; name a case", ("derive", tmp_path / "none.derive")),
    ):
        assert said in refused(*command), command


@pytest.mark.sweep(4)
@pytest.mark.parametrize("command", ["lint", "test", "prove"])
@pytest.mark.parametrize("damage", [b"\xff\xfe", b"(rewrite\n", None])
def test_one_unreadable_file_does_not_stop_the_others(
    command: str, damage: bytes | None, tmp_path: Path
) -> None:
    """It is told as one error; the exit status says so too."""
    bad = tmp_path / "a.egg"
    if damage is None:
        bad.symlink_to(tmp_path / "nowhere")
    else:
        bad.write_bytes(damage)
    (tmp_path / "b.egg").write_text(RULE)
    code, out, err = run(command, tmp_path, "--jobs", 1)
    assert code == 2
    assert err.startswith(f"error: {bad}:") and err.count("\n") == 1, err
    assert re.search(r"\b1 (passed|proved|rule)", out), out
    code, out, _ = run(command, tmp_path, "--jobs", 1, "--json")
    assert code == 2
    made = json.loads(out)
    assert len(made["unread"]) == 1 and made["rules"]


@pytest.mark.parametrize("command", ["lint", "test", "prove"])
def test_unreadable_files_alone_are_each_told(command: str, tmp_path: Path) -> None:
    for name in ("a.egg", "b.egg"):
        (tmp_path / name).write_bytes(b"\xff")
    code, out, err = run(command, tmp_path)
    assert (code, out) == (2, "")
    assert err.count("is not UTF-8") == 2
