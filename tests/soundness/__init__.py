"""That what redzone claims is true: laws of the lattice, rules against points, wrong twins caught, random programs."""
