"""An ASGI app for a real server to load: two tools, one of them async, mounted as they are."""

import os

from median_tools import define

app = define(secret=os.environ["TEST_SECRET"])


@app.tool(description="Says what it was given.")
def echo(text: str) -> str:
    return text


@app.tool(description="Says it later.")
async def echo_later(text: str) -> str:
    return text
