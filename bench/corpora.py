"""Which programs a run is about: the corpus beside this file, or one from elsewhere."""

from __future__ import annotations

import functools

from corpus import Program, every_program


@functools.cache
def programs_of(path: str = "") -> dict[str, Program]:
    """The programs of the external corpus file `path`, or this project's own."""
    if path:
        from shared_corpus import programs_from

        return programs_from(path)
    return every_program()
