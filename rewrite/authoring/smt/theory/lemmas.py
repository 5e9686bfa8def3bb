"""The named facts that proofs rest on beside the solver's own theories.

Each is stated once here, with the reason it holds; `test_smt_theories.py` and
`test_smt_laws.py` prove or exhaust what can be.  A proof lists the names of those that
it used.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Lemma:
    name: str
    says: str
    because: str


LEMMAS = {
    lemma.name: lemma
    for lemma in (
        Lemma(
            "fold-once", "a fold over folds of its own monoid is one fold",
            "associative and commutative monoids: Fubini for finite families",
        ),
        Lemma(
            "fold-one", "a fold of one element is that element",
            "the identity law; of sums of floats -0.0 may become 0.0",
        ),
        Lemma(
            "fold-split", "a fold over a range is the folds over its parts, joined",
            "associativity; the fold of an empty part is the identity",
        ),
        Lemma(
            "fold-none", "a fold of no elements is the monoid's identity",
            "its definition",
        ),
        Lemma(
            "fold-copies", "x with itself is x: an idempotent fold over some copies "
            "of x is x",
            "induction over the copies, of which there is one at least",
        ),
        Lemma(
            "sum-copies", "a sum of n copies of x is n x",
            "induction over n, in any commutative ring",
        ),
        Lemma(
            "sum-linear", "Σ (a + b) = Σ a + Σ b, and Σ c a = c Σ a where c does not "
            "vary",
            "induction over the elements, in any commutative ring",
        ),
        Lemma(
            "fold-alike", "folds of one monoid over index sets with a bijection "
            "between them that keeps the element are equal",
            "commutativity; for exact contracts the bijection keeps the order too",
        ),
        Lemma(
            "max-shift", "max (a + c) = max a + c where c does not vary, of some a",
            "x -> x + c is monotone and onto; induction over the elements",
        ),
        Lemma(
            "max-scale", "max (c a) = c max a for c >= 0, c min a for c <= 0, of some "
            "a",
            "x -> c x is monotone, or antitone; induction over the elements",
        ),
        Lemma(
            "max-rising", "max f(a) = f(max a), min f(a) = f(min a) for f that does "
            "not fall, of some a; so of two",
            "max and min pick one of their elements; induction over the elements",
        ),
        Lemma(
            "ring", "an identity of polynomials with integer coefficients holds for "
            "integers of any width, which wrap",
            "Z / 2^w is a commutative ring, and Z -> Z / 2^w a homomorphism",
        ),
        Lemma(
            "narrowing", "what wraps in a wide accumulator and is cut to a narrow "
            "integer is what wraps in the narrow one",
            "Z / 2^v -> Z / 2^w is a homomorphism of rings for w <= v",
        ),
        Lemma(
            "divisors", "no divisor is 0",
            "`real` rules are equalities of finite intermediates (rules/README.md)",
        ),
        Lemma(
            "power", "x ** n is a product of n factors, x ** -p is 1 / x ** p, "
            "x ** 0.5 is the square root",
            "definition of powers of real numbers, where they are finite",
        ),
        Lemma(
            "composite", "a composite opcode is its expansion",
            "egraph/ir/scalars.py defines it so; over the reals nothing is rounded",
        ),
        Lemma(
            "no-nan", "isnan of what analysis found free of NaN is false",
            "egraph/saturate/facts.py, which takes the inputs to be finite",
        ),
        Lemma(
            "widening", "a cast after one that keeps every value is a cast",
            "conversion to a dtype is a function of the value (IEEE 754-2019, 5.4.2); "
            "`widens` holds the pairs that keep all values",
        ),
        Lemma(
            "bits", "the bits of bits are the bits",
            "a bitcast keeps the bit pattern",
        ),
        Lemma(
            "constant-cast", "a number held by both dtypes is cast to itself",
            "egraph/saturate/encode.py: a Const is exact for its dtype",
        ),
        Lemma(
            "signs", "negation and |x| act on the sign bit; the sign of a product or "
            "quotient is the product of the signs; |x| |x| = x x",
            "IEEE 754-2019, 5.5.1 and 6.3; to nearest even is symmetric about 0",
        ),
        Lemma(
            "subtraction", "a - b is a + -b",
            "IEEE 754-2019, 5.4.1: both round the exact difference",
        ),
        Lemma(
            "commuted", "a + b = b + a and a b = b a",
            "both round one exact value; of two NaNs the payload is aside",
        ),
        Lemma(
            "unit", "x * 1 = x, x / 1 = x, x ** 1 = x, x - 0 = x, x * -1 = -x, "
            "x + x = x * 2, x ** 0 = 1, 1 ** x = 1",
            "the exact result is representable, or both round the same one; IEEE "
            "754-2019, 9.2.1, of powers",
        ),
        Lemma(
            "truth-values", "a truth value cast to a dtype of numbers and on is "
            "cast at once",
            "every dtype holds 0 and 1",
        ),
        Lemma(
            "monotone-cast", "a cast that keeps every value keeps their order: "
            "comparisons, max and min are those of the values",
            "`widens` holds the pairs that keep all values; of zeros under == only",
        ),
        Lemma(
            "de-morgan", "not any a = all not a",
            "De Morgan; induction over the elements",
        ),
        Lemma(
            "bounds", "max (max a c) = max (max a) c and max (min a c) = min (max a) c "
            "where c does not vary, of some a; so for min",
            "numbers with max and min are a distributive lattice; NaN is handed on",
        ),
        Lemma(
            "whole", "a whole number is rounded to itself",
            "IEEE 754-2019, 5.9",
        ),
        Lemma(
            "nonnegative", "|f(x)| = f(x) = max(f(x), 0) under == where f is exp, "
            "sqrt, a square, a sigmoid or their like",
            "none of them gives a number below 0; sqrt(-0.0) is -0.0",
        ),
        Lemma(
            "exact-value", "what a function gives at 0, and log and sqrt at 1, is "
            "exact where it is whole",
            "C23, annex F.10; exp 0 = 1, log 1 = 0, tanh 0 = 0",
        ),
        Lemma(
            "exponents", "exp(a + b) = exp(a) exp(b), exp(n x) = exp(x)^n, "
            "exp(-x) = 1 / exp(x), so for exp2",
            "over the reals; an exponential is never 0",
        ),
        Lemma(
            "logarithms", "log(1 / x) = -log x, log(sqrt x) = log(x) / 2, "
            "log(exp(a) x) = a + log x, so for log2",
            "over the reals, where x > 0; both sides are none elsewhere",
        ),
        Lemma(
            "near-zero", "expm1(x) = exp(x) - 1, log1p(x) = log(1 + x)",
            "their definition over the reals (C23, 7.12.6)",
        ),
        Lemma(
            "hyperbolic", "tanh(x) = 1 - 2 / (exp(x)^2 + 1)",
            "its definition over the reals; the divisor is above 1",
        ),
        Lemma(
            "circle", "sin(x)^2 = 1 - cos(x)^2",
            "Pythagoras",
        ),
        Lemma(
            "positive", "exp and exp2 are above 0, and so are sums, products and "
            "quotients of what is; a sum of some such; sqrt and |x| are at least 0",
            "over the reals",
        ),
        Lemma(
            "roots", "sqrt(1 / x) = 1 / sqrt x, sqrt(x x) = |x|, of products too",
            "over the reals; both sides are none for the same x",
        ),
        Lemma(
            "arg-scale", "argmax(c x) = argmax x for c > 0, argmin x for c < 0, so for "
            "argmin",
            "over the reals x -> c x keeps the order, or turns it, and what is equal",
        ),
        Lemma(
            "mirrored", "floor(-x) = -ceil(x), ceil(-x) = -floor(x), trunc and round "
            "of -x are those of x negated",
            "negation turns the order and keeps whole numbers; round is to even; the "
            "sign of a zero is turned on both sides (IEEE 754-2019, 5.9)",
        ),
        Lemma(
            "idempotent", "f(f(x)) = f(x) of relu and sign, and max(max(a, b), b) = "
            "max(a, b), so for min",
            "what comes out of f is left by f; of two zeros the inner choice is made "
            "again of the same operands",
        ),
        Lemma(
            "odd-even", "f(-x) = -f(x) of sin, tanh, erf, atan, sign, trunc and round, "
            "cos(-x) = cos x, |-x| = |x|",
            "over the reals; round is to even",
        ),
        Lemma(
            "embedding", "what holds of comparisons, max, min and signs in f16 holds "
            "in f8e4m3",
            "every f8e4m3 is an f16, and these operations round nothing",
        ),
        Lemma(
            "zero", "x + 0.0 = x under ==, where -0.0 is 0.0",
            "IEEE 754-2019, 6.3; only for contracts `ieee` and weaker",
        ),
        Lemma(
            "difference", "-(a - b) = b - a and -a - b = -(a + b) under ==",
            "to nearest even is symmetric about 0; a = b gives zeros of either sign",
        ),
        Lemma(
            "negated-sum", "Σ -x = -Σ x under ==",
            "to nearest even is symmetric about 0, step by step",
        ),
        Lemma(
            "negated-max", "max -x = -min x under ==, min -x = -max x",
            "x -> -x is exact and reverses the order; NaN is handed on",
        ),
    )
}  # fmt: skip
