"""Does a file of MLPerf's log lines keep the rules that are the same for all benchmarks? By itself, and by MLPerf's compliance checker
where that is installed (https://github.com/mlcommons/logging, a Python package mlperf_logging that is not on PyPI or in Debian).

    mllog_check.py FILE

The checker reads it as a result of the open division of the benchmark that the file names, by the rules of Training 4.0.
"""

import json
import subprocess
import sys

ONCE = ["init_start", "init_stop", "run_start", "run_stop", "submission_org", "submission_platform", "submission_division",
        "submission_benchmark", "submission_status", "train_samples", "eval_samples"]  # fmt: skip
PAIRS = {"block_stop": "block_start", "eval_stop": "eval_start", "run_stop": "run_start", "init_stop": "init_start"}
EVENTS = {"start": "INTERVAL_START", "stop": "INTERVAL_END"}

lines = []
for text in open(sys.argv[1], encoding="utf-8"):
    assert text.startswith(":::MLLOG {"), text
    line = json.loads(text.split(" ", 1)[1])
    assert list(line) == ["namespace", "time_ms", "event_type", "key", "value", "metadata"], text
    assert isinstance(line["time_ms"], int) and isinstance(line["metadata"], dict), text
    assert line["event_type"] == EVENTS.get(line["key"].rsplit("_", 1)[-1], "POINT_IN_TIME"), text
    lines.append(line)
keys = [line["key"] for line in lines]
for key in ONCE:
    assert keys.count(key) == 1, (key, keys.count(key))
assert keys.count("cache_clear") >= 1 and keys.count("eval_accuracy") >= 1, keys
assert [line["time_ms"] for line in lines] == sorted(line["time_ms"] for line in lines), "the time goes back"
is_open = set()
for line in lines:
    if line["key"] in PAIRS:
        is_open.remove(PAIRS[line["key"]])
    elif line["key"] in PAIRS.values():
        assert line["key"] not in is_open, line
        is_open.add(line["key"])
    if line["key"] in ("eval_start", "eval_stop", "eval_accuracy"):
        assert line["metadata"]["epoch_num"] >= 1 and "run_start" in is_open, line
    if line["key"].startswith("block_"):
        assert line["metadata"]["first_epoch_num"] >= 1 and "run_start" in is_open, line
assert not is_open and keys[-1] == "run_stop" and keys.index("init_stop") < keys.index("run_start"), is_open
assert lines[-1]["metadata"]["status"] in ("success", "aborted"), lines[-1]
print(f"{len(lines)} lines, {keys.count('eval_accuracy')} evaluations")

try:
    import mlperf_logging.compliance_checker  # noqa: F401
except ImportError:
    print("the compliance checker is not installed")
    sys.exit(0)
command = [sys.executable, "-m", "mlperf_logging.compliance_checker", "--usage", "training", "--ruleset", "4.0.0", "--log_output", "/dev/null"]
subprocess.run([*command, sys.argv[1]], check=True)
