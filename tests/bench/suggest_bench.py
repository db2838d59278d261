#!/usr/bin/env python3
"""Figures of open ensembles: suggest_bench.py SOCKET FOLDER PAUSED ALONE INSIDE. See suggest.sh."""
import http.client
import json
import os
import socket
import sqlite3
import statistics
import sys
import threading
import time

SOCKET, FOLDER, PAUSED, ALONE, INSIDE = sys.argv[1:]
CLIENTS, CALLS, ROWS, ROUNDS = 16, 2000, 100, 40


def connect():
    connection = http.client.HTTPConnection("stretto")
    connection.sock = socket.socket(socket.AF_UNIX)
    connection.sock.connect(SOCKET)
    return connection


def call(connection, method, path, body=None):
    connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
    reply = connection.getresponse()
    data = reply.read()
    if reply.status >= 300:
        sys.exit(f"{method} {path}: {reply.status} {data[:300]}")
    return json.loads(data)


def tell(name, value):
    print(json.dumps({"name": name, "value": value}), flush=True)


def suggest(connection, ensemble, files):
    return call(connection, "POST", f"/v1/ensembles/{ensemble}/suggestions",
                {"suggestions": [{"name": os.path.basename(file), "parameters": {"file": file}} for file in files]})


def client(number):
    connection = connect()
    for n in range(CALLS // CLIENTS):
        suggest(connection, PAUSED, [f"/c{number}-{n}"])


def commits():
    database = sqlite3.connect(f"{FOLDER}/baseline.db", isolation_level=None)
    database.execute("PRAGMA journal_mode=WAL")
    database.execute("PRAGMA synchronous=FULL")
    database.execute("CREATE TABLE trial (id INTEGER PRIMARY KEY, parameters TEXT)")
    begun = time.monotonic()
    for n in range(500):
        database.execute("INSERT INTO trial (parameters) VALUES (?)", (json.dumps({"file": f"/{n}"}),))
    return 500 / (time.monotonic() - begun)


class Ends(threading.Thread):
    """When the event of each member's end came."""

    def __init__(self, ensemble):
        super().__init__(daemon=True)
        self.came, self.news = {}, threading.Condition()
        self.connection = connect()
        self.connection.request("GET", f"/v1/events?ensemble={ensemble}&kind=attempt.ended", headers={"Accept": "text/event-stream"})
        self.reply = self.connection.getresponse()

    def run(self):
        for line in self.reply:
            if line.startswith(b"data:"):
                now = time.time()
                with self.news:
                    self.came[json.loads(line[5:])["member"]] = now
                    self.news.notify()


def times(ensemble, kind):
    """Of one member after another, how long after its suggestion it begins, and after its end its event comes; in ms."""
    ends, connection, starts, events = Ends(ensemble), connect(), [], []
    ends.start()
    for n in range(ROUNDS + 1):
        file, sent = f"{FOLDER}/{kind}-{n}", time.time()
        index = suggest(connection, ensemble, [file])["suggestions"][0]["index"]
        with ends.news:
            if not ends.news.wait_for(lambda: index in ends.came, 120):
                sys.exit(f"member {index} of ensemble {ensemble} does not end")
        with open(file) as lines:
            first, last = map(float, lines)
        if n > 0:  # the first one waits for the allocation
            starts.append(1000 * (first - sent))
            events.append(1000 * (ends.came[index] - last))
    return starts, events


one = connect()
call(one, "POST", f"/v1/ensembles/{PAUSED}/pause")
tell("commits", commits())
clients = [threading.Thread(target=client, args=(number,)) for number in range(CLIENTS)]
begun = time.monotonic()
for thread in clients:
    thread.start()
for thread in clients:
    thread.join()
tell("calls", CALLS / (time.monotonic() - begun))
begun = time.monotonic()
for n in range(100):
    suggest(one, PAUSED, [f"/r{n}-{row}" for row in range(ROWS)])
tell("rows", 100 * ROWS / (time.monotonic() - begun))
if call(one, "GET", f"/v1/ensembles/{PAUSED}")["count"] != CALLS + 100 * ROWS:
    sys.exit("suggestions are missing")
alone, _ = times(ALONE, "alone")
inside, events = times(INSIDE, "inside")
tell("alone", statistics.median(alone))
tell("inside", statistics.median(inside))
tell("inside-worst", max(inside))
tell("event", statistics.median(events))
tell("event-worst", max(events))
