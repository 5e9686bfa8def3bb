"""Where temporaries lie, in which order kernels run, and what is computed again."""
