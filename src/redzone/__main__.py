"""`python -m redzone`."""

from redzone.cli import main

main(prog_name="redzone")
