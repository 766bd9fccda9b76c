"""Square matrices of digits, rearranged."""
