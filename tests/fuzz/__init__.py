"""Random JAX programs, run by an exact interpreter and held against redzone's facts and verdicts."""
