"""What the process's log must not hold."""

import logging
import re
from typing import Final

# A long part of a path that is neither a number nor one of our ids, which are small: it may be what lets somebody in.
_TOKEN: Final = re.compile(r"(?<=/)(?=[^/]*[A-Z_:-])[^/]{20,}")


class WithoutTokens(logging.Filter):
    """Django tells the path of each request that failed; some end in a secret."""

    def filter(self, record: logging.LogRecord) -> bool:
        if isinstance(record.args, tuple):
            record.args = tuple(_TOKEN.sub("…", each) if isinstance(each, str) else each for each in record.args)
        return True
