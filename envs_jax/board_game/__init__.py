"""Games on a board against a scripted opponent."""
