"""The optimum of small regions, all kernels enumerated: what moves fall short of."""
