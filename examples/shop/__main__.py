"""`python -m examples.shop`: reads the options and serves the shop until it is told to stop."""

import argparse
import logging
import os
import sys
from datetime import UTC, datetime

from median_tools.server import Server

from examples.shop.call_log import CallLog
from examples.shop.records import fernhill
from examples.shop.sessions import Median
from examples.shop.site import Site
from examples.shop.tools import shop_tools


def main(arguments: list[str]) -> int:
    """The exit code: 0 after a clean stop, 1 when the port cannot be had; argparse leaves with 2."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    parser = _parser()
    options = parser.parse_args(arguments)
    shop, log = fernhill(datetime.now(UTC).date()), CallLog()
    try:
        tools = shop_tools(shop, secret=options.secret, issuer=options.issuer, after_call=log.add)
    except (ImportError, ValueError) as error:
        parser.error(f"{error} (see --secret and --issuer)")
    site = Site(shop, tools=tools.wsgi, log=log, median=_median(parser, options))
    try:
        server = Server(site, host=options.host, port=options.port)
    except OSError as error:
        sys.stderr.write(f"The shop cannot listen on {options.host}:{options.port}: {error.strerror}\n")
        return 1
    with server:
        sys.stdout.write(
            f"Fernhill shop   {server.url}/\nTool endpoint   {server.url}/tools\nCalls received  {server.url}/log\n"
        )
        sys.stdout.flush()
        server.run()
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m examples.shop",
        description="Fernhill, a demo shop with ten tools for Median's agent and the chat widget on its pages.",
        epilog="Every option can also come from the environment variable in its description.",
    )
    add = parser.add_argument
    add("--host", default=os.environ.get("SHOP_HOST", "127.0.0.1"), help="address to listen on (SHOP_HOST)")
    add("--port", type=int, default=os.environ.get("SHOP_PORT", "8765"), help="port, 0 for any free one (SHOP_PORT)")
    add("--secret", default=_environment("SHOP_SECRET"), help="the endpoint's secret, whsec_… (SHOP_SECRET)")
    add("--issuer", default=_environment("SHOP_ISSUER"), help="the workspace's URL, to check the JWT (SHOP_ISSUER)")
    add("--median", default=_environment("MEDIAN_URL"), help="Median's URL, for the chat (MEDIAN_URL)")
    add("--api-key", default=_environment("MEDIAN_API_KEY"), help="an API key, mdn_… (MEDIAN_API_KEY)")
    add(
        "--widget",
        default=_environment("MEDIAN_WIDGET_URL"),
        help="the widget's page, MEDIAN/widget/ by default (MEDIAN_WIDGET_URL)",
    )
    return parser


def _environment(name: str) -> str | None:
    return os.environ.get(name) or None


def _median(parser: argparse.ArgumentParser, options: argparse.Namespace) -> Median | None:
    if not options.median and not options.api_key:
        return None
    if not (options.median and options.api_key):
        parser.error("the chat needs both --median and --api-key")
    return Median(options.median, options.api_key, options.widget or f"{options.median.rstrip('/')}/widget/")


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
