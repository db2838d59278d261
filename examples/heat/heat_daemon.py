"""A separate strettod for an experiment: started in a given directory, and called over its Unix socket."""

import http.client
import json
import os
import socket
import subprocess
import sys
import time


class _Connection(http.client.HTTPConnection):
    def __init__(self, path):
        super().__init__("stretto", timeout=60)
        self._path = path

    def connect(self):
        self.sock = socket.socket(socket.AF_UNIX)
        self.sock.settimeout(self.timeout)
        self.sock.connect(self._path)


class Daemon:
    """A strettod from PATH with so many CPU slots. A context manager, which ends it and all that it runs."""

    def __init__(self, directory, slots):
        self.state = os.path.join(directory, "state")
        config = os.path.join(directory, "config.json")
        with open(config, "w", encoding="utf-8") as file:
            json.dump({"adapters": {"local": {"slots": slots}}}, file)
        self._log = os.path.join(directory, "strettod.log")
        with open(self._log, "ab") as log:
            self._process = subprocess.Popen(["strettod", "--config", config, "--state-dir", self.state],
                                             stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        self._running = set()
        self.wait(self._is_ready, 30, "the daemon to get ready")

    def _is_ready(self):
        if self._process.poll() is not None:
            raise RuntimeError(f"strettod ended with {self._process.returncode}: see {self._log}")
        try:
            self.call("GET", "/readyz")
        except (OSError, RuntimeError):
            return False
        return True

    def wait(self, condition, seconds, what, every=0.02):
        """Wait until the condition holds, looking again and again, and return its value."""
        until = time.monotonic() + seconds
        while True:
            value = condition()
            if value:
                return value
            if time.monotonic() > until:
                raise RuntimeError(f"waited {seconds} s in vain for {what}")
            time.sleep(every)

    def call(self, method, path, body=None):
        """Return the answer to a request. Raises RuntimeError with the daemon's reason where it refuses."""
        connection = _Connection(os.path.join(self.state, "stretto.sock"))
        try:
            headers = {} if body is None else {"Content-Type": "application/json"}
            connection.request(method, path, None if body is None else json.dumps(body), headers)
            reply = connection.getresponse()
            data = reply.read()
        finally:
            connection.close()
        answer = json.loads(data) if data.startswith(b"{") else {}
        if reply.status >= 400:
            raise RuntimeError(f"{method} {path}: {reply.status} {answer.get('pointer', '')} "
                               f"{answer.get('detail', '')}")
        return answer

    def submit(self, spec):
        number = self.call("POST", "/v1/ensembles", spec)["id"]
        self._running.add(number)
        return number

    def status(self, number):
        """Return the ensemble. Raises RuntimeError where it, its training or one of its members has failed."""
        ensemble = self.call("GET", f"/v1/ensembles/{number}")
        training = (ensemble["training"] or {}).get("state")
        if ensemble["state"] in ("cancelled", "failed") or training == "failed" or ensemble["members"]["failed"] > 0:
            raise RuntimeError(f"ensemble {number} has failed: {self._why(number, ensemble)}")
        if ensemble["state"] == "complete":
            self._running.discard(number)
        return ensemble

    def _why(self, number, ensemble):
        """Return the known reasons of the failure, in the daemon's words."""
        reasons = [ensemble.get("reason"), (ensemble["training"] or {}).get("reason")]
        failed = self.call("GET", f"/v1/ensembles/{number}/members?state=failed&limit=3")["members"]
        reasons += [f"member {member['index']}: {member.get('reason')}" for member in failed]
        return "; ".join(reason for reason in reasons if reason) or "no reason is known"

    def complete(self, number, seconds):
        """Wait for the end of an ensemble, and return the ensemble."""
        def over():
            ensemble = self.status(number)
            return ensemble if ensemble["state"] == "complete" else None

        return self.wait(over, seconds, f"ensemble {number} to end", 0.1)

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        if self._process.poll() is None:
            for number in self._running:
                self._end(number)
            self._process.terminate()
        self._process.wait()

    def _end(self, number):
        """Cancel an ensemble; returns when nothing of it runs any more."""
        jobs = f"/v1/jobs?ensemble={number}"
        try:
            self.call("POST", f"/v1/ensembles/{number}/cancel")
            self.wait(lambda: all(job["state"] == "ended" for job in self.call("GET", jobs)["jobs"]), 60, "jobs to end")
        except (OSError, RuntimeError) as error:
            print(f"heat_table: {error}", file=sys.stderr)
