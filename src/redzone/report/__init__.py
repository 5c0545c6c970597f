"""What a check found, and the ways to show it."""
