"""Tables of arithmetic in which something is hidden."""
