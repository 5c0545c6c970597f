"""What every test shares: the CPU, so that a run means the same on any machine."""

import os

os.environ.setdefault("JAX_PLATFORMS", "cpu")
