"""Loops from a plan of a kernel: what most families are made of."""
