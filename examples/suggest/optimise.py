#!/usr/bin/env python3
"""Looks for the parameters with which members of an open ensemble report the least value of a metric.

    optimise.py ID METRIC TRIALS NAME=LOW..HIGH...

It suggests trials at random at first, and then near the best ones, ever nearer. It may be ended at any moment and
started again: what it knows it reads from the daemon, and a trial that has a name is made once."""
import http.client
import json
import os
import random
import socket
import sys
import time

AHEAD = 8  # trials that wait or run while it thinks
STATE = os.environ.get("XDG_STATE_HOME", os.path.expanduser("~/.local/state"))
SOCKET = os.environ.get("STRETTO_URL", f"unix:{STATE}/stretto/stretto.sock").removeprefix("unix:")

def call(method, path, body=None):
    """Calls the daemon, again and again while it is away. Returns the status and the answer."""
    while True:
        connection = http.client.HTTPConnection("stretto")
        try:
            connection.sock = socket.socket(socket.AF_UNIX)
            connection.sock.connect(SOCKET)
            connection.request(method, path, body and json.dumps(body), {"Content-Type": "application/json"})
            reply = connection.getresponse()
            if reply.status < 500:
                return reply.status, json.loads(reply.read())
        except (OSError, http.client.HTTPException):
            pass
        finally:
            connection.close()
        time.sleep(0.5)

class Optimiser:
    def __init__(self, metric, space):
        self.metric, self.space, self.known = metric, space, []

    def suggest(self, number):
        draw = random.Random(number)
        best = sorted(self.known, key=lambda one: one[0])[:1 + len(self.known) // 10]
        if not best or draw.random() < 0.2:
            return {name: draw.uniform(low, high) for name, (low, high) in self.space.items()}
        centre, near = draw.choice(best)[1], 1 / (2 + len(self.known) / 8)
        return {name: min(high, max(low, draw.gauss(centre[name], near * (high - low))))
                for name, (low, high) in self.space.items()}

    def ingest(self, results):
        for result in results:
            value = result["metrics"].get(self.metric, {}).get("last")
            if result["state"] == "succeeded" and isinstance(value, (int, float)):  # NaN is null, and infinity is text
                self.known.append((value, result["parameters"], result["index"]))

def main(ensemble, metric, trials, *space):
    path = f"/v1/ensembles/{ensemble}"
    ranges = {name: tuple(map(float, ends.split(".."))) for name, ends in (text.split("=") for text in space)}
    optimiser, after, ended, suggested = Optimiser(metric, ranges), 0, set(), call("GET", path)[1]["count"]
    while len(ended) < int(trials):
        page = call("GET", f"{path}/results?after={after}&limit=1000")[1]
        optimiser.ingest(page["results"])
        after, ended = page["next"], ended | {result["index"] for result in page["results"]}
        numbers = range(suggested, min(int(trials), len(ended) + AHEAD))
        if numbers:
            status, answer = call("POST", f"{path}/suggestions", {"suggestions": [
                {"name": f"trial-{number}", "parameters": optimiser.suggest(number)} for number in numbers]})
            if status >= 400 and answer["code"] != "suggestion_conflict":  # made by a former life of this program
                sys.exit(answer["detail"])
            suggested = call("GET", path)[1]["count"]
        elif not page["results"]:
            time.sleep(0.2)
    call("POST", f"{path}/close")
    value, parameters, index = min(optimiser.known, key=lambda one: one[0])
    print(f"best: {ensemble}.{index} {metric} {value:.6g} {json.dumps(parameters)}")

main(*sys.argv[1:])
