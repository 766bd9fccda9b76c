"""Puzzles in which the order of moves is all."""
