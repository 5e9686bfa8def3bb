"""A rule file is data: whatever stands in it, no command of the engine comes out."""

from __future__ import annotations

import os
import subprocess
import sys
from contextlib import nullcontext
from pathlib import Path

import pytest

from rewrite.egraph.ir.dtypes import F32
from rewrite.egraph.ir.graph import Builder
from rewrite.egraph.judge.examples import read, run_examples
from rewrite.egraph.proof.journal import record
from rewrite.egraph.rules.rulefile import RuleFileError, check, load_rules
from rewrite.egraph.rules.ruleset import RuleFile, RuleSet
from rewrite.egraph.rules.sexpr import (
    Atom,
    Form,
    Place,
    laid_out,
    parse,
    quoted,
)
from rewrite.egraph.saturate import engine as engine_module
from rewrite.egraph.saturate.encode import show
from rewrite.egraph.saturate.engine import Engine, EngineError

HERE = Place("t.egg", 1, 1)
RULE = (
    '(rewrite (Un "neg" (Un "neg" x)) x :ruleset algebra :name "twice")\n'
)  # fmt: skip
EQUAL = ";;@ equal bitwise\n"
# What is put into a file, and what is said of it; FILE is a path that must not appear.
HOSTILE = {
    "ruleset": (
        '(ruleset mine"a) (ruleset mine) (output "FILE" "x") (ruleset b")',
        r"1:14: .*space",
    ),
    "relation": (
        '(relation r"a) (output "FILE" "x") (relation b" (String))', r"1:12: .*space",
    ),
    "more of a ruleset": ('(ruleset mine "a")', r"1:1: \(ruleset NAME\) was expected"),
    "more of a relation": ("(relation r (String) (T))", r"1:1: \(relation NAME"),
    "more of a primitive": ("(primitive p (IV) IV _0 (zeros _0))", r"1:1: \(primitive"),
    "sort": ("(relation r ((output)))", r"1:14: .*sort.*found \(output\)"),
    "unknown sort": ("(relation r (Strin))", r"1:14: .*sort.*found Strin"),
    "string as sort": ('(relation r ("T"))', r"1:14: .*sort"),
    "result": ('(function f (T) "T" :no-merge)', r"1:17: .*sort"),
    "form as result": ("(function f (T) (output) :no-merge)", r"1:17: .*sort"),
    "option": ('(function f (T) T :no-merge :file "FILE")', r":no-merge, :merge old"),
    "form as name": ('(relation (output "FILE") (T))', r"1:1: a name was expected"),
    "command as name": ("(relation print-stats (String))", r"print-stats .* choose"),
    "schedule as name": ("(relation saturate (String))", r"saturate .* choose"),
    "truth as name": ("(ruleset true)", r"1:1: a ruleset's name"),
    "number as name": ("(ruleset inf)", r"1:1: a ruleset's name"),
    "letters of others": ("(ruleset mïne)", r"1:11: 'ï'"),
    "other space": ("(ruleset\xa0mine)", r"1:9: "),
    "no character": ("(ruleset mi\0ne)", r"1:12: "),
    "escape": ('(relation r (String)) (r "a\\"b")', r"1:26: .*backslash"),
    "other string": ('(relation r (String)) (r "é")', r"1:26: .*ASCII"),
    "escape at the end": ('(relation r (String)) (r "a\\")', r"1:26: "),
    "line in a string": ('(relation r (String)) (r "a\nb")', r"1:26: .*not closed"),
    "row too short": ("(relation r (String f64)) (r)", r"1:27: .*2 .*found 0"),
    "row of others": ('(relation r (f64)) (r "1")', r"1:23: .*f64"),
    "large": ("(relation r (i64)) (r 9223372036854775808)", r"1:23: .*64 bits"),
    "huge": (f"(relation r (f64)) (r {'9' * 400}.0)", r"1:23: .*finite"),
    "longer": (f"(relation r (f64)) (r {'9' * 9000})", r"1:23: "),
    "pipes": ("(ruleset |a b|)", r"1:1: .*ruleset"),
    "option twice": (EQUAL + RULE.replace(":name", ":ruleset fold :name"), "twice"),
    "open rule": ("(rule)", r"1:1: "),
    "option of others": (
        '(relation r (T)) (rule ((r x)) ((r x)) :ruleset algebra :name "a" :subsume)',
        r"1:\d+: one of :ruleset, :name",
    ),
    "lone fact": (
        '(relation r (T)) (rule (x) ((r x)) :ruleset algebra :name "a")',
        r"1:\d+: a fact",
    ),
    "lone premise": (
        EQUAL + RULE.replace(":ruleset", ":when (x) :ruleset"), r"2:\d+: a fact",
    ),
    "name of a function": (
        '(primitive p (IV) IV (unstable-vec-map (unstable-fn xonesx) _0))',
        r"unstable-fn names",
    ),
    "place of a primitive": ("(primitive p (IV) IV _1)", r"_1 .*1 input"),
    "variable of a primitive": ("(primitive p (IV) IV x)", r"x .*_0"),
    "place in a rule": (
        EQUAL + RULE.replace(" x)", " _0)").replace(" x ", " _0 "),
        r"2:\d+: a variable",
    ),
    "many fields": (f"(relation r ({'T ' * 65}))", r"1:13: r has 65 fields"),
    "truth as variable": (
        EQUAL + RULE.replace(" x)", " true)").replace(" x ", " true "),
        r"2:\d+: a variable",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", HOSTILE)
def test_what_is_no_rule_is_refused_at_its_place(name: str, tmp_path: Path) -> None:
    text, said = HOSTILE[name]
    path = tmp_path / "t.egg"
    path.write_text(text.replace("FILE", str(tmp_path / "made")), encoding="utf-8")
    with pytest.raises(RuleFileError, match=said):
        load_rules([path])
    assert os.listdir(tmp_path) == ["t.egg"]


def test_an_example_holds_no_form_where_a_word_stands() -> None:
    text = ';;@ fires (Un (x "abs") x) => x\n' + EQUAL + RULE
    files = load_rules().files
    rule = check(text, "t.egg", files).rules[0]
    with pytest.raises(RuleFileError, match=r"t\.egg:1:\d+: a string"):
        read(rule.fires[0])
    (failure,) = run_examples(rule, load_rules().only(["neg-neg"]))
    assert "cannot be read: a string" in failure.reason


@pytest.mark.parametrize(
    "text",
    ["(" * 100_000, ")" * 100_000, "(a" * 100_000 + ")" * 100_000, "9" * 100_000,
     f"(relation {'a' * 100_000})", f"(relation r (f64)) (r {'9' * 100_000}.0)"],
    ids=range(6),
)  # fmt: skip
def test_what_is_long_or_deep_is_refused_in_few_words(text: str) -> None:
    with pytest.raises(RuleFileError, match=r"^t\.egg:1:\d+: ") as e:
        check(text, "t.egg", load_rules().files)
    assert len(str(e.value)) < 1000


@pytest.mark.parametrize("text", ['a"', "a\\", "a\nb", "é", "\0", "\x7f"])
def test_a_string_that_would_be_more_than_one_is_not_quoted(text: str) -> None:
    with pytest.raises(RuleFileError, match="ASCII"):
        quoted(text)
    with pytest.raises(RuleFileError):
        show(("Un", text, 0))


@pytest.mark.parametrize("text", ["", "a b", 'a"b"', "(a)", "a;b", '"a', "\x85", "1\n"])
def test_an_atom_is_one_token(text: str) -> None:
    with pytest.raises(RuleFileError):
        Atom(text, HERE)


def whole(file: RuleFile) -> str:
    return file.text(frozenset(r.name for r in file.rules))


def test_what_is_printed_reads_as_what_was_checked() -> None:
    for file in load_rules(precision="fast").files:
        assert parse(whole(file), file.name) == list(file.forms)
    a, b = (
        Atom("a", HERE),
        Atom('"b"', HERE),
    )  # in one place: they must not grow together
    form = Form((a, b, Form((b, a), HERE), a), HERE)
    (read_back,) = parse(laid_out(form), "t")
    assert str(read_back) == str(form)


@pytest.mark.parametrize("name", ["load", "instances", "law-3", "phase-x", "Made"])
def test_names_that_the_library_itself_needs_are_taken(name: str) -> None:
    form = f"(relation {name} (T))" if name == "Made" else f"(ruleset {name})"
    with pytest.raises(RuleFileError, match="choose another"):
        check(form, "t.egg", load_rules().files)


def test_a_variable_may_be_called_as_the_journal_calls_its_own() -> None:
    files = load_rules().files
    mine = check(EQUAL + RULE.replace("x", "root"), "t.egg", files)
    rules = RuleSet((*files, mine), frozenset(["twice"]))
    b = Builder()
    x = b.input("x", F32, (2,))
    twice = b.build({"y": b.un("neg", b.un("neg", x))})
    journal = record(twice, b.build({"y": x}), rules)
    assert [use.rule for use in journal.uses] == ["twice"]


COMMANDS = [
    '(output "{}/made" "x")', '(include "{}/there")', '(input R "{}/there")',
    '(print-stats :file "{}/made")', '(print-function R :file "{}/made")',
    '(fail (output "{}/made" "x"))', '(  output "{}/made" "x")',
    '(;\noutput "{}/made")',
]  # fmt: skip


@pytest.mark.parametrize("command", COMMANDS)
def test_the_engine_is_sent_no_command_that_touches_files(
    command: str, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("(relation Q (i64))")
    text, engine = command.format(tmp_path), Engine()
    try:
        refused = pytest.raises(EngineError, match="reads or writes files")
        with engine.session([("r", "(relation R (i64))")]) as session, refused:
            session.run(text)
        with refused, engine.session([("r", text)]):
            pass
    finally:
        engine.close()
    assert os.listdir(tmp_path) == ["there"]


@pytest.mark.parametrize("command", COMMANDS)
def test_the_worker_itself_touches_no_file(command: str, tmp_path: Path) -> None:
    there = tmp_path / "there"
    there.write_text("(relation Q (i64)) (Q 7)")
    engine = Engine()
    try:
        with engine.session([("r", "(relation R (i64))")]) as session:
            fails = nullcontext() if "fail" in command else pytest.raises(EngineError)
            with fails:
                session.call("run", command.format(tmp_path), "raw")  # past the check
        with engine.session([("r", "(relation R (i64)) (R 1)")]) as session:
            assert session.tables(["R", "Q"]) == {"R": [(1, 0)]}
    finally:
        engine.close()
    assert os.listdir(tmp_path) == ["there"]
    assert there.read_text() == "(relation Q (i64)) (Q 7)"


def test_each_layer_stands_or_says_why_not() -> None:
    engine = Engine()
    try:
        with engine.session([]) as session:
            layers = session.barrier()
    finally:
        engine.close()
    files = ["folder", "no-writing", "no-core", "no-opening", "no-processes"]
    assert [layers[name] for name in files] == [""] * len(files)
    assert set(layers) == {*files, "no-new-privileges", "landlock"}
    if sys.platform == "linux":
        assert layers["no-new-privileges"] == ""
        assert layers["landlock"] == "" or "OSError" in layers["landlock"]


# What a process may try once it is shut off; Landlock alone stands against the later.
TRIES = {
    "open('made', 'w')": False, "open('there').read()": False, "os.pipe()": False,
    "__import__('socket').socket()": False, "os.write(fd, b'more')": False,
    "os.unlink('there')": True, "os.mkdir('made')": True,
    "os.rename('there', 'made')": True, "os.truncate('there', 0)": True,
    "os.symlink('there', 'made')": True, "os.execv('/bin/rm', ['rm', 'there'])": True,
}  # fmt: skip
SHUT_OFF = """
import importlib.util, os, socket, sys
spec = importlib.util.spec_from_file_location("barrier", sys.argv[1])
barrier = importlib.util.module_from_spec(spec)
spec.loader.exec_module(barrier)
fd = os.open("there", os.O_WRONLY | os.O_APPEND)
os.chdir = lambda folder: None  # the names below are of this folder
layers = barrier.close_off()
try:
    eval(sys.argv[2])
except OSError as e:
    print("refused", layers["landlock"])
else:
    print("done", layers["landlock"])
"""


@pytest.mark.parametrize("attempt", TRIES)
def test_a_process_that_is_shut_off_can_open_and_change_nothing(
    attempt: str, tmp_path: Path
) -> None:
    (tmp_path / "there").write_text("text")
    barrier = Path(engine_module.__file__).with_name("barrier.py")
    done = subprocess.run(
        [sys.executable, "-I", "-c", SHUT_OFF, str(barrier), attempt],
        cwd=tmp_path, capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    said, _, landlock = done.stdout.partition(" ")
    if TRIES[attempt] and landlock.strip():
        pytest.skip(f"no Landlock: {landlock}")
    assert said == "refused", done.stderr
    assert os.listdir(tmp_path) == ["there"]
    assert (tmp_path / "there").read_text() == "text"
