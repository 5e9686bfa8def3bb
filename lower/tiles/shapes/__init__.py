"""Shapes of tiles of products: which there are, and which of them are tried."""
