#!/usr/bin/env -S python3 -IS
"""Damages a database one value at a time, and starts a daemon on each.

    damage.py STRETTOD BASE STATE PART OF

BASE is a state directory of a daemon that was killed; STATE, where it was, is made of it anew for each case. Of all cases (a column,
a value, set in every row that has one) those numbered PART modulo OF are tried, and those that a daemon has once not survived. The daemon must end with status 1 and a sentence in
its log, or answer, and then end with status 0 on SIGTERM. What it does else is printed, and the log.
"""
import http.client
import os
import re
import shutil
import signal
import socket
import sqlite3
import subprocess
import sys
import time

STRETTOD, BASE, STATE, PART, OF = sys.argv[1:4] + [int(n) for n in sys.argv[4:6]]
LIMIT = 30 * int(os.environ.get("STRETTO_TEST_PATIENCE", "5"))
INTEGERS = [None, -1, 0, 2**31, 2**63 - 1, -(2**63), "x"]
ALWAYS = [("job", "kind", "training"), ("job", "size", 2**63 - 1), ("job", "started", 2**63 - 1),
          ("parameter_rows", "count", 2**63 - 1), ("tally", "n", 2**63 - 1), ("training", "ranks", 2**63 - 1), ("bulk_operation", "next", -(2**63))]
READ_MAX = 1 << 20 # of an answer: an ensemble may say that it has 2^63 members
TEXTS = [None, "", "x", 7, b"\xff\xfe", "[" * 3000, "y" * 1000000, "{}", '{"name": null}', "-1", "../../x"]


def open_db(path):
    db = sqlite3.connect(path, isolation_level=None)
    db.execute("PRAGMA ignore_check_constraints = ON")
    return db


def cases():
    """(table, column, value), the same in every run; words that a constraint names are among the values"""
    db = open_db(BASE + "/stretto.db")
    tables = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'table' AND name NOT LIKE 'sqlite_%'").fetchall()
    for table, sql in sorted(tables):
        if db.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0:
            print(f"{table} is empty", file=sys.stderr)
        for column, kind in db.execute("SELECT name, type FROM pragma_table_info(?)", (table,)).fetchall():
            words = re.findall(r"\w+", " ".join(sum(re.findall(rf"\b{column} (?:IN \(([^)]*)\)|= ('\w+'))", sql), ())))
            words += ["cancel", "stop"] if table == "bulk_operation" else []
            for value in words + (TEXTS if kind == "TEXT" else INTEGERS):
                yield table, column, value
    db.close()


def damage(table, column, value):
    """without the checks of the schema, as a disk would; False if the file format has no such value"""
    path = STATE + "/stretto.db"
    db = open_db(path)
    kept = db.execute("SELECT name, sql FROM sqlite_schema WHERE type = 'trigger' OR (name = ? AND type = 'table')", (table,)).fetchall()
    sql = dict(kept)[table]
    loose = re.sub(r"\) (STRICT, WITHOUT ROWID|STRICT)$", lambda m: ") WITHOUT ROWID" if "WITHOUT" in m[0] else ")", sql)
    loose = re.sub(r"(?<! IS) NOT NULL", "", loose)
    for name, _ in kept:
        if name != table:
            db.execute(f"DROP TRIGGER {name}")
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (loose, table))
    db.close()
    db = open_db(path)
    what = "CAST(? AS TEXT)" if isinstance(value, bytes) else "?"
    try:
        db.execute(f"UPDATE OR IGNORE {table} SET {column} = {what}", (value,))
    except sqlite3.IntegrityError:
        return False
    db.execute("PRAGMA writable_schema = ON")
    db.execute("UPDATE sqlite_schema SET sql = ? WHERE name = ?", (sql, table))
    db.execute("PRAGMA writable_schema = OFF")
    db.close()
    db = open_db(path)
    for name, trigger in kept:
        if name != table:
            db.execute(trigger)
    db.close()
    return True


class Client(http.client.HTTPConnection):
    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(LIMIT)
        self.sock.connect(STATE + "/stretto.sock")


def ask(method, path):
    client = Client("stretto")
    try:
        client.request(method, path)
        return client.getresponse().read1(READ_MAX)
    finally:
        client.close()


def requests():
    for path in ("/readyz", "/metrics", "/v1/ensembles", "/v1/jobs", "/v1/checkpoints", "/v1/adapters", "/v1/events", "/v1/backup"):
        yield "GET", path
    for n in range(1, ENSEMBLES + 1):
        for path in ("", "/members", "/members/0", "/spec", "/states", "/results", "/metrics"):
            yield "GET", f"/v1/ensembles/{n}{path}"
        yield "GET", f"/v1/trainings/{n}"
        yield "GET", f"/v1/trainings/{n}/metrics"
        yield "GET", f"/v1/trainings/{n}/ranks"
    for n in range(1, ENSEMBLES + 1):
        for verb in ("resume", "resubmit", "follow-up", "cancel"):
            yield "POST", f"/v1/ensembles/{n}/{verb}"
    yield "GET", "/v1/ensembles"


def wait(process, condition):
    until = time.monotonic() + LIMIT
    while process.poll() is None and not condition():
        if time.monotonic() > until:
            return False
        time.sleep(0.005)
    return True


def is_listening():
    try:
        ask("GET", "/healthz")
        return True
    except OSError:
        return False


def run(log):
    """what is wrong, or None"""
    process = subprocess.Popen([STRETTOD, "--state-dir", STATE, "--python", "/bin/true"], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
    try:
        if not wait(process, is_listening):
            return "it neither ends nor listens"
        if process.poll() is not None:
            return None if process.returncode == 1 else f"it ends with status {process.returncode}"
        for method, path in requests():
            try:
                ask(method, path)
            except OSError as error:
                wait(process, lambda: False) if not isinstance(error, TimeoutError) else None
                return f"{method} {path}: {error}; status {process.poll()}"
        process.send_signal(signal.SIGTERM)
        if not wait(process, lambda: False):
            return "it does not end on SIGTERM"
        return None if process.returncode == 0 else f"it ends with status {process.returncode} on SIGTERM"
    finally:
        if process.poll() is None:
            process.kill()
            process.wait()


with sqlite3.connect(BASE + "/stretto.db") as base:
    ENSEMBLES = base.execute("SELECT count(*) FROM ensemble").fetchone()[0]
bad = tried = 0
for number, (table, column, value) in enumerate(cases()):
    if number % OF != PART and (table, column, value) not in ALWAYS:
        continue
    shutil.rmtree(STATE)
    shutil.copytree(BASE, STATE, symlinks=True)
    if not damage(table, column, value):
        continue
    tried += 1
    with open(STATE + "/../damage.log", "w+", errors="replace") as log:
        wrong = run(log)
        log.seek(0)
        text = log.read()
    if wrong is None and not re.search(r"strettod\[\d+\] (error: |info: ready: )", text):
        wrong = "it says nothing"
    if re.search(r": runtime error: |==ERROR: ", text):
        wrong = "a sanitizer has found something"
    if wrong is not None:
        bad += 1
        print(f"{table}.{column} = {str(value)[:40]!r} (case {number}): {wrong}\n{text[-2500:]}")
print(f"{tried} cases, {bad} bad")
sys.exit(bad > 0 or tried == 0)
