"""Rules that carry one pattern to the next."""
