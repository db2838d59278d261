"""Kills the daemon again and again, at chosen calls and at random moments, while clients ask for changes and members
run; then holds what is left against what was answered and what the members saw. Prints a report as JSON.

    kills.py --state DIR --ledger DIR --member PROGRAM --killer LIBRARY [options] -- DAEMON [ARGUMENT...]
"""
import argparse
import json
import math
import os
import random
import re
import signal
import sqlite3
import subprocess
import sys
import threading
import time

import kills_books
from kills_clients import OVER, Client, NoAnswer, NotSent, World, request

PATIENCE = int(os.environ.get("STRETTO_TEST_PATIENCE", "5"))  # for what never comes, as lib.sh has it
# What a daemon calls, and up to which time it is worth waiting for it.
CALLS = {"open": 60, "write": 300, "pwrite64": 400, "fsync": 80, "fdatasync": 80, "ftruncate": 3, "rename": 40,
         "link": 2, "unlink": 6, "mkdir": 150, "fork": 40, "bind": 2, "accept4": 80, "recv": 150, "sendmsg": 60,
         "any": 1500}


def options():
    p = argparse.ArgumentParser()
    for name in ("state", "ledger", "member", "killer"):
        p.add_argument("--" + name, required=True)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--rounds", type=int, default=100, help="lives of the daemon that end by a kill")
    p.add_argument("--calm", type=int, default=0, help="of them, those that last as long as they may, at first")
    p.add_argument("--storm", type=int, default=0, help="of them, at every N-th call of a recovery")
    p.add_argument("--runners", type=int, default=0, help="percent of the runners that are killed")
    p.add_argument("--sessions", type=int, default=0, help="members a second whose session or runner is hit")
    p.add_argument("--clients", type=int, default=3)
    p.add_argument("--think", type=float, default=0.06, help="longest pause of a client between two requests")
    p.add_argument("--live", type=int, default=12, help="ensembles under way at once, about")
    p.add_argument("--life", type=float, default=0.6, help="longest life of a daemon once it is ready")
    p.add_argument("--end", type=float, default=90, help="seconds for all to end at last")
    p.add_argument("daemon", nargs="+")
    return p.parse_args()


HITS_S = 45  # for enough hits, in a last life with chaos


class Driver:
    def __init__(self, world):
        self.world, self.o = world, world.options
        self.random = random.Random(self.o.seed)
        self.env = dict(os.environ, KILLER_LOG=self.o.ledger + "/kills",
                        LD_PRELOAD=":".join(filter(None, [os.environ.get("LD_PRELOAD"), self.o.killer])))
        if self.o.runners:
            self.env["KILLER_LOTS"] = f"{self.o.seed}:{self.o.runners}"
        self.process = None
        self.env["TMPDIR"] = self.o.ledger + "/tmp"
        os.mkdir(self.env["TMPDIR"])
        self.lives = self.unready = self.storm_calls = self.moments = self.terms = 0

    def start(self, plan):
        env = dict(self.env)
        if plan:
            env["KILLER_strettod"] = plan
        self.process = subprocess.Popen(self.o.daemon, env=env, stdin=subprocess.DEVNULL)

    def ready(self, seconds):
        """Wait until it answers that it is ready; false if it died before."""
        until = time.monotonic() + seconds * PATIENCE
        while self.process.poll() is None:
            try:
                if request(self.world.socket, "GET", "/readyz")[0] == 200:
                    return True
            except (NotSent, NoAnswer):
                pass
            if time.monotonic() > until:
                self.world.violation("test", "the daemon did not get ready")
                return False
            time.sleep(0.005)
        return False

    def plan(self):
        """The place where the next life ends: at a call, or ("") at a moment."""
        if self.random.random() < 0.15:
            return ""
        call = self.random.choice(list(CALLS))
        n = int(math.exp(self.random.uniform(0, math.log(CALLS[call]))))
        # a recovery is made of such calls, too; two in three are to come later
        late = ":late" if self.random.random() < 0.67 else ""
        return f"{call}:{n}:{self.random.choice(['before', 'after'])}{late}"

    def live(self, plan, life, enough=lambda: False):
        """Start it by the plan, and end it after so many seconds, or once there is enough."""
        self.start(plan)
        self.world.open_gate()
        ready = self.ready(60)
        if ready:
            until = time.monotonic() + life
            while time.monotonic() < until and self.process.poll() is None and not enough():
                try:
                    self.process.wait(min(0.2, max(0, until - time.monotonic())))
                except subprocess.TimeoutExpired:
                    pass
        wanted = -signal.SIGKILL
        if self.process.poll() is None:
            if ready and self.random.random() < 0.2:
                wanted = 0
                self.terms += 1
                self.process.terminate()
                plan = "SIGTERM"
            else:
                self.process.kill()
                plan = ""
            self.moments += 1
        try:
            status = self.process.wait(20 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.world.violation("test", f"life {self.lives + 1} does not end on SIGTERM")
            self.process.kill()
            status = self.process.wait()
        self.world.shut_gate()
        self.lives += 1
        if status not in (wanted, -signal.SIGKILL): # the plan may come first
            self.world.violation("test", f"life {self.lives} ({plan}) ended with status {status}")
        kills_books.check_copy(self.world, f"life {self.lives} ({plan or 'moment'})")
        return ready

    def storm(self):
        """Killed at its first call, at its second, …, until a life gets ready before it is killed."""
        n, ready = 1, False
        while not ready and n < 3000:
            ready = self.live(f"any:{n}:before", 0)
            self.storm_calls = n
            n += self.o.storm
        if not ready:
            self.world.violation("test", "the storm had no end")

    def rounds(self, chaos):
        at_storm = self.o.rounds // 2 if self.o.storm else -1
        for i in range(self.o.rounds):
            if i == at_storm:
                self.storm()
            if i < self.o.calm:
                ready = self.live("", self.o.life)
            else:
                ready = self.live(self.plan(), self.random.uniform(0.05, self.o.life))
            if not ready:
                self.unready += 1
        # on a slow machine few members may have run, and hardly any of them been hit
        if not self.hits_are_enough(chaos):
            self.live("", HITS_S * PATIENCE, lambda: self.hits_are_enough(chaos))

    def hits_are_enough(self, chaos):
        if self.o.runners and "stretto-run" not in kills_by_call(self.o.ledger):
            return False
        return all(c.killed > 0 and c.runners_killed >= 3 for c in chaos) and (not chaos or self.has_lost())

    def has_lost(self):
        """Is an attempt known to be lost? It takes seconds after its runner was killed, in one life."""
        try:
            db = sqlite3.connect(f"file:{self.o.state}/stretto.db?mode=ro", uri=True)
            try:
                return db.execute("SELECT count(*) FROM attempt WHERE outcome = 'lost'").fetchone()[0] > 0
            finally:
                db.close()
        except sqlite3.Error:
            return False

    def last_life(self):
        """Nobody ends it."""
        self.world.over = True
        self.start("")
        self.world.open_gate()
        if not self.ready(60):
            sys.exit("the last life did not get ready")

    def drain(self):
        until = time.monotonic() + self.o.end * PATIENCE
        while True:
            live = [e for e in self.list("/v1/ensembles", "ensembles") if e["state"] not in OVER
                    or e["members"]["running"] + e["members"]["submitted"] > 0]
            if not live and kills_books.jobs_ended(self.world):  # a job ends after its last member
                return
            if time.monotonic() > until:
                self.world.violation("books", f"has not ended: {live[:3] or 'a job'}")
                return
            time.sleep(0.1)

    def list(self, url, key):
        found, cursor = [], None
        while True:
            _, page = request(self.world.socket, "GET", f"{url}?limit=100" + (f"&cursor={cursor}" if cursor else ""))
            found += page[key]
            cursor = page.get("next")
            if not cursor:
                return found

    def check_http(self, books):
        """HTTP reports what is stored."""
        states, members = {}, {}
        for e in self.list("/v1/ensembles", "ensembles"):
            states[e["state"]] = states.get(e["state"], 0) + 1
            for state, n in e["members"].items():
                members[state] = members.get(state, 0) + n
            if sum(e["members"].values()) != e["count"]:
                self.world.violation("books", f"ensemble {e['id']} does not add up: {e}")
        attempts = sum(m["attempts"] for e in self.list("/v1/ensembles", "ensembles")
                       for m in self.list(f"/v1/ensembles/{e['id']}/members", "members"))
        text = request(self.world.socket, "GET", "/metrics")[1]
        told = {m[0]: int(m[1]) for m in re.findall(r'^stretto_ensembles\{state="(\w+)"\} (\d+)$', text, re.M)}
        told = {state: n for state, n in told.items() if n}
        live = sum(int(n) for n in re.findall(r'^stretto_members\{.*\} (\d+)$', text, re.M))
        for what, got, wanted in (("ensembles", states, books["states"]), ("members", members, books["tally"]),
                                  ("attempts", attempts, books["attempts"]),
                                  ("/metrics ensembles", told, books["states"]), ("/metrics members", live, 0)):
            if got != wanted:
                self.world.violation("books", f"{what}: HTTP tells {got}, stored is {wanted}")

    def stop(self):
        if self.process.poll() is None:
            self.process.terminate()
        try:
            status = self.process.wait(30 * PATIENCE)
        except subprocess.TimeoutExpired:
            self.process.kill()
            status = self.process.wait()
        if status != 0:
            self.world.violation("test", f"the last life ended with status {status}")


def kills_by_call(ledger):
    """How many of each program were killed at each call: {program: {call: number}}."""
    found = {}
    try:
        with open(ledger + "/kills", encoding="ascii") as f:
            for line in f:
                program, _, call, _, _ = line.split()
                calls = found.setdefault(program, {})
                calls[call] = calls.get(call, 0) + 1
    except OSError:
        pass
    return found


class Sessions(threading.Thread):
    """Kills whole sessions of members, and the runners of members that run; stops runners for a while."""

    def __init__(self, world):
        super().__init__(name="sessions", daemon=True)
        self.world = world
        self.random = random.Random(world.options.seed + 7)
        self.killed = self.stopped = self.runners_killed = 0
        self.offset = 0
        self.running = {}
        self.kinds = []  # of the next hits: each comes in its turn, in any order, so that few hits are of all kinds

    def look(self):
        try:
            with open(self.world.options.ledger + "/log", encoding="ascii") as f:
                f.seek(self.offset)
                lines = f.readlines()
                self.offset = f.tell()
        except OSError:
            return
        for line in lines:
            what, *_, pid, _ms = line.split()
            if what == "start":
                self.running[int(pid)] = True
            else:
                self.running.pop(int(pid), None)

    def environment(self, pid):
        try:
            with open(f"/proc/{pid}/environ", "rb") as f:
                return f.read()
        except OSError:
            return b""

    def run(self):
        mark = f"STRETTO_TEST={os.environ.get('STRETTO_TEST', '')}".encode()
        while not self.world.over:
            time.sleep(self.random.random() * 2 / self.world.options.sessions)
            self.look()
            live = [pid for pid in self.running if mark in self.environment(pid)]
            if not live:
                continue
            pid = self.random.choice(live)
            self.running.pop(pid)
            self.kinds = self.kinds or self.random.sample(["session", "runner", "stop"], 3)
            kind = self.kinds.pop()
            if kind == "session":
                try:
                    os.killpg(pid, signal.SIGKILL)
                    self.killed += 1
                except OSError:
                    pass
            else:
                self.hit_runner(pid, kind == "runner")

    def hit_runner(self, member, kill):
        """Kill, or stop for a while, a member's runner, which is its parent."""
        try:
            with open(f"/proc/{member}/stat", encoding="ascii") as f:
                runner = int(f.read().rsplit(")", 1)[1].split()[1])
            with open(f"/proc/{runner}/comm", encoding="ascii") as f:
                if f.read().strip() != "stretto-run":
                    return
            if kill:
                os.kill(runner, signal.SIGKILL)
                self.runners_killed += 1
                return
            os.kill(runner, signal.SIGSTOP)
            self.stopped += 1
            time.sleep(0.3)
            os.kill(runner, signal.SIGCONT)
        except (OSError, ValueError, IndexError):
            pass


def main():
    world = World(options())
    driver = Driver(world)
    clients = [Client(world, i, f"{world.options.seed}/{i}") for i in range(world.options.clients)]
    chaos = [Sessions(world)] if world.options.sessions else []
    started = time.monotonic()
    driver.start("")
    driver.ready(60)
    driver.process.kill()
    driver.process.wait()
    for thread in clients + chaos:
        thread.start()
    driver.rounds(chaos)
    driver.last_life()
    for thread in clients + chaos:
        thread.join()
    driver.drain()
    books = kills_books.check_end(world)
    driver.check_http(books)
    driver.stop()
    for name in os.listdir(driver.env["TMPDIR"]):
        world.violation("left", f"a temporary directory is left behind: {name}")
    json.dump({"violations": world.violations, "lives": driver.lives, "before ready": driver.unready,
               "storm calls": driver.storm_calls, "moments": driver.moments, "terms": driver.terms,
               "kills": kills_by_call(world.options.ledger), "requests": world.counts, "books": books,
               "sessions killed": sum(c.killed for c in chaos),
               "runners killed": sum(c.runners_killed for c in chaos),
               "runners stopped": sum(c.stopped for c in chaos), "seconds": round(time.monotonic() - started, 1)},
              sys.stdout, indent=1)
    print()


if __name__ == "__main__":
    main()
