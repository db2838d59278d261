#!/usr/bin/env python3
"""The API under load: one JSON object a line and figure (DESIGN.md, 9).

  api_load.py [SECONDS]   builddir names the build tree, else the current folder; wrk must be installed

 - api-status: requests of an ensemble's status by 64 clients, against libmicrohttpd answering as many bytes, taking turns;
 - api-streams: the same clients while 2,000 event streams are open and members run: errors, and events that all have seen;
 - api-dispatch: members of `true` a second while 2,000 streams are told of each, against none, taking turns; the reader of
   the streams shares the machine, as it does not in life: api-dispatch-reader-nice is the same with a reader of low priority;
 - api-dispatch-cpu, api-dispatch-reader-cpu: CPU time a member of the daemon (against that without streams) and the reader;
 - api-half-open: time of a request through the Unix socket and over TCP while 10,000 connections are opened and say nothing.
"""
import json, os, re, resource, socket, statistics, subprocess, sys, tempfile, time

SECONDS = int(sys.argv[1]) if sys.argv[1:] and sys.argv[1].isdigit() else 60
BUILD = os.path.abspath(os.environ.get("builddir", "."))
STREAMS, CLIENTS, HALF_OPEN, MEMBERS, ROUNDS = 2000, 64, 10000, 1500, 3
resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)


def tell(name, value, unit, baseline=None, baseline_value=None, **more):
    line = {"name": name, "value": round(value, 3), "unit": unit}
    if baseline:
        line.update(baseline=baseline, baseline_value=round(baseline_value, 3), ratio=round(value / baseline_value, 3))
    print(json.dumps({**line, **more}), flush=True)


def http(address, method, path, body=None, token=None, timeout=60):
    s = socket.socket(socket.AF_UNIX if isinstance(address, str) else socket.AF_INET)
    s.settimeout(timeout)
    s.connect(address)
    data = json.dumps(body).encode() if body is not None else b""
    s.sendall((f"{method} {path} HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n"
               + (f"Authorization: Bearer {token}\r\n" if token else "")
               + (f"Content-Type: application/json\r\nContent-Length: {len(data)}\r\n" if data else "") + "\r\n").encode() + data)
    got = b""
    while piece := s.recv(65536):
        got += piece
    s.close()
    return int(got.split(b" ", 2)[1]), json.loads(got.split(b"\r\n\r\n", 1)[1] or b"null")


def wrk(port, path, seconds, token=None):
    """Requests a second, errors, and the 99th percentile in ms."""
    out = subprocess.run(["wrk", "-t", "2", "-c", str(CLIENTS), "-d", f"{seconds}s", "--latency"]
                         + (["-H", f"Authorization: Bearer {token}"] if token else []) + [f"http://127.0.0.1:{port}{path}"],
                         capture_output=True, text=True, check=True).stdout
    errors = sum(map(int, re.findall(r"(?:connect|read|write|timeout) (\d+)", out)))
    errors += sum(map(int, re.findall(r"Non-2xx or 3xx responses: (\d+)", out)))
    p99 = re.search(r"99%\s+([\d.]+)(us|ms|s)", out)
    return float(re.search(r"Requests/sec:\s+([\d.]+)", out).group(1)), errors, \
        float(p99.group(1)) * {"us": 0.001, "ms": 1, "s": 1000}[p99.group(2)]


def cpu(pid):
    """Seconds of CPU time that all threads of a process have used."""
    used = 0
    for task in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{task}/schedstat") as f:
                used += int(f.read().split()[0])
        except FileNotFoundError:
            pass
    return used / 1e9


class Streams:
    """A process that reads all streams, at the lowest priority where `nice`, and tells at the end what they have got."""
    def __init__(self, path, n, nice=False):
        self.process = subprocess.Popen((["nice", "-n", "19"] if nice else []) + [f"{BUILD}/tests/bench/stream-reader", path, str(n)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        assert self.process.stdout.readline() == "open\n"

    def close(self):
        out, _ = self.process.communicate()
        return json.loads(out)


def main():
    with tempfile.TemporaryDirectory(dir="/tmp") as t:
        config = {"heartbeat": "2s", "adapters": {"local": {"slots": 8}}}
        with open(f"{t}/config.json", "w") as out:
            json.dump(config, out)
        with open(f"{t}/log", "w") as log:
            daemon = subprocess.Popen([f"{BUILD}/strettod", "--config", f"{t}/config.json", "--state-dir", f"{t}/s", "--listen",
                                       "tcp:127.0.0.1:0"], stdin=subprocess.DEVNULL, stderr=log)
        minimal = None
        unix = f"{t}/s/stretto.sock"
        try:
            while not os.path.exists(f"{t}/s/listen.json"):
                time.sleep(0.05)
            with open(f"{t}/s/listen.json") as f:
                port = int(next(l["url"] for l in json.load(f)["listeners"] if l["url"].startswith("http")).rsplit(":", 1)[1])
            token = http(unix, "POST", "/v1/tokens", {"role": "reader"})[1]["token"]
            spec = {"name": "b", "width": 8, "members": {"command": ["true"], "parameters": {"grid": {"i": list(range(MEMBERS))}}}}

            def dispatch():
                began = time.monotonic()
                status, made = http(unix, "POST", "/v1/ensembles", spec)
                assert status == 201, made
                while http(unix, "GET", f"/v1/ensembles/{made['id']}")[1]["state"] == "running":
                    time.sleep(0.05)
                return MEMBERS / (time.monotonic() - began)

            dispatch()
            minimal_size = len(json.dumps(http(unix, "GET", "/v1/ensembles/1")[1]))
            minimal = subprocess.Popen([f"{BUILD}/tests/bench/mhd-minimal", str(minimal_size)], stdin=subprocess.PIPE,
                                       stdout=subprocess.PIPE, text=True)
            minimal_port = int(minimal.stdout.readline())

            ours, theirs, errors, slowest = [], [], 0, []
            for _ in range(ROUNDS):
                rate, bad, p99 = wrk(port, "/v1/ensembles/1", max(1, SECONDS // (4 * ROUNDS)), token)
                ours.append(rate)
                slowest.append(p99)
                errors += bad
                theirs.append(wrk(minimal_port, "/", max(1, SECONDS // (4 * ROUNDS)))[0])
            tell("api-status", statistics.median(ours), "requests/s", "libmicrohttpd's minimal server", statistics.median(theirs),
                 clients=CLIENTS, errors=errors, p99_ms=statistics.median(slowest))

            for nice in False, True:
                with_streams, without, books, used, used_without, reader = [], [], [], [], [], []
                for _ in range(ROUNDS):
                    began = cpu(daemon.pid)
                    without.append(dispatch())
                    used_without.append((cpu(daemon.pid) - began) * 1000 / MEMBERS)
                    streams = Streams(unix, STREAMS, nice)
                    began = cpu(daemon.pid), cpu(streams.process.pid)
                    with_streams.append(dispatch())
                    time.sleep(3)  # what is under way
                    used.append((cpu(daemon.pid) - began[0]) * 1000 / MEMBERS)
                    reader.append((cpu(streams.process.pid) - began[1]) * 1000 / MEMBERS)
                    books.append(streams.close())
                name = "api-dispatch" + ("-reader-nice" if nice else "")
                tell(name, statistics.median(with_streams), "members/s", "without streams", statistics.median(without),
                     streams=STREAMS, ended=sum(b["ended"] for b in books), behind=sum(b["behind"] for b in books),
                     megabytes=round(sum(b["bytes"] for b in books) / 1e6))
                if not nice:
                    tell("api-dispatch-cpu", statistics.median(used), "ms", "without streams", statistics.median(used_without))
                    tell("api-dispatch-reader-cpu", statistics.median(reader), "ms")

            streams = Streams(unix, STREAMS)
            rate, errors, p99 = wrk(port, "/v1/ensembles/1", SECONDS, token)
            book = streams.close()
            tell("api-streams", rate, "requests/s", clients=CLIENTS, streams=STREAMS, errors=errors + book["ended"], p99_ms=p99)

            held, times = [], {"unix": [], "tcp": []}
            for i in range(HALF_OPEN):
                s = socket.create_connection(("127.0.0.1", port))
                s.sendall(b"GET /v1/ensembles HTTP/1.1\r\nHost: localhost\r\nX: ")
                held.append(s)
                if i % 100 == 99:
                    for name, address in (("unix", unix), ("tcp", ("127.0.0.1", port))):
                        began = time.monotonic()
                        assert http(address, "GET", "/readyz", token=token)[0] == 200
                        times[name].append((time.monotonic() - began) * 1000)
            for name, ms in times.items():
                tell(f"api-half-open-{name}", sorted(ms)[len(ms) * 99 // 100], "ms (99 of 100)", connections=HALF_OPEN,
                     most_ms=round(max(ms), 1))
        finally:
            if minimal:
                minimal.stdin.close()
                minimal.wait()
            daemon.terminate()
            daemon.wait()


main()
