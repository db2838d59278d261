"""recovery_kills.py WHAT TRACE KILLS DATABASE: kills processes of the benchmark's ensemble, and prints how long each time took, in seconds.

    rank      a rank, in turns: until all ranks have learnt from another batch. TRACE-loads gets how long it takes, after every fourth kill,
              to start two processes at once that load the newest checkpoint, while the ranks wait
    job       the runner of the training's job, and with it its ranks and all that they held: until the same
    member    a member: until its next attempt has started

A kill comes when all ranks have learnt from 40 batches since the one before, and of a job from 150. recovery_rank.py and the members write what
happens into files beside each other, TRACE-*. TRACE-begun gets the number of members that had begun, at each kill of a job.
"""

import glob
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

LIMIT = 240

what, trace, kills, database = sys.argv[1], sys.argv[2], int(sys.argv[3]), sys.argv[4]
BATCHES = 150 if what == "job" else 40  # of a job there has to be a checkpoint


def lines(path):
    try:
        with open(path, encoding="ascii") as file:
            return [json.loads(line) for line in file if line.endswith("\n")]
    except FileNotFoundError:
        return []


def life(rank):
    """The lines of this rank's newest process, one for each batch."""
    told = lines("%s-rank%d" % (trace, rank))
    return told and [line for line in told if line["pid"] == told[-1]["pid"]]


def wait_for(holds):
    until = time.monotonic() + LIMIT
    while not holds():
        if time.monotonic() > until:
            sys.exit("waited in vain")
        time.sleep(0.02)


def parent(pid):
    with open("/proc/%d/stat" % pid, encoding="ascii") as file:
        return int(file.read().rsplit(")", 1)[1].split()[1])


def note_begun():
    with sqlite3.connect("file:%s?mode=ro" % database, uri=True) as db, open(trace + "-begun", "a", encoding="ascii") as file:
        ensemble = db.execute("SELECT max(id) FROM ensemble").fetchone()[0]
        begun = ("SELECT count(DISTINCT idx) FROM attempt JOIN job ON job.id = attempt.job "
                 "WHERE attempt.ensemble = ? AND job.kind = 'members'")
        print(db.execute(begun, [ensemble]).fetchone()[0], file=file)


def kill_ranks(kill):
    before = [life(rank)[-1]["pid"] for rank in (0, 1)]
    victim = before[kill % 2]
    if what == "job":
        victim = parent(victim)
        note_begun()
    killed = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    wait_for(lambda: all(life(rank)[-1]["pid"] != before[rank] for rank in (0, 1)))
    return max(life(rank)[0]["time"] for rank in (0, 1)) - killed


def alive():
    return [line for line in lines(trace + "-members") if os.path.exists("/proc/%d" % line["pid"])]


def kill_member(kill):
    wait_for(alive)
    victims = alive()
    victim = victims[kill % len(victims)]
    known = len(lines(trace + "-members"))
    killed = time.time()
    os.kill(victim["pid"], signal.SIGKILL)
    wait_for(lambda: any(line["member"] == victim["member"] for line in lines(trace + "-members")[known:]))
    return [line["time"] for line in lines(trace + "-members")[known:] if line["member"] == victim["member"]][0] - killed


def states():
    return glob.glob(os.path.join(os.path.dirname(database), "run/e*/training/checkpoints/*/state-rank0"))


def newest_state():
    """A checkpoint is removed when two newer ones are there: so the newest is there for long enough."""
    return max(states(), key=os.path.getmtime)


def load():
    script = os.path.join(os.path.dirname(os.path.abspath(__file__)), "recovery_rank.py")
    wait_for(states)
    with open(trace + "-pause", "x", encoding="ascii"):
        pass
    state = shutil.copy(newest_state(), trace + "-state")
    began = time.monotonic()
    # each in a session of its own, as ranks are: Linux shares a processor out among sessions
    both = [subprocess.Popen([sys.executable, "-B", script, "load", state], start_new_session=True) for _ in (0, 1)]
    if any([process.wait() != 0 for process in both]):
        sys.exit("the state cannot be loaded")
    os.unlink(trace + "-pause")
    with open(trace + "-loads", "a", encoding="ascii") as file:
        print(time.monotonic() - began, file=file)


for number in range(kills):
    wait_for(lambda: all(len(life(rank)) >= BATCHES for rank in (0, 1)))
    print(kill_member(number) if what == "member" else kill_ranks(number), flush=True)
    if what == "rank" and number % 4 == 0:
        load()
    if what == "member":
        learnt = [len(life(rank)) for rank in (0, 1)]
        wait_for(lambda: all(len(life(rank)) >= learnt[rank] + BATCHES for rank in (0, 1)))
