"""Games of cards, in which decisions count and not luck."""
