"""Rule files are data from strangers: what is not on this list never runs.

Before the engine sees any of a file, every form and every head in it must be known
here: rewrites and fact rules over the constructors of `rules/ir.egg`, its functions and
primitives, and pure arithmetic.

`;;` lines above a form are its sentence; `;;@` lines are read here:

    ;;@ equal   bitwise | ieee | real [one-way] | approx RTOL | unstable
    ;;@ fires   TERM => TERM       (TERM => ? is filled in by `rewrite test --bless`)
    ;;@ skips   TERM               ; why
                                   (both may end in: given (nan-free NAME) …)
    ;;@ allow   CODE ; why         (a finding of `rewrite lint` that is right by design)
    ;;@ sizes   any                (it reads a size, and holds for symbolic ones too)
    ;;@ explosive                  (above a `ruleset`: run under back-off)
    ;;@ refused TERM => TERM       a law that must not be added, above any form or last
    ;;@ because WORDS              its counterexample
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from ..ir.constructors import SIGNATURES
from .forms import (
    RESERVED,
    SORTS,
    check_bound,
    check_contract,
    check_pattern,
    check_subsume,
    check_variable,
    shaped,
    sort_of,
    symbol,
)
from .notes import (
    Notes,
    any_size,
    contract_of,
    examples,
    notes_of,
    one_way,
    refused,
    rtol,
)
from .ruleset import Refused, Rule, RuleFile
from .sexpr import (
    Atom,
    Comment,
    Expr,
    Form,
    Place,
    RuleFileError,
    heads,
    parse,
)
from .vocabulary import check_words

# Pure functions of the engine that rules may use.  None reads or runs anything.
ARITHMETIC = "+ - * / % & | ^ << >> < <= > >= = != min max abs neg sqrt to-f64 to-i64"
VECTORS = (
    "vec-of vec-empty vec-get vec-set vec-push vec-pop vec-append vec-length vec-range "
    "vec-remove vec-contains vec-not-contains unstable-fn unstable-vec-map"
)
LOGIC = "bool-= bool-< bool-<= bool-> bool->= guard and or not xor f64-is-finite"
BUILTINS = frozenset(f"{ARITHMETIC} {VECTORS} {LOGIC}".split())
FORMS = ("ruleset", "rewrite", "birewrite", "rule", "relation", "function", "primitive")
CORE_FORMS = ("sort", "constructor")
MAX_CHARACTERS = 4_000_000
MAX_FIELDS = 64  # of a declaration; the engine takes memory for the square of them


def check(
    text: str, name: str, before: Sequence[RuleFile] = (), *, core: bool = False,
    later: bool = False,
) -> RuleFile:  # fmt: skip
    """A file's rules, or a `RuleFileError`; `before` are the files loaded earlier.
    Examples are read at once, or `later`, by who asks for them."""
    if len(text) > MAX_CHARACTERS:
        raise RuleFileError(f"{name}: over {MAX_CHARACTERS} characters; split it")
    checker = Checker(name, core, later)
    checker.after(before)
    notes: list[Comment] = []
    for item in parse(text, name):
        if isinstance(item, Comment):
            notes.append(item)
        elif isinstance(item, Atom):
            raise item.place.error(f"a form was expected, found {item}")
        else:
            checker.form(item, notes_of(notes))
            notes = []
    checker.refused += refused(notes_of(notes))
    return checker.result()


class Checker:
    """Walks the forms of one file, keeping what is declared so far."""

    def __init__(self, name: str, core: bool, later: bool = False) -> None:
        self.name, self.core, self.later = name, core, later
        self.heads: dict[str, int | None] = {}  # callable -> arity where known
        self.inputs: dict[str, tuple[str, ...]] = {}  # callable -> sorts
        self.sorts: set[str] = set(SORTS)
        self.relations: set[str] = set()
        self.functions: set[str] = set()
        self.own: set[str] = set()  # declared in this file
        self.rulesets: dict[str, Place] = {}
        self.names: dict[str, Place] = {}
        self.forms: list[Form] = []
        self.rules: list[Rule] = []
        self.own_rulesets: list[str] = []
        self.explosive: set[str] = set()
        self.refused: list[Refused] = []

    def result(self) -> RuleFile:
        return RuleFile(
            self.name, tuple(self.forms), tuple(self.rules),
            tuple(self.own_rulesets), frozenset(self.explosive),
            refused=tuple(self.refused),
        )  # fmt: skip

    def after(self, before: Sequence[RuleFile]) -> None:
        """Takes over what the files loaded earlier declare."""
        for f in before:
            for form in f.declarations:
                self.declare(form)
            self.names.update((r.name, r.place) for r in f.rules)

    def declare(self, form: Form) -> None:
        """Makes the name a form declares known to the forms after it."""
        head = form.head
        if head in ("constructor", "function", "relation", "primitive"):
            name, inputs = form.items[1], form.items[2]
            assert isinstance(name, Atom) and isinstance(inputs, Form)
            self.heads[name.text] = len(inputs.items)
            self.inputs[name.text] = tuple(map(str, inputs.items))
            if head == "relation":
                self.relations.add(name.text)
            elif head == "function":
                self.functions.add(name.text)
        elif head == "ruleset":
            self.rulesets[str(form.items[1])] = form.place
        elif head == "sort":
            self.sorts.add(str(form.items[1]))

    def form(self, form: Form, notes: Notes) -> None:
        kinds = [*FORMS, *(CORE_FORMS if self.core else ())]
        match form.head:
            case head if head in self.relations:
                self._fact(form)
            case head if head not in kinds:
                raise form.place.error(
                    f"({head or '…'} …) is not allowed in a rule file; "
                    f"use one of {', '.join(kinds)}"
                )
            case "ruleset":
                self._ruleset(form, notes)
            case "rewrite" | "birewrite":
                self.rules.append(self._rewrite(form, notes))
            case "rule":
                self._rule(form)
            case "sort":
                self._sort(form)
            case _:
                self._declaration(form)
        self.refused += refused(notes)
        self.forms.append(form)
        self.declare(form)

    def _owned(self, form: Form, table: Expr) -> None:
        """Refuses new rows of a table that other files read."""
        if not self.core and str(table) not in self.own:
            raise form.place.error(
                f"{table} belongs to another file, whose rules read it; declare a "
                "relation or function of your own"
            )

    def _fact(self, form: Form) -> None:
        """A row of a relation, whose fields are literals of its sorts."""
        self._owned(form, form.items[0])
        wanted = self.inputs[form.head]
        if len(form.args) != len(wanted):
            raise form.place.error(
                f"a row of {form.head} has {len(wanted)} fields, found {len(form.args)}"
            )
        for a, sort in zip(form.args, wanted, strict=True):
            if not isinstance(a, Atom) or a.is_symbol:
                raise a.place.error(f"a row of {form.head} holds literals, found {a}")
            if sort_of(a) != sort:
                raise a.place.error(f"a literal of sort {sort} was expected, found {a}")

    def _ruleset(self, form: Form, notes: Notes) -> None:
        shaped(form)
        name = symbol(form, 1, "a ruleset's name")
        if name in self.rulesets:
            raise form.place.error(f"{name} was declared at {self.rulesets[name]}")
        self._free(form, name)
        self.own_rulesets.append(name)
        if notes.get("explosive"):
            self.explosive.add(name)

    def _free(self, form: Form, name: str) -> None:
        """Refuses a name that means something: there is one space of names."""
        taken = name in self.heads or name in BUILTINS or name in RESERVED
        taken = taken or name in self.rulesets or name in self.sorts
        if taken or re.match("(law|phase)-", name):
            raise form.place.error(f"{name} is declared already; choose another name")

    def _sort(self, form: Form) -> None:
        """(sort NAME), (sort NAME (Vec SORT)) or that of functions; ir.egg alone."""
        self._free(form, symbol(form, 1, "a sort's name"))
        match form.items[2:]:
            case ():
                return
            case (Form(items=(Atom(text="Vec"), item)),):
                self._known_sort(item)
            case (Form(items=(Atom(text="UnstableFn"), Form() as inputs, output)),):
                for item in (*inputs.items, output):
                    self._known_sort(item)
            case _:
                raise form.place.error(
                    "(sort NAME), (sort NAME (Vec SORT)) or "
                    "(sort NAME (UnstableFn (SORT …) SORT)) was expected"
                )

    def _known_sort(self, e: Expr) -> None:
        if not isinstance(e, Atom) or e.text not in self.sorts:
            known = ", ".join(sorted(self.sorts))
            raise e.place.error(f"a sort was expected, one of {known}; found {e}")

    def _declaration(self, form: Form) -> None:
        name = symbol(form, 1, "a name")
        self._free(form, name)
        shaped(form)
        if len(form.items) < 3 or not isinstance(form.items[2], Form):
            raise form.place.error(f"({form.head} {name} (SORT …) …) was expected")
        if len(form.items[2].items) > MAX_FIELDS:
            raise form.items[2].place.error(
                f"{name} has {len(form.items[2].items)} fields, over {MAX_FIELDS}; "
                "split it"
            )
        for sort in (*form.items[2].items, *form.items[3:4]):
            self._known_sort(sort)
        self.own.add(name)
        if form.head == "primitive":
            self._term(form.items[4], places=len(form.items[2].items))
        if form.head == "function":
            self._merge(form)

    def _merge(self, form: Form) -> None:
        if len(form.items) < 4:
            raise form.place.error("(function NAME (SORT …) SORT …) was expected")
        options = form.items[4:]
        shown = [str(o) for o in options]
        if shown not in ([":no-merge"], [":merge", "old"], [":merge", "new"]):
            raise form.place.error(
                "a function ends with :no-merge, :merge old or :merge new, "
                f"found {' '.join(shown) or 'nothing'}"
            )

    def _rule(self, form: Form) -> None:
        if len(form.items) < 3:
            raise form.place.error("(rule (FACT …) (ACTION …) …) was expected")
        options = self._options(form, (":ruleset", ":name"))
        self._name(options, form)
        body, head = form.items[1], form.items[2]
        if not (isinstance(body, Form) and isinstance(head, Form)):
            raise form.place.error("(rule (FACT …) (ACTION …) …) was expected")
        for fact in body.items:
            self._premise(fact)
        for action in head.items:
            allowed = {"set", *self.relations}
            if not isinstance(action, Form) or action.head not in allowed:
                raise action.place.error(
                    f"a rule derives facts: (set …) or a relation expected, found "
                    f"{action}; state equalities as a rewrite"
                )
            self._action(action)

    def _action(self, action: Form) -> None:
        for part in action.args:
            self._term(part)
        if action.head != "set":
            self._owned(action, action.items[0])
            self._no_lookup(action)
            return
        target = action.args[0] if action.args else None
        if not isinstance(target, Form) or len(action.args) != 2:
            raise action.place.error("(set (FUNCTION …) VALUE) was expected")
        self._owned(action, target.items[0])
        for part in (*target.args, action.args[1]):
            self._no_lookup(part)

    def _no_lookup(self, e: Expr) -> None:
        """What is made must not ask a table, which may hold no such row."""
        if isinstance(e, Atom):
            return
        if e.head in self.functions:
            raise e.place.error(
                f"{e} may have no value where a term is made; bind it in the facts "
                f"instead, as (= {e.head[0]} {e}), and use {e.head[0]} here"
            )
        for part in e.args:
            self._no_lookup(part)

    def _rewrite(self, form: Form, notes: Notes) -> Rule:
        if len(form.items) < 3:
            raise form.place.error(f"({form.head} LEFT RIGHT …) was expected")
        allowed = (":when", ":ruleset", ":name", ":subsume")
        options = self._options(form, allowed)
        name = self._name(options, form)
        left, right = form.items[1], form.items[2]
        contract = contract_of(form, notes)
        both = form.head == "birewrite"
        if isinstance(left, Atom) or (both and isinstance(right, Atom)):
            raise form.place.error(f"{name}: a lone variable matches every term")
        self._term(left)
        check_pattern(left, name)
        if both:
            check_pattern(right, name)
        self._term(right)
        self._no_lookup(right)
        when = self._when(options, name)
        check_contract(form, name, when, contract)
        check_bound(form, name, left, right, when, both)
        if ":subsume" in options:
            check_subsume(options[":subsume"], name, left, right, both)
        made = Rule(
            name, str(options[":ruleset"]), form.place, left, right, when, both,
            ":subsume" in options,
            contract, notes.doc,
            examples(notes, "fires"), examples(notes, "skips"),
            any_size(notes), rtol(notes), one_way(notes),
        )  # fmt: skip
        if not self.later:
            _ = made.fires, made.skips
        return made

    def _premise(self, fact: Expr) -> None:
        if isinstance(fact, Atom):
            raise fact.place.error(f"a fact such as (= a b) was expected, found {fact}")
        self._term(fact)

    def _options(self, form: Form, allowed: Sequence[str]) -> dict[str, Expr]:
        """The options behind the first two parts of a rule, each given once."""
        out: dict[str, Expr] = {}
        rest = list(form.items[3:])
        while rest:
            key = rest.pop(0)
            word = str(key)
            if word in out:
                raise key.place.error(f"{word} is given twice; leave one out")
            if word not in allowed or not (rest or word == ":subsume"):
                raise key.place.error(
                    f"one of {', '.join(allowed)} and a value expected, found {key}"
                )
            out[word] = key if word == ":subsume" else rest.pop(0)
        ruleset = out.get(":ruleset")
        # `facts` runs to a fixpoint after every step, so a rule in it may never end.
        open_ = [r for r in self.rulesets if self.core or r != "facts"]
        if ruleset is None or str(ruleset) not in open_:
            known = ", ".join(open_)
            raise (ruleset or form).place.error(
                f":ruleset expected, one of {known}; declare others with (ruleset NAME)"
            )
        return out

    def _name(self, options: dict[str, Expr], form: Form) -> str:
        given = options.get(":name")
        if not isinstance(given, Atom) or not given.is_string:
            raise form.place.error('every rule is named: add :name "some-name"')
        name = given.string
        if not re.fullmatch(r"[a-z0-9]+(-[a-z0-9]+)*", name):
            raise given.place.error(f"rule names are kebab-case, found {name!r}")
        if name in self.names:
            raise given.place.error(
                f"{name!r} names the rule at {self.names[name]} already; choose another"
            )
        self.names[name] = form.place
        return name

    def _when(self, options: dict[str, Expr], name: str) -> tuple[Expr, ...]:
        when = options.get(":when")
        if when is None:
            return ()
        if not isinstance(when, Form):
            raise when.place.error(f"{name}: :when takes a list of facts")
        for fact in when.items:
            self._premise(fact)
            bad = heads(fact) & frozenset(SIGNATURES)
            if bad:
                raise fact.place.error(
                    f"{name}: put the pattern ({min(bad)} …) into the left side; "
                    ":when holds facts and arithmetic, so that a step shows its reason"
                )
        return when.items

    def _term(self, e: Expr, places: int | None = None) -> None:
        """Every head known, arities right, symbols no globals of the engine.

        `places`: it is the body of a primitive of so many inputs, which are its only
        variables: `_0`, `_1` and so on.
        """
        if isinstance(e, Atom):
            check_variable(e, places)
            return
        if e.head == "" or (e.head not in self.heads and e.head not in BUILTINS):
            raise e.place.error(
                f"({e.head or '…'} …) is not known here; constructors, functions and "
                "primitives are declared in rules/ir.egg or earlier in this file"
            )
        if e.head == "unstable-fn":
            self._function_name(e)
        arity = self.heads.get(e.head)
        if arity is not None and arity != len(e.args):
            raise e.place.error(
                f"{e.head} takes {arity} arguments, found {len(e.args)}"
            )
        check_words(e)
        for a in e.args:
            self._term(a, places)

    def _function_name(self, e: Form) -> None:
        first = e.args[0] if e.args else None
        known = first.string if isinstance(first, Atom) and first.is_string else ""
        if known not in self.heads and known not in BUILTINS:
            raise e.place.error(f"unstable-fn names a known function, found {first}")
