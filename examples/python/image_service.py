#!/usr/bin/env python3
"""A small image service, for trying `genscope bench load` and for tests. Standard library only.

image_service.py [--port N] [--tinydiff PROGRAM] [--workers N] [--seconds S] [--tls FILE]

  POST /v1/images/generations   OpenAI's shape: {"prompt": ...} -> {"data": [{"b64_json": PNG}]}
  POST /v1/chat/completions     OpenAI's shape; with "stream": true as server-sent events
  POST /prompt, GET /history/ID ComfyUI's shape
  GET  /health                  200 once it is up
  GET  /stats                   {"requests": N}: how many it has answered, for comparison

With --tinydiff pictures are made by the small diffusion pipeline of examples/tinydiff; without it a
gradient is drawn after S seconds. --workers pictures are made at once, others wait, as for a GPU.
Prints its address and listens on the loopback address only.
"""
import argparse
import base64
import json
import ssl
import struct
import subprocess
import sys
import tempfile
import threading
import time
import zlib
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


def gradient_png(size, seed):
    """A picture without a model: rows of a gradient that the seed shifts."""
    rows = b"".join(b"\0" + bytes((x * 2 + y + seed * 7 + c * 50) % 256 for x in range(size) for c in range(3))
                    for y in range(size))

    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    return (b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", struct.pack(">IIBBBBB", size, size, 8, 2, 0, 0, 0)) +
            chunk(b"IDAT", zlib.compress(rows)) + chunk(b"IEND", b""))


class Service:
    def __init__(self, arguments):
        self.arguments = arguments
        self.workers = threading.Semaphore(arguments.workers)
        self.lock = threading.Lock()
        self.requests = 0
        self.history = {}

    def picture(self, body):
        with self.workers:
            if not self.arguments.tinydiff:
                time.sleep(self.arguments.seconds)
                return gradient_png(32, int(body.get("seed") or 0))
            with tempfile.NamedTemporaryFile(suffix=".png") as file:
                subprocess.run([self.arguments.tinydiff, "--steps", str(body.get("steps", 4)), "--seed",
                                str(body.get("seed") or 0), "--out", file.name],
                               check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
                return file.read()

    def count(self):
        with self.lock:
            self.requests += 1
            return self.requests


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True  # or small pieces wait 40 ms for the other side
    service = None

    def log_message(self, *arguments):
        pass

    def answer(self, value, status=200):
        data = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self):
        if self.path == "/health":
            return self.answer({"ok": True})
        if self.path == "/stats":
            return self.answer({"requests": self.service.requests})
        if self.path.startswith("/history/"):
            done = self.service.history.get(self.path.rsplit("/", 1)[1])
            return self.answer({self.path.rsplit("/", 1)[1]: done} if done else {})
        return self.answer({"error": "no such path"}, 404)

    def do_POST(self):
        try:
            body = json.loads(self.rfile.read(int(self.headers.get("Content-Length", 0))))
        except ValueError:
            return self.answer({"error": "not JSON"}, 400)
        number = self.service.count()
        if self.path == "/v1/images/generations":
            picture = base64.b64encode(self.service.picture(body)).decode()
            return self.answer({"created": int(time.time()), "data": [{"b64_json": picture}]})
        if self.path == "/v1/chat/completions":
            return self.chat(body)
        if self.path == "/prompt":
            threading.Thread(target=self.draw, args=(str(number), body)).start()
            return self.answer({"prompt_id": str(number), "number": number, "node_errors": {}})
        return self.answer({"error": "no such path"}, 404)

    def draw(self, name, body):
        self.service.picture(body)
        self.service.history[name] = {"outputs": {"9": {"images": [{"filename": name + ".png"}]}},
                                      "status": {"status_str": "success", "completed": True, "messages": []}}

    def chat(self, body):
        words = ["A", " red", " cube", "."]
        usage = {"prompt_tokens": 4, "completion_tokens": len(words)}
        if not body.get("stream"):
            return self.answer({"choices": [{"message": {"content": "".join(words)}}], "usage": usage})
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for word in words:
            time.sleep(self.service.arguments.seconds / len(words))
            self.event({"choices": [{"delta": {"content": word}, "finish_reason": None}]})
        self.event({"choices": [{"delta": {}, "finish_reason": "stop"}], "usage": usage})
        self.chunk(b"data: [DONE]\n\n")
        self.chunk(b"")

    def event(self, value):
        self.chunk(b"data: " + json.dumps(value).encode() + b"\n\n")

    def chunk(self, data):
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()


class Server(ThreadingHTTPServer):
    daemon_threads = True
    request_queue_size = 512

    def handle_error(self, request, client_address):
        if not isinstance(sys.exc_info()[1], (ConnectionError, ssl.SSLError)):  # who asked is gone: no fault of ours
            super().handle_error(request, client_address)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--port", type=int, default=0)
    parser.add_argument("--tinydiff", help="program that makes the pictures")
    parser.add_argument("--workers", type=int, default=1)
    parser.add_argument("--seconds", type=float, default=0.05)
    parser.add_argument("--tls", metavar="FILE", help="speak https with the certificate and the key in this PEM file")
    arguments = parser.parse_args()
    Handler.service = Service(arguments)
    server = Server(("127.0.0.1", arguments.port), Handler)
    if arguments.tls:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(arguments.tls)
        # The handshake is for the thread of the connection: it must not hold up the next.
        server.socket = context.wrap_socket(server.socket, server_side=True, do_handshake_on_connect=False)
    print(f"{'https' if arguments.tls else 'http'}://127.0.0.1:{server.server_port}", flush=True)
    server.serve_forever()


if __name__ == "__main__":
    main()
