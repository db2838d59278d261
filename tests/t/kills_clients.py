"""Clients of the tests that kill: they ask for changes over HTTP, through crashes, and remember what was answered.

A change that was answered holds from then on; one that was not answered may hold, whole, or not. An ensemble is changed
by one client only, so that it is known what may be seen of it at any moment."""
import contextlib
import http.client
import json
import random
import socket
import threading
import time

OVER = ("complete", "failed", "cancelled")


class NotSent(Exception):
    """The daemon was not there: it cannot have seen the request."""


class NoAnswer(Exception):
    """The request may have been seen."""


class Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("stretto", timeout=300)
        self.path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self.path)


def request(path, method, url, body=None, key=None):
    """Status and JSON (or text) of the answer."""
    connection = Connection(path)
    headers = {}
    if body is not None:
        headers["Content-Type"] = "application/json"
    if key is not None:
        headers["Idempotency-Key"] = key
    try:
        try:
            connection.connect()
        except OSError as e:
            raise NotSent() from e
        try:
            connection.request(method, url, None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            data = reply.read()
        except (OSError, http.client.HTTPException) as e:
            raise NoAnswer() from e
    finally:
        connection.close()
    if "json" in (reply.getheader("Content-Type") or ""):
        return reply.status, json.loads(data)
    return reply.status, data.decode()


class World:
    """What the driver, the clients and the checks share."""

    def __init__(self, options):
        self.options = options
        self.socket = options.state + "/stretto.sock"
        self.ensembles = []
        self.tokens = []  # [label, id or None, "asked" | "made" | "revoking" | "revoked"]
        self.violations = {}
        self.counts = {"answered": 0, "unanswered": 0, "refused": 0}
        self.lock = threading.Lock()
        self.gate = threading.Condition(self.lock)
        self.gate_open = False
        self.inside = 0
        self.over = False  # no new change is asked for

    def violation(self, check, text):
        with self.lock:
            self.violations.setdefault(check, []).append(text)

    @contextlib.contextmanager
    def passing(self):
        """Around each request. The gate is shut while the driver looks at what lies on disk between two lives."""
        with self.gate:
            self.gate.wait_for(lambda: self.gate_open)
            self.inside += 1
        try:
            yield
        finally:
            with self.gate:
                self.inside -= 1
                self.gate.notify_all()

    def shut_gate(self):
        with self.gate:
            self.gate_open = False
            self.gate.wait_for(lambda: self.inside == 0)

    def open_gate(self):
        with self.gate:
            self.gate_open = True
            self.gate.notify_all()


class Ensemble:
    """What may be true of one, by all that was asked for and answered."""

    def __init__(self, name, spec):
        self.name, self.spec = name, spec
        self.id = None
        self.answered = False
        self.widths = {spec["width"]}
        self.paused = {False}
        self.cancelled = {False}
        self.over = False  # told so by a refusal
        self.resubmitted = 0
        self.sure = {"ensemble.resized": 0, "ensemble.paused": 0, "ensemble.resumed": 0}
        self.perhaps = {"ensemble.resized": 0, "ensemble.paused": 0, "ensemble.resumed": 0}

    def check(self, world, where, state, width, settle):
        """Hold what is seen against what may be; what a reply has shown once stays so (settle)."""
        def wrong(text):
            world.violation("accepted", f"{where}: ensemble {self.id} {self.name}: {text}")

        if width not in self.widths:
            wrong(f"width {width}, may be {sorted(self.widths)}")
        if state == "cancelled" and True not in self.cancelled:
            wrong("cancelled, which nobody asked for")
        if state != "cancelled" and False not in self.cancelled:
            wrong(f"{state}, but was cancelled")
        if state == "paused" and True not in self.paused:
            wrong("paused, which nobody asked for")
        if state == "running" and False not in self.paused:
            wrong("running, but was paused")
        if self.over and state not in OVER:
            wrong(f"{state}, but it was over")
        if settle:
            self.widths = {width}
            self.cancelled = {state == "cancelled"}
            if state in ("paused", "running"):
                self.paused = {state == "paused"}


class Client(threading.Thread):
    def __init__(self, world, number, seed):
        super().__init__(name=f"client{number}", daemon=True)
        self.world, self.number = world, number
        self.random = random.Random(seed)
        self.mine = []
        self.serial = 0
        self.error = None

    def ask(self, method, url, body=None, key=None, wanted=()):
        """Status and body, or None if no answer came. With a key, until it comes."""
        while True:
            try:
                with self.world.passing():
                    status, reply = request(self.world.socket, method, url, body, key)
            except NotSent:
                time.sleep(0.002)
                continue
            except NoAnswer:
                with self.world.lock:
                    self.world.counts["unanswered"] += 1
                if key is None:
                    return None
                continue
            with self.world.lock:
                self.world.counts["answered" if status < 300 else "refused"] += 1
            if wanted and status not in wanted:
                self.world.violation("answers", f"{method} {url} {body}: {status} {reply}")
            return status, reply

    def spec(self, name):
        o, r = self.world.options, self.random
        # what a killed runner leaves behind is there to be met by the next attempt
        weights = [2, 1, 6, 1, 2] if o.sessions else [5, 2, 2, 1, 2]
        mode = r.choices(["plain", "tree", "stray", "stubborn", "fail"], weights)[0]
        ms = r.randrange(0, 400)
        retries = 20 if o.sessions else r.choice([0, 2]) if mode == "fail" else 0
        count = r.randint(1, 6)
        return {"name": name, "width": r.randint(1, 3), "pack": r.choice([1, 1, 1, 3]), "members": {
            "command": [o.member, o.ledger, mode, str(ms)], "parameters": {"grid": {"i": list(range(count))}},
            "retries": retries}}

    def submit(self):
        self.serial += 1
        keyed = self.random.random() < 0.6
        name = f"{'k' if keyed else 'u'}{self.number}.{self.serial}"
        ensemble = Ensemble(name, self.spec(name))
        with self.world.lock:
            self.world.ensembles.append(ensemble)
        answer = self.ask("POST", "/v1/ensembles", ensemble.spec, name if keyed else None, wanted=(201,))
        if answer is None or answer[0] != 201:
            return
        ensemble.id, ensemble.answered = answer[1]["id"], True
        if answer[1]["name"] != name or answer[1]["count"] != len(ensemble.spec["members"]["parameters"]["grid"]["i"]):
            self.world.violation("answers", f"{name} was answered with {answer[1]}")
        self.mine.append(ensemble)

    def saw(self, ensemble, what, reply, settle=True):
        ensemble.check(self.world, what, reply["state"], reply["width"], settle)

    def change(self, ensemble, kind, method, url, body, apply):
        """A change without a key: apply(ensemble, sure) notes that it holds, or may hold."""
        apply(ensemble, False)
        ensemble.perhaps[kind] = ensemble.perhaps.get(kind, 0) + 1
        answer = self.ask(method, url, body, wanted=(200, 409))
        if answer is None:
            return
        if answer[0] == 200:
            apply(ensemble, True)
            self.saw(ensemble, url, answer[1])
        elif answer[1]["code"] == "ensemble_over":
            ensemble.over = True
            self.get(ensemble)
        else:
            self.world.violation("answers", f"{method} {url}: {answer}")

    def get(self, ensemble):
        answer = self.ask("GET", f"/v1/ensembles/{ensemble.id}", wanted=(200,))
        if answer is not None and answer[0] == 200:
            self.saw(ensemble, "GET", answer[1])

    def resize(self, ensemble):
        width = self.random.randint(1, 5)
        body = {"width": width}
        if self.random.random() < 0.4:
            body["when"] = "now"

        def apply(e, sure):
            e.widths = {width} if sure else e.widths | {width}
        self.change(ensemble, "ensemble.resized", "PATCH", f"/v1/ensembles/{ensemble.id}", body, apply)

    def pause(self, ensemble, yes=True):
        def apply(e, sure):
            e.paused = {yes} if sure else e.paused | {yes}
        verb = "pause" if yes else "resume"
        self.change(ensemble, f"ensemble.{verb}d", "POST", f"/v1/ensembles/{ensemble.id}/{verb}", {}, apply)

    def cancel(self, ensemble):
        ensemble.cancelled = ensemble.cancelled | {True}
        answer = self.ask("POST", f"/v1/ensembles/{ensemble.id}/cancel", {}, wanted=(202,))
        if answer is not None and answer[0] == 202:
            if answer[1]["state"] not in OVER:
                self.world.violation("answers", f"cancel of {ensemble.id}: {answer}")
            self.saw(ensemble, "cancel", answer[1])

    def resubmit(self, ensemble):
        self.serial += 1
        member = self.random.random() < 0.4
        place = f"/members/{self.random.randrange(1)}" if member else ""
        was_over, ensemble.over = ensemble.over, False
        ensemble.paused = ensemble.paused | {False}  # one that was paused and complete is running, also before the answer comes
        answer = self.ask("POST", f"/v1/ensembles/{ensemble.id}{place}/resubmit", {}, f"r{self.number}.{self.serial}",
                          wanted=(202, 409))
        status, reply = answer
        if status == 202:
            if reply["resubmitted"] > 0:
                ensemble.resubmitted += 1
                ensemble.paused = {False, True}
            elif was_over:
                ensemble.over = True
        elif reply.get("code") == "ensemble_over":
            ensemble.over = True
        elif reply.get("code") == "member_succeeded":
            ensemble.over = was_over
        else:
            self.world.violation("answers", f"resubmit of {ensemble.id}: {answer}")
        self.get(ensemble)

    def token(self):
        made = [t for t in self.world.tokens if t[0].startswith(f"t{self.number}.") and t[2] == "made"]
        if made and self.random.random() < 0.5:
            made[0][2] = "revoking"
            answer = self.ask("DELETE", f"/v1/tokens/{made[0][1]}", wanted=(200,))
            if answer is not None and answer[0] == 200:
                made[0][2] = "revoked"
            return
        self.serial += 1
        token = [f"t{self.number}.{self.serial}", None, "asked"]
        with self.world.lock:
            self.world.tokens.append(token)
        answer = self.ask("POST", "/v1/tokens", {"role": "reader", "label": token[0]}, wanted=(201,))
        if answer is not None and answer[0] == 201:
            token[1:] = [answer[1]["id"], "made"]

    def step(self):
        r = self.random
        live = [e for e in self.mine if not e.over] or self.mine
        room = sum(1 for e in self.world.ensembles if not e.over) < self.world.options.live
        if not live or (room and r.random() < 0.25):
            return self.submit() if room or not live else None
        e = r.choice(live[-4:])
        action = r.choices([self.get, self.resize, self.pause, lambda e: self.pause(e, False), self.cancel,
                            self.resubmit, lambda e: self.token()], [4, 5, 2, 3, 0.5, 2, 2])[0]
        return action(e)

    def run(self):
        try:
            while not self.world.over:
                self.step()
                time.sleep(self.random.random() * self.world.options.think)
            for e in self.mine:  # nothing stays paused
                while not e.over and e.paused != {False}:
                    self.pause(e, False)
        except Exception as e:  # the driver tells
            self.error = e
            self.world.violation("test", f"{self.name}: {e!r}")
            raise
