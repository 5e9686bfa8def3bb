"""What a scheduled program takes on a GPU: speeds, accesses, and the whole price."""
