"""Stands in for the web server: answers everything on the socket it is handed."""

import http.server
import socket
import sys


class Answer(http.server.BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.end_headers()


server = http.server.HTTPServer(("127.0.0.1", 0), Answer, bind_and_activate=False)
server.socket = socket.socket(fileno=int(sys.argv[sys.argv.index("--fd") + 1]))
server.serve_forever()
