#!/usr/bin/env python3
"""Does the simulation see a bug? Plants those of tests/sim/planted.txt into a copy of the sources, one at a time, and runs
schedules until one goes wrong, or, of what is rare in them, tests/unit/test_engine_lost; by hand, in a build directory where
both are built:

    python3 SRCDIR/tests/sim/plant.py [NAME...]

SEEDS=N schedules at most each (4000). Prints a line for each plant: caught, by which seed and which invariant, or by which test,
or not.

    python3 SRCDIR/tests/sim/plant.py --check

says of which plants what is to be replaced is no longer there, or there twice, and needs no build: tests/t/0010-layers.t."""
import glob
import os
import re
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
SEEDS = os.environ.get("SEEDS", "4000")
TEST = re.compile(r"the test (\w+)")


def plants():
    """name, file, what is there, what is put there, and what the violation must say (a regular expression)."""
    for block in open(f"{HERE}/planted.txt").read().split("\n=== ")[1:]:
        head, rest = block.split("\n", 1)
        name, _, file = head.partition(" ")
        old, rest = rest.split("\n---\n", 1)
        new, violation = f"\n{rest}".split("\n+++ ", 1)
        new = new.removeprefix("\n")
        yield name, file, old, new, violation.strip()


def out_of_date():
    """The source has changed under them: of each, why it cannot be planted."""
    tests, seen = open(f"{SOURCE}/tests/unit/test_engine_lost.c").read(), set()
    for name, file, old, new, violation in plants():
        found = open(f"{SOURCE}/{file}").read().count(old) if os.path.exists(f"{SOURCE}/{file}") else 0
        test = TEST.fullmatch(violation)
        if found != 1:
            yield f"{name}: {file} has {found} of what is to be replaced"
        if old.strip() == new.strip():
            yield f"{name}: nothing is replaced"
        if test and f"cmocka_unit_test({test[1]})" not in tests:
            yield f"{name}: there is no test {test[1]}"
        if name in seen:
            yield f"{name}: there are two of that name"
        seen.add(name)


def build(tree, file, old, new, program):
    """Of the program that is built here, the one file is compiled anew, and is there before the archive that has it."""
    text = open(f"{SOURCE}/{file}").read()
    open(f"{tree}/planted.c", "w").write(text.replace(old, new))
    compiler = os.environ.get("CC", "gcc").split()
    subprocess.run([*compiler, *f"-std=gnu11 -w -O1 -I. -I{SOURCE} -c {tree}/planted.c -o {tree}/planted.o".split()], check=True)
    objects = glob.glob(f"tests/**/*{program}-*.o", recursive=True)
    archives = "tests/sim/.libs/libsim.a .libs/libdaemon.a .libs/libadapters.a .libs/libjobproto.a .libs/libcommon.a".split()
    libs = "-lcmocka -ljansson -luv -lsqlite3 -lzmq -lsodium -lm -lpthread".split()
    subprocess.run(["gcc", f"{tree}/planted.o", *objects, *archives, *libs, "-o", f"{tree}/sim"], check=True)
    return f"{tree}/sim"


def main():
    wanted, missed, old_ones = sys.argv[1:], 0, list(out_of_date())
    if old_ones or wanted == ["--check"]:
        sys.exit("\n".join(old_ones) or None)
    for name, file, old, new, violation in plants():
        if wanted and name not in wanted:
            continue
        test = TEST.fullmatch(violation)
        with tempfile.TemporaryDirectory() as tree: # others may plant theirs meanwhile
            program = build(tree, file, old, new, "test_engine_lost" if test else "test_engine_sim")
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
