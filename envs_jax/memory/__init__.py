"""What has been seen and is no longer shown."""
