"""Where checking time goes: redzone's own, and that of XLA's redzone checker in a profiler capture."""
