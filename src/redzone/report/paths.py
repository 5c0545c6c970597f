"""File names as a person at this prompt would write them."""

from __future__ import annotations

import os


def shown_path(file: str) -> str:
    """The path relative to the current folder where that is inside it, else as it is."""
    if not os.path.isabs(file):
        return file
    relative = os.path.relpath(file)
    return file if relative.startswith(os.pardir) else relative
