"""A running program: what is checked of it, when, and what happens then."""
