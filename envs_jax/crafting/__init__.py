"""Things that are made of other things."""
