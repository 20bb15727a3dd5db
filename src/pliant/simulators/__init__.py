"""Sources of draws."""
