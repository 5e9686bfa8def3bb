"""Whether a rule is right: sampled instances, judged by its contract."""
