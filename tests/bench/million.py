#!/usr/bin/env python3
"""million.py [MEMBERS [DONE]]: what an ensemble of a million members costs the daemon. One JSON object a line.

Run from a build tree, or with builddir in the environment; makes tests/bench/fill_members there.
"""
import http.client, json, os, shutil, signal, socket, sqlite3, statistics, subprocess, sys, tempfile, time

BUILD = os.environ.get("builddir", ".")
MEMBERS = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000_000
DONE = int(sys.argv[2]) if len(sys.argv) > 2 else 100_000


class Unix(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("stretto")
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.connect(self.path)


class Daemon:
    def __init__(self, state):
        self.state = state
        self.log = open(state + ".log", "ab")
        self.process = subprocess.Popen([BUILD + "/strettod", "--state-dir", state], stderr=self.log)
        self.connection = Unix(state + "/stretto.sock")
        while True:
            try:
                self.call("GET", "/readyz")
                return
            except OSError:
                self.connection.close()
                if self.process.poll() is not None:
                    sys.exit("strettod ended: see " + state + ".log")
                time.sleep(0.02)

    def call(self, method, path, body=None):
        """The reply, and the milliseconds it took."""
        start = time.perf_counter()
        self.connection.request(method, path, json.dumps(body) if body else None, {"Content-Type": "application/json"} if body else {})
        reply = self.connection.getresponse()
        data = reply.read()
        took = 1000 * (time.perf_counter() - start)
        if reply.status >= 300 and path != "/readyz":
            sys.exit(f"{method} {path}: {reply.status} {data[:300]!r}")
        return json.loads(data) if data[:1] in b"{[" else data, took

    def rss(self):
        with open(f"/proc/{self.process.pid}/status") as f:
            return next(int(line.split()[1]) * 1024 for line in f if line.startswith("VmRSS"))

    def rest(self):
        """Wait until what a start leads to is done, such as looking for what can be archived."""
        def cpu():
            with open(f"/proc/{self.process.pid}/stat") as f:
                return sum(int(n) for n in f.read().rsplit(")", 1)[1].split()[11:13])

        before, now = None, cpu()
        while now != before:
            time.sleep(1)
            before, now = now, cpu()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        self.process.wait()


class Sleeper:
    """A process that does nothing but sleep: how late the machine wakes it up is not the daemon's doing."""
    CODE = """if True:
        import json, select, sys, time
        late = []
        while not select.select([sys.stdin], [], [], 0)[0]:
            start = time.perf_counter()
            time.sleep(0.005)
            late.append(1000 * (time.perf_counter() - start) - 5)
        print(json.dumps(late))"""

    def __init__(self):
        self.process = subprocess.Popen([sys.executable, "-c", self.CODE], stdin=subprocess.PIPE, stdout=subprocess.PIPE)

    def end(self):
        return json.loads(self.process.communicate()[0])


def figure(name, value, unit, **more):
    print(json.dumps({"name": name, "value": round(value, 3), "unit": unit, **more}), flush=True)


def p99(values):
    return sorted(values)[int(0.99 * len(values))]


def spec(method, count=MEMBERS):
    return {"name": method, "width": 8, "members": {"command": ["true"], "parameters": {
        "method": method, "count": count, "seed": 42, "space": {"t0": [100, 500], "tw": [100, 500], "te": [100, 500]}}}}


def accept(state):
    daemon = Daemon(state)
    for _ in range(3):  # what the first requests load stays loaded
        one, _ = daemon.call("POST", "/v1/ensembles", spec("halton", 1))
        daemon.call("GET", f"/v1/ensembles/{one['id']}")
    time.sleep(1)
    for method in ("halton", "latin-hypercube", "monte-carlo"):
        before, took, grown = daemon.rss(), [], []
        for _ in range(5):
            ensemble, ms = daemon.call("POST", "/v1/ensembles", spec(method))
            took.append(ms)
            grown.append(daemon.rss() - before)
            daemon.call("POST", f"/v1/ensembles/{ensemble['id']}/cancel")
            before = daemon.rss()
        figure(f"accept-{method}", max(took), "ms", median=round(statistics.median(took), 3), limit=50, members=MEMBERS)
        figure(f"accept-memory-{method}", max(grown) / 1e6, "MB", limit=5)
    ensemble, _ = daemon.call("POST", "/v1/ensembles", spec("halton"))
    path = f"/v1/ensembles/{ensemble['id']}"
    first, _ = daemon.call("GET", path)
    sleeper = Sleeper()
    start, took = time.time(), []
    while time.time() - start < 20:
        now, ms = daemon.call("GET", path)
        took.append(ms)
        time.sleep(0.005)
    rate = (now["members"]["succeeded"] - first["members"]["succeeded"]) / (time.time() - start)
    late = p99(sleeper.end())  # a request has two who must be woken up: the daemon and who asks
    figure("status-while-running", p99(took), "ms", quantile=0.99, median=round(statistics.median(took), 3), limit=5,
           baseline="how late a process that only sleeps is woken up", baseline_value=round(late, 3),
           ratio=round(p99(took) / late, 2), dispatched_per_second=round(rate, 1))
    daemon.call("POST", path + "/cancel")
    daemon.stop()


def states(daemon):
    """All states at once, as they are and compressed; how long others wait meanwhile; and what changed since an event."""
    path, took, waits = "/v1/ensembles/1/states", {"identity": [], "gzip": []}, []
    other = Unix(daemon.state + "/stretto.sock")
    for coding in took:
        for _ in range(5):
            start = time.perf_counter()
            daemon.connection.request("GET", path, headers={"Accept-Encoding": coding})
            while not waits or time.perf_counter() - start < 0.2:  # others ask while it is being sent
                asked = time.perf_counter()
                other.request("GET", "/healthz")
                other.getresponse().read()
                waits.append(1000 * (time.perf_counter() - asked))
            reply = daemon.connection.getresponse()
            size, event = len(reply.read()), reply.getheader("Last-Event-ID")
            start = time.perf_counter()
            daemon.connection.request("GET", path, headers={"Accept-Encoding": coding})
            size = len(daemon.connection.getresponse().read())
            took[coding].append(1000 * (time.perf_counter() - start))
        figure(f"states-{coding}", statistics.median(took[coding]), "ms", bytes=size, members=MEMBERS, rows=DONE)
    figure("others-wait-for-states", p99(waits), "ms", quantile=0.99, most=round(max(waits), 3))
    figure("states-since", statistics.median(daemon.call("GET", f"{path}?since={event}")[1] for _ in range(200)), "ms")


def pages(state):
    subprocess.run([BUILD + "/tests/bench/fill_members", state, str(MEMBERS), str(DONE)], check=True)
    size = os.path.getsize(state + "/stretto.db")
    figure("database-per-member", size / DONE, "B", limit=1024, members_run=DONE)
    daemon = Daemon(state)
    figure("start-on-it", daemon.rss() / 1e6, "MB")
    daemon.rest()
    members = "/v1/ensembles/1/members"
    asks = {"first page": members, "last page run": f"{members}?cursor={DONE - 100}", "last page": f"{members}?cursor={MEMBERS - 100}",
            "by state, last": f"{members}?state=succeeded&cursor={DONE - 100}", "status": "/v1/ensembles/1", "metrics": "/metrics",
            "list": "/v1/ensembles"}
    took = {what: [] for what in asks}
    for _ in range(200):
        for what, path in asks.items():
            took[what].append(daemon.call("GET", path)[1])
    for what in asks:
        figure("page: " + what, statistics.median(took[what]), "ms", p99=round(p99(took[what]), 3), least=round(min(took[what]), 3))
    figure("last-to-first-page", min(took["last page"]) / min(took["first page"]), "ratio")
    states(daemon)
    start = time.perf_counter()
    backup, _ = daemon.call("GET", "/v1/backup")
    figure("backup", time.perf_counter() - start, "s", bytes=len(backup))
    daemon.stop()


def series(state):
    """A metric series of a million points: all of it by buckets, and a part of it."""
    Daemon(state).stop()
    with sqlite3.connect(state + "/stretto.db") as store:
        store.execute("PRAGMA foreign_keys = OFF")
        store.execute("INSERT INTO training (ensemble, adapter, state, ranks, created, ended) VALUES (1, 'local', 'done', 1, 1, 2)")
        store.execute("WITH RECURSIVE s (i) AS (VALUES (0) UNION ALL SELECT i + 1 FROM s WHERE i < ?) INSERT INTO metric "
                      "(training, name, step, rank, time, value) SELECT 1, 'loss', i, 0, 1790000000000 + i, 1.0 / (1 + i) FROM s", [MEMBERS - 1])
    daemon = Daemon(state)
    for what, query in {"whole": "", "part": f"&from={MEMBERS // 2}&to={MEMBERS // 2 + 999}"}.items():
        took = [daemon.call("GET", f"/v1/trainings/1/metrics?name=loss&buckets=1000{query}")[1] for _ in range(10)]
        figure(f"metrics-{what}", statistics.median(took), "ms", points=MEMBERS, buckets=1000)
    daemon.stop()


def main():
    subprocess.run(["make", "-s", "-C", BUILD, "strettod", "stretto-run", "tests/bench/fill_members"], check=True, stdout=sys.stderr)
    top = tempfile.mkdtemp(prefix="st.")
    try:
        for part in (accept, pages, series):
            state = f"{top}/{part.__name__}"
            os.mkdir(state, 0o700)
            part(state)
    finally:
        shutil.rmtree(top, ignore_errors=True)


main()
