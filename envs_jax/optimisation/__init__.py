"""The best of many ways."""
