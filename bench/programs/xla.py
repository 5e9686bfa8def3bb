"""Asks `derive` for laws of XLA's algebraic simplifier, which nobody here chose.

    python bench/programs/xla.py [--missing] [--only WORD]

`xla.laws` has the laws.  Prints how many the rules show, with `--missing` those that
they do not and what is missing; exits with 1 where one is not shown.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from bench.programs.taso import gap
from rewrite.authoring.derive import ask
from rewrite.authoring.derive.cases import of_terms
from rewrite.authoring.derive.derivation import Answer

LAWS = Path(__file__).with_suffix(".laws")


class Law(NamedTuple):
    name: str
    left: str
    right: str


def read(text: str) -> Iterator[Law]:
    """Three lines a law; lines that are empty or begin with # are none."""
    lines = [x for x in text.splitlines() if x.strip() and not x.startswith("#")]
    if len(lines) % 3:
        raise ValueError(f"{lines[-1]}: a name and both sides are three lines")
    yield from (Law(*lines[i : i + 3]) for i in range(0, len(lines), 3))


def answer(law: Law, rules: Sequence[Path] = ()) -> Answer:
    return ask(*of_terms(law.left, law.right), rules, "default", shorten=False)


def main() -> int:
    parser = argparse.ArgumentParser(description=str(__doc__).split("\n")[0])
    parser.add_argument("--missing", action="store_true", help="show what is missing")
    parser.add_argument("--only", default="", help="laws whose name contains it")
    args = parser.parse_args()
    laws = [x for x in read(LAWS.read_text()) if args.only in x.name]
    lost = 0
    for law in laws:
        found = answer(law)
        if found.verdict != "equal":
            lost += 1
            print(
                f"not shown: {law.name}", *gap(found) if args.missing else (), sep="\n"
            )
    print(f"{len(laws) - lost} of {len(laws)} laws are shown")
    return int(lost > 0)


if __name__ == "__main__":
    sys.exit(main())
