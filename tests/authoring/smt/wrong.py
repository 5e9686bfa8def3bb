# ruff: noqa: E501  a rule stands on as few lines as it can
"""Wrong rules, each with the contract that it claims: none may ever be proved.

Those of tests/egraph/test_rules.py come on top.
"""

# name -> (contract, the rule without its closing options)
WRONG: dict[str, tuple[str, str]] = {
    # Movement.
    "pad-two-values": ("bitwise", "(rewrite (Pad (Pad x l h v) i j u)"
        " (Pad x (vadd l i) (vadd h j) v)"),
    "pad-swapped": ("bitwise", "(rewrite (Pad (Pad x l h v) i j v)"
        " (Pad x (vadd l j) (vadd h i) v)"),
    "slice-step": ("bitwise", "(rewrite (Slice (Slice x b n d) c m e)"
        " (Slice x (vadd b c) m (vmul d e))"),
    "slice-first-off": ("bitwise", "(rewrite (Slice (Concat x y i) b n d) (Slice x b n d)"
        " :when ((= z (vec-get (shape x) i)) (= f (vec-get b i)) (= w (vec-get n i))"
        " (>= w 1) (= l (+ f (* (- w 1) (vec-get d i)))) (<= f z) (<= l z))"),
    "slice-second-off": ("bitwise", "(rewrite (Slice (Concat x y i) b n d)"
        " (Slice y (vec-set b i (+ 1 (- f z))) n d)"
        " :when ((= z (vec-get (shape x) i)) (= f (vec-get b i)) (= w (vec-get n i))"
        " (>= w 1) (= l (+ f (* (- w 1) (vec-get d i)))) (>= f z) (>= l z))"),
    "concat-swapped": ("bitwise",
        "(rewrite (Un o (Concat x y i)) (Concat (Un o y) (Un o x) i)"),
    "permute-slice-unpicked": ("bitwise", "(rewrite (Permute (Slice x b n d) p)"
        " (Slice (Permute x p) b (pick n p) (pick d p))"),
    "permute-inverse": ("bitwise", "(rewrite (Slice (Permute x p) b n d)"
        " (Permute (Slice x (pick b p) (pick n p) (pick d p)) p)"),
    "reshape-permute": ("bitwise", "(rewrite (Reshape (Permute x p) s) (Reshape x s)"),
    "expand-mask": ("bitwise", "(rewrite (Expand (Expand x s k) r l) (Expand x r k)"),
    "slice-of-all": ("bitwise", "(rewrite (Slice x b n d) x :when ((= n (shape x)))"),
    # Reductions.
    "hoist-varying": ("real", '(rewrite (Reduce "sum" (Bin "mul" x (Expand b s k)) m c)'
        ' (Bin "mul" (Reduce "sum" x m c) (Expand b (masked s m) (without k m)))'),
    "hoist-part": ("real", '(rewrite (Reduce "sum" (Bin "mul" x (Expand b s k)) m c)'
        ' (Bin "mul" (Reduce "sum" x m c)'
        ' (Expand (Reduce "max" b m c) (masked s m) (without k m)))'),
    "sum-of-max": ("real", '(rewrite (Reduce "sum" (Reduce "max" x m c) n c)'
        ' (Reduce "max" (Reduce "sum" x n c) m c)'),
    "sum-square": ("real", '(rewrite (Reduce "sum" (Bin "mul" x x) m c)'
        ' (Bin "mul" (Reduce "sum" x m c) (Reduce "sum" x m c))'),
    "sum-copies": ("real", '(rewrite (Reduce "sum" (Expand x s k) m c)'
        ' (Expand (Reduce "sum" x (without m k) c) (masked s m) (without k m))'),
    "max-neg-integers": ("bitwise", '(rewrite (Reduce "max" (Un "neg" x) m c)'
        ' (Un "neg" (Reduce "min" x m c))'),
    "max-of-sum": ("real", '(rewrite (Reduce "max" (Bin "add" x y) m c)'
        ' (Bin "add" (Reduce "max" x m c) (Reduce "max" y m c))'),
    "slice-reduce-part": ("real", "(rewrite (Slice (Reduce o x m c) b n d)"
        " (Reduce o (Slice x b n d) m c)"),
    "contract-mask": ("real", "(rewrite (Contract a b s m c)"
        ' (Reduce "sum" (Bin "mul" (Expand a s (grown x s)) (Expand b s (grown x s))) m c)'
        " :when ((= x (shape a)))"),
    "mean-count": ("real", '(rewrite (Macro1 "mean" x m 0.0)'
        ' (Bin "mul" (Reduce "sum" x m c) (Const v t r))'
        " :when ((= t (dtype x)) (floating t) (= c (wide t)) (= s (shape x))"
        " (= r (masked s m)) (= n (numel s)) (> n 0) (= k (splitter t))"
        " (= v (hold k (/ 1.0 (to-f64 n)))))"),
    "softmax-unscaled": ("real", '(rewrite (Macro1 "softmax" x m 0.0)'
        ' (Un "exp" (Bin "sub" x (Expand (Reduce "max" x m c) s m)))'
        " :when ((= t (dtype x)) (= c (wide t)) (= s (shape x)))"),
    # An equality under == is none below a reciprocal, and a quotient is no product.
    "recip-of-zero-sign": ("ieee", '(rewrite (Un "recip" (Bin "add" x (Const 0.0 t s)))'
        ' (Un "recip" x)'),
    "recip-of-max": ("ieee",
        '(rewrite (Un "recip" (Reduce "max" (Bin "add" x (Const 0.0 t s)) m c))'
        ' (Un "recip" (Reduce "max" x m c))'),
    "contract-rounds": ("bitwise",
        '(rewrite (Reduce "sum" (Bin "mul" (Expand a s k) (Expand b s l)) m c)'
        " (Contract a b s m c)"),
    "square-of-sums": ("real", '(rewrite (Reduce "sum" (Bin "mul" (Bin "mul" x'
        ' (Expand (Reduce "sum" y m c) s k)) (Expand (Reduce "sum" y m c) s k)) m c)'
        ' (Bin "mul" (Reduce "sum" x m c) (Reduce "sum" (Bin "mul" y y) m c))'
        " :when ((= s (shape y)) (= k m))"),
    # Values.
    "abs-neg-unsigned": ("bitwise", '(rewrite (Un "abs" (Un "neg" x)) (Un "abs" x)'),
    "select-swapped": ("bitwise", '(rewrite (Select (Un "not" c) x y) (Select c x y)'),
    "clamp-any": ("bitwise", '(rewrite (Bin "max" (Bin "min" x (Const a t s)) (Const b t s))'
        ' (Bin "min" (Bin "max" x (Const b t s)) (Const a t s))'),
    "divide-floats": ("bitwise", '(rewrite (Bin "div" a b) (Bin "mul" a (Un "recip" b))'),
    "associate-floats": ("bitwise",
        '(rewrite (Bin "add" (Bin "add" a b) c) (Bin "add" a (Bin "add" b c))'),
    "mul-zero-exact": ("bitwise", '(rewrite (Bin "mul" x (Const 0.0 t s)) (Const 0.0 t s)'),
    "round-trip": ("bitwise", "(rewrite (Cast (Cast x t) u) x :when ((= u (dtype x)))"),
    "pow-four": ("real", '(rewrite (Bin "pow" x (Const 4.0 t s)) (Bin "mul" x (Bin "mul" x x))'),
    "exp-sum": ("real", '(rewrite (Un "exp" (Bin "add" a b)) (Bin "add" (Un "exp" a) (Un "exp" b))'),
    # Next to laws that are known.
    "sum-pad-ones": ("real", '(rewrite (Reduce "sum" (Pad x l h (Const 1.0 t e)) m c)'
        ' (Pad (Reduce "sum" x m c) (without l m) (without h m) (Const 1.0 t e))'),
    "max-pad-zeros": ("ieee", '(rewrite (Reduce "max" (Pad x l h (Const 0.0 t e)) m c)'
        ' (Pad (Reduce "max" x m c) (without l m) (without h m) (Const 0.0 t e))'),
    "reduce-half": ("real", '(rewrite (Reduce "sum" (Concat x y i) m c)'
        ' (Reduce "sum" x m c) :when ((= 1 (vec-get m i)))'),
    "bound-of-none": ("ieee", '(rewrite (Reduce "max" (Bin "max" x (Const v t s)) m c)'
        ' (Bin "max" (Reduce "max" x m c) (Const v t (masked s m)))'),
    "cos-odd": ("real", '(rewrite (Un "cos" (Un "neg" x)) (Un "neg" (Un "cos" x))'),
    "compare-narrowed": ("bitwise",
        '(rewrite (Bin "lt" (Cast x u) (Cast y u)) (Bin "lt" x y)'),
    "cast-through-bool": ("bitwise", '(rewrite (Cast (Cast x "bool") u) (Cast x u)'),
    "neg-minus-bits": ("bitwise",
        '(rewrite (Bin "sub" (Un "neg" a) b) (Un "neg" (Bin "add" a b))'),
    "sqrt-square-plain": ("real", '(rewrite (Un "sqrt" (Bin "mul" x x)) x'),
    "any-of-not": ("bitwise",
        '(rewrite (Un "not" (Reduce "any" x m c)) (Reduce "any" (Un "not" x) m c)'),
    "shape-of-mask": ("bitwise", "(rewrite (Expand x s k) (Expand x s (ones k))"),
}  # fmt: skip

# Right over the reals, but for a constant that its dtype may not hold.
OVERFLOWING: dict[str, tuple[str, str]] = {
    "product": ("real", '(rewrite (Bin "mul" (Bin "mul" x (Const a t s)) (Const b t s))'
        ' (Bin "mul" x (Const r t s))'
        " :when ((= r (* a b)) (<= (smallest t) r) (> r (largest t)))"),
    "sum": ("bitwise", '(rewrite (Bin "add" (Bin "add" x (Const a t s)) (Const b t s))'
        ' (Bin "add" x (Const r t s)) :when ((integral t) (= r (+ a b)))'),
    "half": ("real", '(rewrite (Bin "add" (Bin "mul" x (Const 0.5 t s)) (Bin "mul" x (Const 0.5 t s)))'
        ' (Bin "mul" x (Const r t s)) :when ((= r (/ 2.0 a)) (= a (splitter t)))'),
}  # fmt: skip
