"""What the posterior can be, and how it is fitted."""
