"""Stands in for Django's commands: answers what the launcher asks, then lives until it is told to stop."""

import json
import os
import subprocess
import sys
import time
from pathlib import Path

FACTS = {
    "workspace": "Fernhill",
    "teammates": [{"name": "Sam", "email": "sam@fernhill.example", "password": "open sesame"}],
    "shop_secret": "shop secret",
    "api_key": "api key",
    "issuer": "fernhill",
    "widget_url": "http://127.0.0.1/widget.js",
}

Path("var", "environments").mkdir(exist_ok=True)
Path("var", "environments", sys.argv[1]).write_text(json.dumps(dict(os.environ)))
if sys.argv[1] == "prepare_demo":
    sys.stdout.write(f"Migrating.\n{json.dumps(FACTS)}\n")
    sys.exit()
if sys.argv[1] == "agent":  # a process that has left the group, as a browser or a tool might
    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
while True:
    time.sleep(1)
