"""What tensor ops mean to a solver, and the language of primitives."""
