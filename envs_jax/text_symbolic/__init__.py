"""Words, codes and numbers that are guessed or spelled."""
