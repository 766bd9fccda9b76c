"""Counting what is seen."""
