"""A daemon whose answers are written down, for tests of what `stretto` asks for and of what it makes of the answers.

    canned.py SOCKET ANSWERS ASKED

Each line of the file ANSWERS is an answer: METHOD PATH STATUS BODY, or @FILE for what is in a file. Of several to the same request the
first is given first, and the last one from then on. The requests go into the file ASKED, each as METHOD PATH BODY. Both files are
read anew for each request, so that a test may write them anew.
"""
import http.server
import os
import socketserver
import sys
import threading

SOCKET, ANSWERS, ASKED = sys.argv[1:]
LOCK = threading.Lock()
UNKNOWN = ("404", '{"code": "no_answer", "detail": "No answer to this is written down."}')


class Answers(http.server.BaseHTTPRequestHandler):
    def answer(self):
        size = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(size).decode(errors="replace").replace("\n", " ")
        request = f"{self.command} {self.path}"
        with LOCK:
            with open(ANSWERS, encoding="utf-8") as file:
                words = [line.rstrip("\n").split(" ", 3) for line in file]
            known = [line[2:] for line in words if " ".join(line[:2]) == request]
            with open(ASKED, "a+", encoding="utf-8") as file:
                file.seek(0)
                before = sum(" ".join(line.split(" ", 2)[:2]).rstrip("\n") == request for line in file)
                file.write(f"{request} {body}".rstrip() + "\n")
            with open(f"{ASKED}.headers", "a", encoding="utf-8") as file:
                file.write("".join(f"{name}: {value}\n" for name, value in self.headers.items()))
        status, text = (known or [UNKNOWN])[min(before, len(known or [UNKNOWN]) - 1)]
        data = text.encode()
        if text.startswith("@"):
            with open(text[1:], "rb") as file:
                data = file.read()
        self.send_response(int(status))
        self.send_header("Content-Type", "application/json" if int(status) < 400 else "application/problem+json")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    do_GET = do_POST = do_PATCH = do_DELETE = answer

    def address_string(self):
        return "socket"

    def log_message(self, *arguments):  # pylint: disable=arguments-differ
        pass


class Server(socketserver.ThreadingMixIn, socketserver.UnixStreamServer):
    daemon_threads = True


os.makedirs(os.path.dirname(SOCKET), exist_ok=True)
Server(SOCKET, Answers).serve_forever()
