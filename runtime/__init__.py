"""What people type and the processes under it: bin/demo, bin/test, bin/check, bin/bench.

Python's standard library alone, since this runs before any package is installed; nothing here knows Django.
"""

import os
import sys

# Read by every Python 3, however old: this line must be able to say what is wrong.
if sys.version_info < (3, 11) or os.name != "posix":
    sys.exit(
        "Median needs Python 3.11 or newer on Linux or macOS; this is Python %d.%d (%s).\n"  # noqa: UP031  # older Pythons read this line, too
        "If a newer one is installed, name it: python3.12 %s" % (*sys.version_info[:2], sys.executable, sys.argv[0])
    )
