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
SEEDS = int(os.environ.get("SEEDS", "4000"))
OTHERS = 20 # violations that were not the one to be shown
TEST = re.compile(r"the test (\w+)")


def plants():
    """name, file, settings, what is there, what is put there, and what the violation must say (a regular expression)."""
    for block in open(f"{HERE}/planted.txt").read().split("\n=== ")[1:]:
        head, rest = block.split("\n", 1)
        name, file, *settings = head.split()
        old, rest = rest.split("\n---\n", 1)
        new, violation = f"\n{rest}".split("\n+++ ", 1)
        new = new.removeprefix("\n")
        yield name, file, dict(s.split("=") for s in settings), old, new, violation.strip()


def out_of_date():
    """The source has changed under them: of each, why it cannot be planted."""
    tests, seen = open(f"{SOURCE}/tests/unit/test_engine_lost.c").read(), set()
    for name, file, _, old, new, violation in plants():
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


def failed_tests(program):
    """("-", which) of each test that fails."""
    run = subprocess.run([program], capture_output=True, text=True)
    names = re.findall(r"^\[  FAILED  \] (?:\w+: )?(\w+)$", run.stdout + run.stderr, re.M)
    return [("-", f"the test {name}") for name in names]


def broken_promises(program, settings, wanted):
    """(seed, what) of the first schedule that goes wrong as wanted, or, where another invariant sees the bug first in OTHERS
    of them, of the last of these."""
    first, said = 1, []
    for _ in range(OTHERS):
        env = {**settings, **os.environ, "SIM_FIRST": str(first), "SIM_SEEDS": str(SEEDS - first + 1)}
        run = subprocess.run([program], env=env, capture_output=True, text=True)
        said = re.findall(r"^SIM_SEED=(\d+): (.*)", run.stderr, re.M) or said
        if run.returncode == 0 or any(re.search(wanted, what) for _, what in said):
            break
        first = 1 + max(int(seed) for seed, _ in said) if said else SEEDS + 1
        if first > SEEDS:
            break
    return said


def main():
    wanted, missed, old_ones = sys.argv[1:], 0, list(out_of_date())
    if old_ones or wanted == ["--check"]:
        sys.exit("\n".join(old_ones) or None)
    for name, file, settings, old, new, violation in plants():
        if wanted and name not in wanted:
            continue
        with tempfile.TemporaryDirectory() as tree: # others may plant theirs meanwhile
            if TEST.fullmatch(violation):
                said = failed_tests(build(tree, file, old, new, "test_engine_lost"))
            else:
                said = broken_promises(build(tree, file, old, new, "test_engine_sim"), settings, violation)
        hits = [(seed, what) for seed, what in said if re.search(violation, what)]
        seed, what = (hits or said or [("-", "nothing goes wrong")])[0]
        missed += not hits
        print(f"{'caught' if hits else 'MISSED'} {name}: seed {seed}: {what}", flush=True)
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
