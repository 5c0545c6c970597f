"""The commands of `redzone` besides check, one module each."""
