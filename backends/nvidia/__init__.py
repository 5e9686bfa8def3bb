"""What only an NVIDIA GPU has: its compiler, its library of products, its engine."""
