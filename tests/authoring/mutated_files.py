"""Rule files with bytes and tokens changed: each is refused at a place, or is clean.

    python -m tests.authoring.mutated_files --count 10000

prints what became of them.  A file that passes reads, once printed, as the forms that
were checked; some of those are loaded into the engine.  No file is ever made.
"""

from __future__ import annotations

import argparse
import os
import random
import re
import tempfile
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from rewrite.egraph.judge.examples import read
from rewrite.egraph.rules.rulefile import RuleFile, RuleFileError, check, load_rules
from rewrite.egraph.rules.ruleset import RuleSet
from rewrite.egraph.rules.sexpr import parse
from rewrite.egraph.saturate.engine import Engine, EngineError, shared

# What a file of a stranger might begin with.
SEEDS = (
    '(ruleset mine"a) (ruleset mine) (output "made" "x") (ruleset b")',
    '(relation r (String f64)) (r "a" 1.0) (include "there")',
    '(ruleset mine)\n;; Half.\n;;@ equal bitwise\n;;@ fires (Bin "add" x x) => x\n'
    '(rewrite (Bin "add" x x) x :when ((= t (dtype x))) :ruleset mine :name "half")',
    "(function f (T) i64 :merge new)\n(rule ((= e (Un o x))) ((set (f x) 1)) "
    ':ruleset algebra :name "of-un")',
    "(primitive p (IV i64) i64 (vec-get _0 _1))\n(relation q (T IV))",
    ';;@ equal real\n(birewrite (Un "neg" x) (Bin "mul" x (Const -1.0 t s)) '
    ':when ((= t (dtype x)) (= s (shape x))) :ruleset algebra :name "by-minus")',
)
_WORDS = (
    "() [ ] { } | ; ;;@ => ' ` , # $x @x _ _0 _9 : :merge :no-merge :subsume :when "
    ":ruleset :name :file true NaN inf -inf 1e5 +1 1. 9223372036854775808 -0 T IV "
    "String i64 output include input print-stats print-function py-eval extract "
    "fail let set union delete panic check push saturate rewrite rule ruleset "
    "relation function "
    "primitive sort unstable-fn vec-of = Const Un"
)
TOKENS = (
    *_WORDS.split(), '"', '""', "\\", '\\"', "\\n", "\n", "\r", "\r\n", "\0", "\x0b",
    "\x1f", "\x7f", "\x85", "\xa0", "\u2028", "\ufeff", "é", "𝕏", "\u202e", "(", ")",
    "9" * 401,
    ";;@ equal bitwise\n", ";;@ fires", "(run 1)", '") (output "made" "x") ("',
    '(output "made" "x")', '(include "there")', '(print-stats :file "made")',
)  # fmt: skip
SHORT = 4000  # characters of a bundled file that are taken at once
LOADED = 25  # of those that pass, one in so many is loaded


def sources() -> list[str]:
    """Hostile seeds, and the bundled files."""
    rules = Path(__file__).parents[2] / "rules"
    texts = [p.read_text(encoding="utf-8") for p in sorted(rules.glob("*.egg"))]
    return [*SEEDS, *texts]


def mutated(text: str, rng: random.Random) -> str:
    """The text, or a piece of it, with some places changed."""
    paragraphs = text.split("\n\n")
    if len(text) > SHORT:
        at = rng.randrange(len(paragraphs))
        text = "\n\n".join(paragraphs[at : at + rng.randint(1, 6)])
        text = re.sub(r':name "', ':name "m-', text)  # apart from the bundled rules
    for _ in range(rng.choice((1, 1, 1, 2, 3, 8))):
        text = (_by_token if rng.random() < 0.6 else _by_byte)(text, rng)
    return text


def _by_token(text: str, rng: random.Random) -> str:
    spans = [m.span() for m in re.finditer(r'[^\s()";]+|[()";]|\s+', text)] or [(0, 0)]
    (a, b), (c, d) = sorted((rng.choice(spans), rng.choice(spans)))
    token = rng.choice(TOKENS)
    match rng.randrange(5):
        case 0:
            return text[:a] + token + text[b:]
        case 1:
            return f"{text[:b]}{token}{text[b:]}"
        case 2:
            return f"{text[:b]} {token} {text[b:]}"
        case 3:
            return text[:a] + text[b:]
        case _ if b <= c:
            return text[:a] + text[c:d] + text[b:c] + text[a:b] + text[d:]
        case _:
            return text[:b] + text[a:]


def _by_byte(text: str, rng: random.Random) -> str:
    data = bytearray(text.encode())
    at = rng.randrange(len(data) + 1)
    match rng.randrange(3):
        case 0 if at < len(data):
            data[at] ^= 1 << rng.randrange(8)
        case 1:
            data.insert(at, rng.randrange(256))
        case _:
            del data[at : at + rng.choice((1, 1, 2, 16))]
    return data.decode(errors="replace")


def cases(count: int, seed: int = 0) -> Iterator[str]:
    rng, texts = random.Random(seed), sources()
    for k in range(count):
        yield mutated(texts[k % len(texts)], rng)


def judged(text: str, before: Sequence[RuleFile]) -> RuleFile | None:
    """The file that the text is; None where it is refused, at a place of it."""
    try:
        file = check(text, "m.egg", before)
    except RuleFileError as e:
        assert re.match(r"m\.egg(:\d+:\d+)?: ", str(e)), e
        return None
    whole = file.text(frozenset(r.name for r in file.rules))
    assert parse(whole, "m.egg") == list(file.forms), text
    for rule in file.rules:
        for example in (*rule.fires, *rule.skips):
            try:
                read(example)
            except RuleFileError:
                continue
    return file


def loaded(file: RuleFile, engine: Engine) -> bool:
    """Whether the engine takes it; what it refuses, it refuses as an `EngineError`."""
    files = (*load_rules().files, file)
    rules = RuleSet(files, frozenset(r.name for r in file.rules))
    try:
        with engine.session(rules.sources) as session:
            session.run("(run-schedule (saturate (run facts)))")
    except EngineError as e:
        assert "reads or writes files" not in str(e) and "ended" not in str(e), e
        return False
    return True


def survey(count: int, seed: int = 0, every: int = LOADED) -> Counter[str]:
    """What became of so many mutants; run it in an empty folder."""
    out, before, engine = Counter[str](), load_rules().files, shared()
    for text in cases(count, seed):
        file = judged(text, before)
        out["refused" if file is None else "clean"] += 1
        if file is not None and out["clean"] % every == 0:
            out["loaded" if loaded(file, engine) else "refused by the engine"] += 1
    assert not os.listdir(), os.listdir()
    return out


def main() -> None:
    parser = argparse.ArgumentParser(
        description="Mutates rule files and says what became of them."
    )
    parser.add_argument("--count", type=int, default=10_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--every", type=int, default=LOADED)
    asked = parser.parse_args()
    start = time.monotonic()
    load_rules()
    with tempfile.TemporaryDirectory() as folder:
        os.chdir(folder)
        found = survey(asked.count, asked.seed, asked.every)
        os.chdir("/")
    shown = ", ".join(f"{n} {what}" for what, n in sorted(found.items()))
    print(
        f"{asked.count} mutants in {time.monotonic() - start:.0f} s: {shown}; no file"
    )


if __name__ == "__main__":
    main()
