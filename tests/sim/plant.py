#!/usr/bin/env python3
"""Does the simulation see a bug? Plants those of tests/sim/planted.txt into a copy of the sources, one at a time, and runs
schedules until one goes wrong, or, of what is rare in them, tests/unit/test_engine_lost; by hand, in a build directory where
both are built:

    python3 SRCDIR/tests/sim/plant.py [NAME...]

SEEDS=N schedules at most each (4000). Prints a line for each plant: caught, by which seed and which invariant, or by which test,
or not."""
import glob
import os
import re
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


def build(name, file, old, new, program):
    """Of the program that is built here, the one file is compiled anew, and is there before the archive that has it."""
    tree = f"{os.getcwd()}/planted"
    os.makedirs(tree, exist_ok=True)
    text = open(f"{SOURCE}/{file}").read()
    if text.count(old) != 1:
        sys.exit(f"{name}: {file} has {text.count(old)} of what is to be replaced: the plant must be brought up to date")
    open(f"{tree}/planted.c", "w").write(text.replace(old, new))
    compiler = os.environ.get("CC", "gcc").split()
    subprocess.run([*compiler, *f"-std=gnu11 -w -O1 -I. -I{SOURCE} -c {tree}/planted.c -o {tree}/planted.o".split()], check=True)
    objects = glob.glob(f"tests/**/*{program}-*.o", recursive=True)
    archives = "tests/sim/.libs/libsim.a .libs/libdaemon.a .libs/libadapters.a .libs/libjobproto.a .libs/libcommon.a".split()
    libs = "-lcmocka -ljansson -luv -lsqlite3 -lzmq -lsodium -lm -lpthread".split()
    subprocess.run(["gcc", f"{tree}/planted.o", *objects, *archives, *libs, "-o", f"{tree}/sim"], check=True)
    return f"{tree}/sim"


def main():
    wanted, missed = sys.argv[1:], 0
    for name, file, old, new, violation in plants():
        if wanted and name not in wanted:
            continue
        test = re.fullmatch(r"the test (\w+)", violation)
        program = build(name, file, old, new, "test_engine_lost" if test else "test_engine_sim")
        run = subprocess.run([program], env=dict(os.environ, SIM_SEEDS=SEEDS), capture_output=True, text=True)
        said = re.findall(r"^SIM_SEED=(\d+): (.*)", run.stderr, re.M)
        if test:
            said = [("-", f"the test {name}") for name in re.findall(r"^\[  FAILED  \] (?:\w+: )?(\w+)$", run.stdout + run.stderr, re.M)]
        hits = [(seed, what) for seed, what in said if re.search(violation, what)]
        seed, what = (hits or said or [("-", f"exit status {run.returncode}")])[0]
        missed += not hits
        print(f"{'caught' if hits else 'MISSED'} {name}: seed {seed}: {what}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
