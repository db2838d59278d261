#!/usr/bin/env -S python3 -IS
"""Puts older, damaged and foreign books before a daemon, at random, and looks whether anything is believed that is not so.

    books.py STRETTOD DIR SEED ROUNDS

Each round one daemon is used and ended or killed, then one of its files is changed as users, administrators and disks
do: a plain copy of before is put back (with or without the log), a backup is restored, the log is cut or has a bit
flipped, the database is emptied or removed, or another run directory is given. Then a daemon is started.

- It starts, and no member has a result that its own command did not make: each command writes its ensemble's secret,
  and a record is taken only of a command that ran (which notes that itself).
- All that was acknowledged is there; or what is gone was told in the log before anything was accepted; or the daemon
  refuses to start, with what to do, and starts once that is done.

Prints what each round did, and at the end a line of sums. Ends with status 1 at the first violation.
"""
import http.client
import json
import os
import random
import re
import shutil
import signal
import socket
import subprocess
import sys
import time

STRETTOD, DIR, SEED, ROUNDS = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
LIMIT = 60 * int(os.environ.get("STRETTO_TEST_PATIENCE", "5"))
STATE, RUN, OTHER, COPIES, RAN = (f"{DIR}/{name}" for name in ("state", "run", "other-run", "copies", "ran"))
LOG = f"{DIR}/daemon.log"
HOW = ["copy", "copy without its log", "snapshot", "backup", "log cut", "log flipped", "end of the log flipped",
       "other run directory", "emptied", "removed", "nothing"]


class Violation(Exception):
    pass


def wait(condition, what):
    until = time.monotonic() + LIMIT
    pause = 0.01
    while not condition():
        if time.monotonic() > until:
            raise Violation(f"waited in vain for: {what}")
        time.sleep(pause)
        pause = min(0.2, 1.5 * pause)


class Connection(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT)
        self.sock.connect(f"{STATE}/stretto.sock")


def ask(method, path, body=None, raw=False):
    connection = Connection("stretto")
    try:
        connection.request(method, path, json.dumps(body) if body is not None else None, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        data = answer.read()
        return answer.status, data if raw else json.loads(data or b"null")
    finally:
        connection.close()


class Daemon:
    """A strettod; log() is what it has said so far."""
    all = []

    def __init__(self, run=RUN, more=()):
        self.begin = os.path.getsize(LOG) if os.path.exists(LOG) else 0
        with open(LOG, "ab") as log:
            self.process = subprocess.Popen([STRETTOD, "--state-dir", STATE, "--run-dir", run, *more],
                                            stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        Daemon.all.append(self)
        wait(lambda: self.process.poll() is not None or self.ready(), "a daemon that is ready, or has ended")
        self.up = self.process.poll() is None

    @staticmethod
    def ready():
        try:
            return ask("GET", "/readyz")[0] == 200
        except OSError:
            return False

    def log(self):
        with open(LOG, encoding="utf-8", errors="replace") as file:
            file.seek(self.begin)
            return file.read()

    def end(self, how):
        self.process.send_signal(how)
        if self.process.wait(LIMIT) not in (0, -signal.SIGKILL):
            raise Violation(f"the daemon ended with {self.process.returncode}")


class Books:
    """The acknowledged changes, and those that the daemon may have lost since it said so."""

    def __init__(self, dice):
        self.dice = dice
        self.made = 0
        self.known = {}  # id: secret of the ensembles that are to be there
        self.sums = {}

    def submit(self):
        """Members note that they run before they succeed; a stale record or result would do without."""
        self.made += 1
        secret = f"s{self.made}-{self.dice.getrandbits(32):08x}"
        count = self.dice.randint(1, 3)
        slow = "sleep 0.3; " if self.dice.random() < 0.3 else ""
        script = (f'{slow}[ ! -e result ] || exit 9; echo {secret} >result; echo "$STRETTO_ENSEMBLE $STRETTO_MEMBER $STRETTO_JOB {secret}" '
                  f'>>{RAN}; ')
        status, answer = ask("POST", "/v1/ensembles", {
            "name": secret, "width": 2,
            "members": {"command": ["sh", "-c", script], "parameters": {"grid": {"x": list(range(count))}},
                        "success": {"file": "result"}, "retries": 0}})
        if status != 201:
            raise Violation(f"a spec is answered with {status}: {answer}")
        if answer["id"] in self.known:
            raise Violation(f"ensemble {answer['id']} is given anew")
        self.known[answer["id"]] = secret
        return answer["id"]

    def check_there(self, daemon):
        """All that is to be there is there under its own name."""
        found = {}
        path = "/v1/ensembles?limit=500"
        while path:
            answer = ask("GET", path)[1]
            found.update((e["id"], e["name"]) for e in answer["ensembles"])
            path = f"/v1/ensembles?limit=500&cursor={answer['next']}" if answer.get("next") else None
        for id, secret in self.known.items():
            if found.get(id) != secret:
                raise Violation(f"ensemble {id} is {found.get(id)}, and was acknowledged as {secret}; the daemon said: {daemon.log()}")
        return found

    def check_results(self, ids):
        """Every member that has succeeded has run, with the command of its own ensemble, in the job that it names."""
        with open(RAN, encoding="ascii") as file:
            ran = {tuple(line.split()) for line in file}
        for id in ids:
            members = ask("GET", f"/v1/ensembles/{id}/members?limit=100")[1]["members"]
            for m in members:
                detail = ask("GET", f"/v1/ensembles/{id}/members/{m['index']}")[1]
                for attempt in detail["attempts"]:
                    if attempt["outcome"] == "succeeded" and \
                            (str(id), str(m["index"]), attempt["job"], self.known[id]) not in ran:
                        raise Violation(f"member {id}.{m['index']} has succeeded in {attempt['job']}, which did not run it")
                    if attempt["outcome"] == "failed":
                        raise Violation(f"member {id}.{m['index']} has failed: {attempt['reason']}")

    def settle(self, ids):
        wait(lambda: all(ask("GET", f"/v1/ensembles/{id}")[1]["state"] in ("complete", "failed", "cancelled") for id in ids), f"the end of {ids}")
        for id in ids:
            state = ask("GET", f"/v1/ensembles/{id}")[1]["state"]
            if state != "complete":
                raise Violation(f"ensemble {id} is {state}")


def marked():
    """The run directory has the mark of the last commit of this database: one that was taken over has another name."""
    try:
        with open(f"{RUN}/mark.json", encoding="ascii") as file:
            mark = json.load(file)
    except (OSError, ValueError):
        return False
    shown = subprocess.run(["sqlite3", "-readonly", f"{STATE}/stretto.db", "SELECT n, value FROM commits, meta WHERE key = 'instance'"],
                           capture_output=True, text=True, check=False)
    return shown.stdout.strip() == f"{mark['commits']}|{mark['database']}"


def files():
    return [name for name in os.listdir(STATE) if name.startswith("stretto.db")]


def take(name, logs=True):
    """A plain copy of the database's files, and what the books said then."""
    to = f"{COPIES}/{name}"
    shutil.rmtree(to, ignore_errors=True)
    os.mkdir(to)
    for file in files():
        if logs or file == "stretto.db":
            shutil.copy(f"{STATE}/{file}", to)


def put_back(name):
    for file in files():
        os.unlink(f"{STATE}/{file}")
    for file in os.listdir(f"{COPIES}/{name}"):
        shutil.copy(f"{COPIES}/{name}/{file}", STATE)


def frames():
    """(offset, ends a transaction) of each frame of the log"""
    with open(f"{STATE}/stretto.db-wal", "rb") as file:
        data = file.read()
    size = 24 + int.from_bytes(data[8:12], "big")
    at, found = 32, []
    while at + size <= len(data) and data[at + 8:at + 16] == data[16:24]:
        found.append((at, size, data[at + 4:at + 8] != bytes(4)))
        at += size
    return found


def flip(offset):
    with open(f"{STATE}/stretto.db-wal", "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << random.randrange(8)]))


class Round:
    def __init__(self, books, dice, number):
        self.books, self.dice = books, dice
        self.how = dice.choice(HOW)
        self.number = number

    def use(self, daemon):
        """Submits; a copy is made in the middle. Returns the ensembles that came after it."""
        books, dice = self.books, self.dice
        for _ in range(dice.randint(1, 2)):
            books.submit()
        if dice.random() < 0.5:
            books.settle(books.known)
        self.then = dict(books.known)
        if self.how == "backup":
            status, data = ask("GET", "/v1/backup", raw=True)
            if status != 200:
                raise Violation(f"no backup: {status}")
            with open(f"{COPIES}/backup.db", "wb") as file:
                file.write(data)
        elif self.how == "snapshot":  # of the whole file system at one moment: the daemon is stopped while it is made
            daemon.process.send_signal(signal.SIGSTOP)
            take("snapshot")
            daemon.process.send_signal(signal.SIGCONT)
        elif self.how.startswith("copy"):
            daemon.end(signal.SIGTERM)
            take("copy", self.how == "copy")
            daemon = Daemon()
        for _ in range(dice.randint(1, 2)):
            books.submit()
        if dice.random() < 0.5:
            books.settle(books.known)
        return daemon

    def spoil(self):
        """Returns the run directory to start with."""
        dice = self.dice
        if self.how == "backup":
            for file in files():
                os.unlink(f"{STATE}/{file}")
            shutil.copy(f"{COPIES}/backup.db", f"{STATE}/stretto.db")
        elif self.how.startswith("copy"):
            put_back("copy")
        elif self.how == "snapshot":
            put_back("snapshot")
        elif self.how == "log cut":
            at = frames()
            os.truncate(f"{STATE}/stretto.db-wal", 0 if not at or dice.random() < 0.5 else dice.choice(at)[0] + dice.randrange(1000))
        elif self.how.endswith("flipped"):
            at = frames()
            if not at:
                self.how = "nothing"
            else:
                ends = [i for i, frame in enumerate(at) if frame[2]]
                last = (ends[-2] + 1 if len(ends) > 1 else 0) if self.how.startswith("end") else 0
                frame = dice.choice(at[last:])
                flip(frame[0] + dice.randrange(frame[1]))
        elif self.how == "emptied":
            os.truncate(f"{STATE}/stretto.db", 0)
            if dice.random() < 0.5:
                for file in set(files()) - {"stretto.db"}:
                    os.unlink(f"{STATE}/{file}")
        elif self.how == "removed":
            for file in files():
                os.unlink(f"{STATE}/{file}")
        elif self.how == "other run directory":
            return OTHER
        return RUN

    def run(self, daemon):
        take_kill = self.dice.random() < (0.9 if "log" in self.how else 0.4)
        daemon = self.use(daemon)
        shutil.rmtree(f"{COPIES}/last", ignore_errors=True)
        wait(marked, "the mark of the last commit")
        daemon.end(signal.SIGKILL if take_kill else signal.SIGTERM)
        if self.how != "backup":
            take("last")
        run = self.spoil()
        daemon = Daemon(run)
        outcome = self.judge(daemon, run)
        self.books.sums[(self.how, outcome)] = self.books.sums.get((self.how, outcome), 0) + 1
        print(f"{self.number} {self.how}{', killed' if take_kill else ''}: {outcome}", flush=True)
        return self.daemon

    def judge(self, daemon, run):
        books = self.books
        said = daemon.log()
        outcome = "all is there"
        if not daemon.up:
            outcome = self.refused(said)
            daemon = Daemon()
            if not daemon.up:
                raise Violation(f"the daemon does not start with what was told to do: {daemon.log()}")
        elif run == OTHER:
            raise Violation("another run directory is used")
        elif "older than the run directory" in said or "a database that is gone" in said or self.how == "backup":
            outcome = "an older one, as was told"
            books.known = self.lost(said)
        found = books.check_there(daemon)
        books.known = {id: name for id, name in found.items() if id in books.known}
        for _ in range(self.dice.randint(1, 2)):
            books.submit()
        books.settle(books.known)
        books.check_results(books.known)
        self.daemon = daemon
        return outcome

    def lost(self, said):
        """What may be gone, once the daemon has said so: it names the ensembles."""
        ids = sorted(self.books.known)
        now = {e["id"] for e in ask("GET", "/v1/ensembles?limit=500")[1]["ensembles"]}
        told = re.search(r"ensembles (\d+) to (\d+) are not in it", said)
        for id in ids:
            if id not in now and not (told and int(told[1]) <= id <= int(told[2])) and self.how != "backup":
                raise Violation(f"ensemble {id} is gone, and the daemon said only: {said}")
        return {id: secret for id, secret in self.books.known.items() if id in now}

    def refused(self, said):
        """The daemon did not start: it tells why, and what it tells to do is done."""
        if "(store_damaged)" in said:
            if "To restore it:" not in said:
                raise Violation(f"it is not told what to do: {said}")
            put_back("last")
            return "refused as damaged"
        if "(run_dir_other)" in said:
            if RUN not in said or OTHER not in said:
                raise Violation(f"it does not name both directories: {said}")
            return "refused for its run directory"
        raise Violation(f"the daemon does not start: {said}")


def main():
    dice = random.Random(SEED)
    random.seed(SEED)
    for path in (DIR, RUN, COPIES):
        os.makedirs(path, mode=0o700, exist_ok=True)
    with open(RAN, "a", encoding="ascii"):
        pass
    books = Books(dice)
    daemon = Daemon()
    try:
        if not daemon.up:
            raise Violation(f"the daemon does not start: {daemon.log()}")
        for number in range(ROUNDS):
            daemon = Round(books, dice, number).run(daemon)
    except Violation as violation:
        print(f"seed {SEED}: {violation}")
        return 1
    finally:
        for left in Daemon.all:
            if left.process.poll() is None:
                left.process.kill()
                left.process.wait()
    for (how, outcome), n in sorted(books.sums.items()):
        print(f"# {how}: {outcome}: {n}")
    print(f"{ROUNDS} rounds")
    return 0


sys.exit(main())
