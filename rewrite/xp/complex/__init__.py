"""Complex arrays: pairs of real ones, which graphs, rules and kernels see."""
