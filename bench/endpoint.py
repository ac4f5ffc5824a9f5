"""The endpoint that the benchmarks call: a bare HTTP/1.1 server, as fast as this machine lets it be.

A path that ends in a number waits so many milliseconds first.
"""

import asyncio
import sys

ANSWER = b'{"refunded":true,"amount":48}'
RESPONSE = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(ANSWER), ANSWER)


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            sizes = [line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            await reader.readexactly(int(sizes[0]) if sizes else 0)
            last = head.split(b" ", 2)[1].rpartition(b"/")[2]
            if last.isdigit():
                await asyncio.sleep(int(last) / 1000)
            writer.write(RESPONSE)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=512)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/tools\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
