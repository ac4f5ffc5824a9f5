"""The ASGI application that a web server runs: pages go to Django, the two sockets to their consumers, static files to
memory, /mcp to the MCP server."""

import os
from typing import cast

from asgiref.typing import ASGI3Application, ASGIReceiveCallable, ASGISendCallable, HTTPScope, WebSocketScope
from django.conf import settings
from django.core.asgi import get_asgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "median_site.settings")
django = cast(ASGI3Application, get_asgi_application())

# Models can be imported only now.
from conversations.channels import widget_consumer, widget_pushes  # noqa: E402
from median_site.api import waiting  # noqa: E402
from median_site.dashboard import consumers, pushes  # noqa: E402
from median_site.lib import assets, sockets  # noqa: E402
from median_site.mcp import door as mcp  # noqa: E402

pushes.register()
widget_pushes.register()

pages = waiting.holding(django)
SOCKETS = {"/live/": consumers.live, "/widget/live/": widget_consumer.live}


async def application(scope: HTTPScope | WebSocketScope, receive: ASGIReceiveCallable, send: ASGISendCallable) -> None:
    """One request or one socket."""
    if scope["type"] == "websocket":
        await SOCKETS.get(scope["path"], sockets.refuse)(scope, receive, send)
    elif scope["path"].startswith(settings.STATIC_URL):
        await assets.serve(scope, receive, send)
    elif scope["path"] == mcp.PATH:
        await mcp.serve(scope, receive, send)
    else:
        await pages(scope, receive, send)
