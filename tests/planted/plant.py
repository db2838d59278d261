#!/usr/bin/env python3
"""Do the tests see a bug? Plants bugs one at a time into a copy of the sources and of this build, builds there what the named
tests need, and runs them. By hand, in a build directory inside the sources that is up to date (make):

    python3 SRCDIR/tests/planted/plant.py [--sample] [ROOM | NAME]...

prints for each bug which test caught it in how many seconds, "NOT CAUGHT", or that it does not compile, and at last for each room
how many of how many were caught. Before a test counts it must pass without a bug. The exit status is 0 if all were caught.
--sample takes only the bugs marked "sample" and does not try their tests without a bug: ./check does so (tests/t/0608-planted.t).
SEEDS=N limits the schedules of the simulation for each bug (4000).

    python3 SRCDIR/tests/planted/plant.py --check

prints the bugs that no longer fit the sources (tests/t/0010-layers.t).

How to add a bug: each room has a file ROOM.txt beside this program. A bug is a block there, separated by an empty line:

    === NAME FILE [limit=SECONDS] [sample] [NAME=VALUE]...
    the text that stands in FILE, exactly once (whole lines, any number)
    ---
    the text that is put there instead (may be empty)
    +++ tests/unit/test_x:the_case tests/t/0500-name.t

After "+++" stand the tests that must catch it, tried in this order: a unit test program, if you like with the case that fails, or a
script. A test that runs longer than the limit (120 s) hangs, and has not caught the bug. NAME=VALUE is set for the tests.
In the room "engine" a regular expression may stand there instead: what the simulation (test_engine_sim) must report."""
import glob
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections import namedtuple

HERE = os.path.dirname(os.path.abspath(__file__))
SOURCE = os.path.dirname(os.path.dirname(HERE))
SEEDS = int(os.environ.get("SEEDS", "4000"))
LIMIT = 120
TRIES = 20 # runs of the simulation, while other invariants fail than the one that is wanted
SIMULATION = "tests/unit/test_engine_sim"
MOVED_MAX = 16 << 20 # bytes; a file of the build that says where the build is may be as large as the Makefile, over a million
NOT_COPIED = {".git", "build", "autom4te.cache"}

Plant = namedtuple("Plant", "room name file limit sample env old new tests")
Result = namedtuple("Result", "outcome seconds said") # passed, failed or hangs


def plants():
    for path in sorted(glob.glob(f"{HERE}/*.txt")):
        room = os.path.basename(path)[:-len(".txt")]
        for block in open(path).read().split("\n=== ")[1:]:
            head, rest = block.split("\n", 1)
            name, file, *words = head.split()
            settings = dict(word.split("=") for word in words if "=" in word)
            limit = int(settings.pop("limit", LIMIT))
            old, rest = rest.split("\n---\n", 1)
            new, tests = f"\n{rest}".split("\n+++ ", 1)
            yield Plant(room, name, file, limit, "sample" in words, settings, old, new.removeprefix("\n"), tests.strip())


def named_tests(plant):
    """(path, case or "") of each; none where the simulation is to see it."""
    words = plant.tests.split()
    return [tuple(f"{word}:".split(":")[:2]) for word in words] if words and words[0].startswith("tests/") else []


def out_of_date():
    """A sentence for each plant that cannot be planted any more, or whose test is gone."""
    seen = set()
    for plant in plants():
        path = f"{SOURCE}/{plant.file}"
        found = open(path).read().count(plant.old) if os.path.exists(path) else 0
        where = f"{plant.room} {plant.name}:"
        if found != 1:
            yield f"{where} {plant.file} has the text that is to be replaced {found} times"
        if plant.old.strip() == plant.new.strip():
            yield f"{where} nothing is replaced"
        if plant.name in seen:
            yield f"{where} another bug has this name"
        seen.add(plant.name)
        for test, case in named_tests(plant):
            file = f"{SOURCE}/{test}{'' if test.endswith('.t') else '.c'}"
            if not os.path.exists(file):
                yield f"{where} there is no {test}"
            elif case and f"({case}" not in open(file).read():
                yield f"{where} {test} has no case {case}"


class Tree:
    """A copy of the sources and of the build, in which make rebuilds what a bug changes; the checkout is never touched."""

    def __init__(self, build, top):
        place = os.path.relpath(build, SOURCE)
        if place.startswith(".."):
            sys.exit("plant.py: the build directory must be inside the sources, as build/check is")
        self.top, self.build = top, f"{top}/{place}"
        skip = lambda folder, names: NOT_COPIED & set(names) if folder == SOURCE else set()
        shutil.copytree(SOURCE, top, symlinks=True, ignore=skip, dirs_exist_ok=True)
        os.makedirs(os.path.dirname(self.build), exist_ok=True)
        if os.path.exists(f"{SOURCE}/build/unpacked"):
            os.symlink(os.path.realpath(f"{SOURCE}/build/unpacked"), f"{top}/build/unpacked")
        left_out = shutil.ignore_patterns("*.log", "*.trs", "stretto-[0-9]*", "last") # what tests beside this one write
        # the unit tests' programs, which are half of the build: those that are needed are linked anew for each bug anyway
        unit = f"{build}/tests/unit"
        programs = lambda names: {name for name in names if re.fullmatch(r"test_\w+", name)}
        skip = lambda folder, names: left_out(folder, names) | (programs(names) if folder in (unit, f"{unit}/.libs") else set())
        shutil.copytree(build, self.build, symlinks=True, ignore=skip)
        for folder, _, names in os.walk(self.build): # where the build says in its files where it is, it says where the copy is
            for name in names:
                self.move(f"{folder}/{name}")
        makefile = open(f"{self.build}/Makefile").read()
        if f"{SOURCE}/" in makefile:
            sys.exit("plant.py: the copy's Makefile still builds the sources that it was copied from, so no bug would be seen")
        self.value = lambda name: re.search(rf"^{name} = (.*)$", makefile, re.M)[1].strip()
        self.helpers = sorted(set(re.findall(r"\btests/(?:t|pbs)/[\w-]+(?:\.la\b|(?=\$\(EXEEXT\)))", makefile)))

    def move(self, path):
        if os.path.islink(path) or os.stat(path).st_size > MOVED_MAX:
            return
        text, times = open(path, "rb").read(), os.stat(path)
        if SOURCE.encode() in text and b"\0" not in text:
            open(path, "wb").write(text.replace(SOURCE.encode(), self.top.encode()))
            os.utime(path, ns=(times.st_atime_ns, times.st_mtime_ns))

    def make(self, test):
        """Builds what the test needs; an error is told by what make said."""
        rounds = [[test]]
        if test.endswith(".t"): # one after the other, since "all" is made by a make of its own
            script = open(f"{self.top}/{test}").read()
            programs = set(re.findall(r"tests/unit/test_\w+", script))
            rounds = [["all"], [*self.helpers, *programs, *["tests/unit/test_adapter_conformance"] * ("conforms " in script)]]
        for targets in rounds:
            command = ["make", "-s", "-j2", *targets, f"CFLAGS={self.value('CFLAGS')} -w"]
            run = subprocess.run(command, cwd=self.build, stdin=subprocess.DEVNULL, capture_output=True, text=True)
            if run.returncode != 0:
                return (run.stderr + run.stdout).strip()
        return None

    def run(self, test, limit, env):
        ours = {"srcdir": self.top, "builddir": self.build, "CMOCKA_MESSAGE_OUTPUT": "TAP", "TMPDIR": "/tmp",
                "STRETTO_SANITIZE": self.value("SANITIZE_LIST"), "STRETTO_MPIEXEC": self.value("MPIEXEC"),
                "STRETTO_PYTHON": self.value("STRETTO_PYTHON"), "STRETTO_TEST_PATIENCE": "2"}
        command = ["bash", f"{self.top}/{test}"] if test.endswith(".t") else [f"{self.build}/{test}"]
        began = time.monotonic()
        with tempfile.TemporaryFile("w+", errors="replace") as out:
            job = subprocess.Popen(command, cwd=self.build, env={**os.environ, **ours, **env}, stdin=subprocess.DEVNULL,
                                   stdout=out, stderr=out, start_new_session=True)
            try:
                status = job.wait(limit)
            except subprocess.TimeoutExpired:
                status = None
            finally:
                end(job)
            out.seek(0)
            said = out.read()
        outcome = "hangs" if status is None else "passed" if status == 0 and "\nnot ok" not in said else "failed"
        return Result(outcome, time.monotonic() - began, said)


def end(job):
    """The test with all that it started: scripts clean up at SIGTERM."""
    for number, patience in ((signal.SIGTERM, 20), (signal.SIGKILL, None)):
        if job.poll() is None:
            os.killpg(job.pid, number)
            try:
                job.wait(patience)
            except subprocess.TimeoutExpired:
                pass
    try:
        os.killpg(job.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass


def failures(said):
    """The cases that failed, or the last line where there is none: a sanitizer's, or an assertion's."""
    cases = re.findall(r"^not ok \d+ (?:- )?(.*)$", said, re.M)
    crash = re.findall(r"^(SUMMARY: .*|.*runtime error: .*|.*Assertion.*)$", said, re.M)
    return cases or crash or said.strip().splitlines()[-1:] or ["it said nothing"]


def simulated(tree, plant):
    """Whether the simulation says what it must, and of which schedule. Others may be violated first: TRIES of them."""
    first, said = 1, []
    for _ in range(TRIES):
        env = {**plant.env, "SIM_FIRST": str(first), "SIM_SEEDS": str(SEEDS - first + 1)}
        result = tree.run(SIMULATION, max(plant.limit, 1200), env)
        said = re.findall(r"^SIM_SEED=(\d+): (.*)", result.said, re.M) or said
        hits = [(seed, what) for seed, what in said if re.search(plant.tests, what)]
        if hits:
            return f"caught by seed {hits[0][0]}: {hits[0][1]}"
        first = 1 + max(int(seed) for seed, _ in said) if said else SEEDS + 1
        if result.outcome != "failed" or first > SEEDS:
            break
    return f"NOT CAUGHT, but seed {said[0][0]}: {said[0][1]}" if said else "NOT CAUGHT"


def planted(tree, plant, sound):
    """Plants it and says what came of it: "caught by …", or why not."""
    path = f"{tree.top}/{plant.file}"
    text, misses = open(path).read(), []
    tests = [test for test, _ in named_tests(plant) if sound(test, plant.limit)]
    if named_tests(plant) and not tests:
        return "NOT MEASURED: its tests fail without a bug"
    try:
        open(path, "w").write(text.replace(plant.old, plant.new))
        for test in tests or [SIMULATION]:
            error = tree.make(test)
            if error:
                return f"does not compile: {next((line for line in error.splitlines() if 'error' in line), error)}"
            if not tests:
                return simulated(tree, plant)
            result = tree.run(test, plant.limit, plant.env)
            if result.outcome == "failed":
                return f"caught by {test} in {result.seconds:.1f} s: {failures(result.said)[0]}"
            misses.append(f"{test} {result.outcome} ({result.seconds:.1f} s)")
    finally:
        open(path, "w").write(text)
    return f"NOT CAUGHT: {', '.join(misses)}"


def main():
    words, wrong = sys.argv[1:], list(out_of_date())
    if wrong or words == ["--check"]:
        sys.exit("\n".join(wrong) or None)
    sample = "--sample" in words
    wanted = [word for word in words if word != "--sample"]
    chosen = [p for p in plants() if (p.sample or not sample) and (not wanted or p.room in wanted or p.name in wanted)]
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(1))
    caught, tried = {}, {}
    with tempfile.TemporaryDirectory(prefix="planted.") as top:
        tree = Tree(os.getcwd(), f"{top}/stretto")

        def sound(test, limit):
            if not sample and test not in tried:
                error = tree.make(test)
                result = Result("failed", 0, f"not ok 1 - {error}") if error else tree.run(test, limit, {})
                tried[test] = result.outcome == "passed"
                if not tried[test]:
                    print(f"without a bug, {test} {result.outcome} ({result.seconds:.1f} s): {failures(result.said)[0]}", flush=True)
            return sample or tried[test]

        for plant in chosen:
            said = planted(tree, plant, sound)
            caught.setdefault(plant.room, []).append(said.startswith("caught"))
            print(f"{plant.room} {plant.name}: {said}", flush=True)
    for room, ones in caught.items():
        print(f"{room}: {sum(ones)} of {len(ones)} caught")
    return 0 if all(all(ones) for ones in caught.values()) else 1


if __name__ == "__main__":
    sys.exit(main())
