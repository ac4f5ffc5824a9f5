"""Fernhill, a shop for coffee goods: what a company's side of Median looks like. Served with the SDK in `sdk/`."""

import sys
from pathlib import Path

# So that the example runs from a checkout. An installed median-tools comes first.
sys.path.append(str(Path(__file__).parents[2] / "sdk" / "src"))
