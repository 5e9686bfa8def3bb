"""Reductions over windows: what slides, tiles of it, and their loops."""
