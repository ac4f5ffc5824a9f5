"""Stands in for the example shop."""

import http.server
import json
import os
from pathlib import Path

Path("var", "environments", "shop").write_text(json.dumps(dict(os.environ)))
address = ("127.0.0.1", int(os.environ["SHOP_PORT"]))
http.server.HTTPServer(address, http.server.SimpleHTTPRequestHandler).serve_forever()
