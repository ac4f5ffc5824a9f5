"""The model of the benchmarks: a bare HTTP/1.1 server that answers every chat completion after so many seconds: in
words, or where the customer wants something looked up with a call first."""

import asyncio
import json
import sys

CALL = {"id": "1", "type": "function", "function": {"name": "orderStatus", "arguments": '{"orderNumber":"ORD-1042"}'}}


def response(message: dict[str, object]) -> bytes:
    body = json.dumps({"model": "bench", "choices": [{"message": message}]}).encode()
    return b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s" % (len(body), body)


WORDS = response({"content": "It arrives tomorrow."})
CALLS = response({"content": None, "tool_calls": [CALL]})


async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
    try:
        while True:
            head = await reader.readuntil(b"\r\n\r\n")
            sizes = [line[15:] for line in head.lower().split(b"\r\n") if line.startswith(b"content-length:")]
            body = await reader.readexactly(int(sizes[0]) if sizes else 0)
            await asyncio.sleep(float(sys.argv[1]))
            writer.write(CALLS if b"ORD-1042" in body and b'"tool_call_id"' not in body else WORDS)
    except (asyncio.IncompleteReadError, ConnectionError):
        writer.close()


async def main() -> None:
    server = await asyncio.start_server(serve, "127.0.0.1", 0, backlog=1024)
    sys.stdout.write(f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1\n")
    sys.stdout.flush()
    await server.serve_forever()


if __name__ == "__main__":
    asyncio.run(main())
