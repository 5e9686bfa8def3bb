"""Products of matrices and convolutions by tiles."""
