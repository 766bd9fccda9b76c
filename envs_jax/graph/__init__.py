"""What lies next to what."""
