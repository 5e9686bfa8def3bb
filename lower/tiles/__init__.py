"""Tile programs: what one group of threads does, tile by tile, without threads."""
