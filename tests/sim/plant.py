#!/usr/bin/env python3
"""Does the simulation see a bug? Plants those of tests/sim/planted.txt into a copy of the sources, one at a time, and runs
schedules until one goes wrong; by hand, in a build directory:

    python3 SRCDIR/tests/sim/plant.py [NAME...]

SEEDS=N schedules at most each (4000). Prints a line for each plant: caught, by which seed and which invariant, or not."""
import os
import re
import shutil
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
SEEDS = os.environ.get("SEEDS", "4000")


def plants():
    """name, file, what is there, what is put there, and what the violation must say (a regular expression)."""
    for block in open(f"{HERE}/planted.txt").read().split("\n=== ")[1:]:
        head, rest = block.split("\n", 1)
        name, _, file = head.partition(" ")
        old, rest = rest.split("\n---\n", 1)
        new, violation = f"\n{rest}".split("\n+++ ", 1)
        new = new.removeprefix("\n")
        yield name, file, old, new, violation.strip()


def build(name, file, old, new):
    tree = f"{os.getcwd()}/planted"
    shutil.rmtree(tree, ignore_errors=True)
    for folder in ("daemon/engine", "tests/sim"):
        shutil.copytree(f"{SOURCE}/{folder}", f"{tree}/{folder}")
    text = open(f"{tree}/{file}").read()
    if text.count(old) != 1:
        sys.exit(f"{name}: {file} has {text.count(old)} of what is to be replaced: the plant must be brought up to date")
    open(f"{tree}/{file}", "w").write(text.replace(old, new))
    sources = [f"{tree}/daemon/engine/{f}" for f in sorted(os.listdir(f"{tree}/daemon/engine")) if f.endswith(".c")]
    sources += [f"{tree}/tests/sim/{f}" for f in sorted(os.listdir(f"{tree}/tests/sim")) if f.endswith(".c")]
    objects = []
    flags = f"-w -O1 -I{tree} -I. -I{SOURCE}".split()
    for source in sources + [f"{SOURCE}/tests/unit/test_engine_sim.c"]:
        objects.append(f"{tree}/{os.path.basename(source)}.o")
        subprocess.run(os.environ.get("CC", "gcc").split() + ["-std=gnu11", "-c", *flags, source, "-o", objects[-1]], check=True)
    archives = ".libs/libdaemon.a .libs/libadapters.a .libs/libjobproto.a .libs/libcommon.a".split()
    libs = "-lcmocka -ljansson -luv -lsqlite3 -lzmq -lsodium -lm -lpthread".split()
    subprocess.run(["gcc", *objects, *archives, *libs, "-o", f"{tree}/sim"], check=True)
    return f"{tree}/sim"


def main():
    wanted, missed = sys.argv[1:], 0
    for name, file, old, new, violation in plants():
        if wanted and name not in wanted:
            continue
        run = subprocess.run([build(name, file, old, new)], env=dict(os.environ, SIM_SEEDS=SEEDS), capture_output=True, text=True)
        said = re.findall(r"^SIM_SEED=(\d+): (.*)", run.stderr, re.M)
        hits = [(seed, what) for seed, what in said if re.search(violation, what)]
        seed, what = (hits or said or [("-", f"exit status {run.returncode}")])[0]
        missed += not hits
        print(f"{'caught' if hits else 'MISSED'} {name}: seed {seed}: {what}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
