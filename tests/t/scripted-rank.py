#!/usr/bin/env python3
"""scripted-rank.py SCRIPT: a rank that only writes the files of docs/run-directory.md, and does what the lines of the file
SCRIPT followed by the number of its generation say, one after the other:

save NAME BATCHES WHOLE...    a checkpoint; for each rank the members that are whole in it, "0,1,2", or "-" for none
enlist NAME BATCHES           a checkpoint of which there are no files
drop NAME                     takes a checkpoint out of the list, as a rank does that finds it damaged
metric NAME FROM TO           points of a series at these steps
until FILE, warned, wait      waits for a file, for the signal that warns of the walltime's end, for the walltime
die, unfinished, done         how it ends

What concerns all ranks, rank 0 does.
"""

import json
import os
import signal
import sys
import time

rank, ranks = int(os.environ["STRETTO_RANK"]), int(os.environ["STRETTO_RANKS"])
here = os.environ["STRETTO_TRAINING_DIR"]
with open(f"{here}/training.json") as file:
    config = json.load(file)
generation, checkpoints = config["generation"], config["checkpoint"]["dir"]


def write(path, value):
    with open(path + ".part", "w") as file:
        json.dump(value, file)
    os.rename(path + ".part", path)


def say(file, state, **more):
    write(f"{here}/{file}-rank{rank}.json", {"version": 1, "generation": generation, "rank": rank, "time": time.time(), "state": state, **more})


def wait_for(path):
    while not os.path.exists(path):
        time.sleep(0.02)


def ends(members):  # "3" is member 3, whose first attempt has told its end, "3:2" its second one
    field = bytearray([2, 0, 0, 0, 0])
    for m in filter(None, members.strip("-").split(",")):
        member, _, attempt = m.partition(":")
        for digit in range(2):
            field[1 + int(member) // 8 * 2 + digit] |= (int(attempt or 1) >> digit & 1) << int(member) % 8
    return bytes(field)


def listed():
    try:
        with open(f"{checkpoints}/checkpoints.json") as file:
            return json.load(file)["checkpoints"]
    except FileNotFoundError:
        return []


def enlist(name, batches):
    entry = {"name": name, "generation": generation, "step": int(batches) * 10, "batches": int(batches), "ranks": ranks,
             "time": time.time(), "size": 12345, "digest": "00112233445566ff", "drawn": int(batches) * 4}
    write(f"{checkpoints}/checkpoints.json", {"version": 1, "checkpoints": [entry, *listed()][:config["checkpoint"]["keep"]]})


def drop(name):
    write(f"{checkpoints}/checkpoints.json", {"version": 1, "checkpoints": [entry for entry in listed() if entry["name"] != name]})


def save(name, batches, *whole):
    os.makedirs(f"{checkpoints}/{name}", exist_ok=True)
    with open(f"{checkpoints}/{name}/whole-rank{rank}.part", "wb") as file:
        file.write(ends(whole[rank]))
    os.rename(f"{checkpoints}/{name}/whole-rank{rank}.part", f"{checkpoints}/{name}/whole-rank{rank}.bin")
    if rank > 0:
        return
    for other in range(ranks):
        wait_for(f"{checkpoints}/{name}/whole-rank{other}.bin")
    write(f"{checkpoints}/{name}/state-rank0", {"batches": batches})
    enlist(name, batches)


def metric(name, first, last):
    with open(f"{here}/metrics-rank0.jsonl", "a") as file:
        for step in range(int(first), int(last) + 1):
            file.write(json.dumps({"name": name, "step": step, "time": time.time(), "value": 1 / (step + 1)}) + "\n")


def main():
    warned = []
    if "resume" in config:
        wait_for(f"{checkpoints}/{config['resume']['name']}/state-rank0")
    signal.signal(int(os.environ.get("STRETTO_CHECKPOINT_SIGNAL", signal.SIGUSR1)), lambda *_: warned.append(1))
    write(f"{config['stream']}/g{generation}-rank{rank}.json", {"version": 1})
    say("status", "receiving", received=1)
    wait_for(f"{sys.argv[1]}{generation}")
    for verb, *words in map(str.split, open(f"{sys.argv[1]}{generation}")):
        if verb == "save":
            save(*words)
        elif verb in ("enlist", "drop", "metric") and rank == 0:
            {"enlist": enlist, "drop": drop, "metric": metric}[verb](*words)
        elif verb == "die" and rank == 0:
            sys.exit(3)
        elif verb == "until":
            wait_for(words[0])
        elif verb == "warned":
            while not warned:
                time.sleep(0.02)
        elif verb in ("unfinished", "done"):
            say("done", verb)
            sys.exit(0)
        elif verb in ("wait", "die"):
            time.sleep(300)


main()
