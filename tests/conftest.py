"""What every test shares: the CPU, so that a run means the same on any machine."""

import os

import pytest

from redzone import twins

os.environ.setdefault("JAX_PLATFORMS", "cpu")
# A stage that fails is no unknown here, it is a mistake.
os.environ["REDZONE_RAISES"] = "1"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    if twins.in_use():
        skip = pytest.mark.skip(reason="the engine is compiled: REDZONE_COMPILED=0 runs this one")
        for item in items:
            if item.get_closest_marker("changes_the_engine"):
                item.add_marker(skip)
