"""Several agents on one board: MAPF-FrozenLake (arXiv:2606.17682) as single moves and as whole plans."""
