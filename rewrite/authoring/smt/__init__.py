"""What a tensor op means to a solver, and proofs that two terms are equal.

A tensor is a shape and a function from indices to values.  Sizes and indices are
polynomials over named integers (`egraph/ir/dims.py`); a term of a rule becomes, at each
rank, an expression of its element at a fresh index.  Reading order:

- `conditions`, `paths`: integers that are not known, and case distinctions on them
- `language`: the primitives of `rules/ir.egg`, interpreted
- `elements`, `world`, `tensors`, `reductions`, `indexing`, `macros`, `convolution`: ops
- `lengths`, `instance`, `wants`, `held`, `choices`: rules
- `lemmas`, `polynomials`, `ieee`, `folds`, `normal`: normal forms of elements
- `theories`, `values`, `equal`: equality of elements
- `spaces`, `ranks`: from some ranks to all
- `attempt`, `prover`, `concrete`, `refute`, `verdict`: what becomes of a rule
"""
