"""The jobs of an emulated PBS, and the nodes that run them: real processes, started as a MOM starts them.

What a MOM does (documented: resmom/start_exec.c and mom_mach.c of both): it starts the job's shell as the leader of a session, with
the name of the spooled script on its standard input, so that the script is a child of that shell. Signals go to every process of
that session, the shell among them; those that have left the session get none. When the shell ends the job does, and what is left of
it is killed."""
import copy
import os
import pwd
import re
import shutil
import signal
import subprocess
import time

from private_server import descendants, processes, send

NODES = {"n1": (4, 2), "n2": (4, 2), "s3": (3, 0), "s1": (1, 0)}  # CPUs, GPUs
QUEUES = {"main": ["n1", "n2"], "slots3": ["s3"], "slots1": ["s1"]}
SERVER = "testpbs"
WALLTIME_OVER = {True: -11, False: -29}  # Torque, OpenPBS: seen
NODE_LOST = -20  # OpenPBS: seen
NO_SHELL = 254  # OpenPBS: seen


def seconds(text):
    """"90", "1:30", "01:00:00" """
    total = 0
    for part in text.split(":"):
        total = 60 * total + int(part)
    return total


class Job:
    """state is a letter of qstat's; chunks: (count, CPUs of each, GPUs of each). Of an array: itself, whose index is "", and each of
    its subjobs, which OpenPBS knows as jobs of their own only while they run, and afterwards if it keeps a history."""

    def __init__(self, number, request, index=None):
        self.id = f"{number}.{SERVER}" if index is None else f"{number}[{index}].{SERVER}"
        self.request, self.index, self.array = request, index, None if index is None else f"{number}[].{SERVER}"
        self.state, self.substate, self.hold = "Q", 10, "n"
        self.exit_status, self.run_count, self.comment = None, 0, ""
        self.created, self.started, self.over = time.time(), None, None
        self.pid, self.nodes, self.nodes_last, self.kill_at, self.why, self.hidden = None, [], [], None, None, False
        self.not_before = 0.0

    @property
    def is_array(self):
        return self.index == ""

    @property
    def is_subjob(self):
        return self.array is not None and not self.is_array

    @property
    def name(self):
        name = self.request["variables"].get("STRETTO_RUNNER", self.request["name"])
        stem = re.fullmatch(r"(.*?)([0-9]+)\+", name)
        return f"{stem[1]}{int(stem[2]) + self.index}" if self.is_subjob and stem else name

    def snapshot(self):
        return copy.copy(self)


class Pbs:
    def __init__(self, directory, torque, history, settings):
        self.directory, self.torque, self.history = directory, torque, history
        self.kill_delay = float(settings.get("kill_delay", 2))
        self.walltime_max = int(settings.get("walltime_max", 3600))
        self.array_max = int(settings.get("array_max", 10000))
        self.jobs, self.next_id, self.up = {}, 0, True
        self.running = {}  # pid: the job, whatever the server knows of it
        self.ports, self.connected, self.connections = int(settings.get("ports", 511)), [], 0
        self.saved, self.counts, self.delays = None, {}, {}
        self.lose, self.refusal, self.cut, self.empty, self.disabled = None, None, False, False, set()
        self.foreign = False
        self.crashed = False  # by the command that was just answered
        self.user = pwd.getpwuid(os.getuid()).pw_name
        os.makedirs(os.path.join(directory, "spool"), mode=0o700, exist_ok=True)

    def connect(self, n):
        """Each connection takes a port below 1024 of the host, and blocks it for a minute (documented: net_client.c; seen)."""
        self.connected = [when for when in self.connected if time.monotonic() - when < 60]
        fits = len(self.connected) + n <= self.ports
        if fits:
            self.connected += n * [time.monotonic()]
            self.connections += n
        return fits

    def spool(self, job, suffix):
        return os.path.join(self.directory, "spool", job.id + suffix)

    # --- in the queue

    def submit(self, request):
        job = Job(self.next_id, request, "" if request["indices"] else None)
        self.jobs[job.id] = job
        for each in [Job(self.next_id, request, index) for index in request["indices"]] or [job]:
            with open(os.open(self.spool(each, ".SC"), os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o700), "w", encoding="utf-8",
                      errors="surrogateescape") as f:
                f.write(request["script"])
            self.jobs[each.id] = each
        self.next_id += 1
        return job

    def subjobs(self, array):
        return [job for job in self.jobs.values() if job.array == array.id and job.is_subjob]

    def update_array(self, job):
        """An array has begun with the first of its subjobs, and is over with the last."""
        array = self.jobs.get(job.array)
        if array is None:
            return
        states = {each.state for each in self.subjobs(array)}
        if states & set("REFC") and array.hold == "n":
            array.state, array.started = "B", array.started or time.time()
            array.comment = time.strftime("Job Array Began at %a %b %d at %H:%M", time.localtime(array.started))  # seen
        if states <= set("FC"):
            array.state, array.over = "C" if self.torque else "F", time.time()
            if not self.history:
                for each in [array, *self.subjobs(array)]:
                    self.jobs.pop(each.id, None)

    def used(self, node):
        on = [chunk for job in self.running.values() for chunk in job.nodes if chunk[0] == node]
        return sum(chunk[1] for chunk in on), sum(chunk[2] for chunk in on)

    def place(self, job, empty=False):
        """Chunks of several on nodes of their own (place=scatter, Torque's nodes=N); None if there is no room."""
        taken, wanted = [], [(cpus, gpus) for count, cpus, gpus in job.request["chunks"] for _ in range(count)]
        for cpus, gpus in wanted:
            for node in QUEUES[job.request["queue"]]:
                used = (0, 0) if empty else self.used(node)
                if node not in [each[0] for each in taken] and used[0] + cpus <= NODES[node][0] and used[1] + gpus <= NODES[node][1]:
                    taken.append((node, cpus, gpus))
                    break
            else:
                return None
        return taken

    def schedule(self):
        for job in [job for job in self.jobs.values() if job.state == "Q" and time.time() >= job.not_before and not job.is_array]:
            if job.is_subjob and self.jobs[job.array].hold != "n":
                continue
            nodes = self.place(job)
            if nodes is not None:
                self.start(job, nodes)
                continue
            if not self.torque:  # documented: scheduler/constant.h; Torque's scheduler says nothing
                cpus = sum(count * each for count, each, _ in job.request["chunks"])
                asked = f"Insufficient amount of resource: ncpus (R: {cpus} A: 0 T: 4)"
                job.comment = (("Can Never Run: " if self.place(job, empty=True) is None else "Not Running: ") + asked)
                if job.is_subjob:
                    self.jobs[job.array].comment = job.comment

    # --- on a node

    def environment(self, job):
        entry = pwd.getpwuid(os.getuid())
        env = {"HOME": os.environ.get("HOME", entry.pw_dir), "USER": self.user, "LOGNAME": self.user, "SHELL": entry.pw_shell,
               "PATH": "/usr/local/bin:/usr/bin:/bin", "PBS_ENVIRONMENT": "PBS_BATCH", "ENVIRONMENT": "BATCH",
               "PBS_JOBID": job.id, "PBS_JOBNAME": job.request["name"], "PBS_QUEUE": job.request["queue"],
               "PBS_NODEFILE": self.spool(job, ".nodes")}
        cpus = str(job.request["chunks"][0][1])
        env.update({"PBS_NUM_PPN": cpus, "PBS_VERSION": "TORQUE-6.1.3"} if self.torque else {"NCPUS": cpus, "OMP_NUM_THREADS": cpus})
        env.update(job.request["variables"])
        if job.is_subjob:
            env["PBS_ARRAYID" if self.torque else "PBS_ARRAY_INDEX"] = str(job.index)
        return env

    def start(self, job, nodes):
        shell = job.request["shell"] or "/bin/sh"
        with open(self.spool(job, ".nodes"), "w", encoding="utf-8") as f:
            for node, cpus, _ in nodes:
                f.write((node + "\n") * (cpus if self.torque else 1))  # mpiprocs is 1
        job.run_count += 1
        job.comment = time.strftime("Job run at %a %b %d at %H:%M on ") + self.exec_vnode(nodes)
        with open(self.spool(job, ".OU"), "ab") as out, open(self.spool(job, ".ER"), "ab") as err:
            env = self.environment(job)
            with open(self.spool(job, ".env"), "wb") as f:
                f.write(b"".join(f"{name}={value}\0".encode("utf-8", "surrogateescape") for name, value in env.items()))
            try:
                process = subprocess.Popen(["-" + os.path.basename(shell)], executable=shell, env=env, cwd=env["HOME"],
                                           stdin=subprocess.PIPE, stdout=out, stderr=out if job.request["join"] else err,
                                           start_new_session=True)
            except OSError as error:
                print(error, flush=True)
                if self.torque:  # documented: the job is held after some attempts
                    job.state, job.hold = "H", "s"
                    job.comment = "job held, too many failed attempts to run"
                else:  # seen
                    job.started, job.nodes_last = time.time(), nodes
                    self.finish(job, NO_SHELL, 92)
                return
        try:
            process.stdin.write(self.spool(job, ".SC").encode() + b"\n")
            process.stdin.close()
        except OSError:
            pass
        process.returncode = 0  # reaped by turn(), with all others
        job.pid, job.nodes, job.state, job.substate, job.started, job.kill_at, job.why = process.pid, nodes, "R", 42, time.time(), None, None
        job.exit_status = None
        self.running[job.pid] = job
        self.update_array(job)

    @staticmethod
    def exec_vnode(nodes):
        return "+".join(f"({node}:ncpus={cpus})" for node, cpus, _ in nodes)

    def exec_host(self, job):
        if self.torque:
            return "+".join(f"{node}/{i}" for node, cpus, _ in job.nodes for i in range(cpus))
        return "+".join(f"{node}/0" + (f"*{cpus}" if cpus > 1 else "") for node, cpus, _ in job.nodes)

    def signal(self, job, number):
        for pid, (_, session, _) in processes().items():
            if session == job.pid:
                send(pid, number)

    def kill_work(self, job):
        """All that is left of it, as by a control group."""
        mark = f"PBS_NODEFILE={self.spool(job, '.nodes')}".encode()
        for _ in range(200):
            left = 0
            for pid, (_, session, _) in processes().items():
                try:
                    with open(f"/proc/{pid}/environ", "rb") as f:
                        own = mark in f.read().split(b"\0") or session == job.pid
                except OSError:
                    continue
                if own:
                    send(pid, signal.SIGKILL)
                    left += 1
            self.reap()
            if not left:
                return
            time.sleep(0.005)

    def terminate(self, job, why=None):
        """TERM, and KILL after the delay (documented: kill_delay)."""
        job.why = why
        self.signal(job, signal.SIGTERM)
        job.kill_at = time.time() + self.kill_delay

    def delete(self, job):
        if job.is_array:
            for each in self.subjobs(job):
                if each.state not in "FC":
                    self.delete(each)
        elif job.state == "R":
            self.terminate(job)
        else:
            self.finish(job, None, 91)

    def finish(self, job, exit_status, substate):
        job.exit_status, job.substate, job.over = exit_status, substate, time.time()
        job.state = "C" if self.torque else "F"
        if job.is_subjob:
            self.update_array(job)
        elif not self.history:
            self.jobs.pop(job.id, None)

    def deliver(self, job):
        """The spooled output, where it was asked for."""
        for suffix, path in ((".OU", job.request["output"]), (".ER", None if job.request["join"] else job.request["error"])):
            try:
                if self.torque and job.is_subjob and path:  # documented: job_func.c
                    path = f"{path}-{job.index}"
                if path and path != "/dev/null":
                    shutil.copyfile(self.spool(job, suffix), path.split(":", 1)[1] if re.match(r"[^/]*:", path) else path)
            except OSError:
                pass
            if os.path.exists(self.spool(job, suffix)):
                os.unlink(self.spool(job, suffix))

    def ended(self, job, status):
        """Its shell has: what is left of the job goes with it."""
        self.running.pop(job.pid, None)
        self.kill_work(job)
        self.deliver(job)
        job.nodes_last, job.nodes = job.nodes, []
        if job.why == "requeue":
            job.state, job.substate, job.exit_status, job.pid = "Q", 10, NODE_LOST, None
            job.not_before = time.time() + 3
            self.update_array(job)
        elif job.why == "walltime":
            self.finish(job, WALLTIME_OVER[self.torque], 93)
        elif job.why == "node":
            if job.is_subjob:  # seen: it is listed without exec_host
                job.nodes_last = []
            self.finish(job, NODE_LOST, 93)
        elif job.why == "rerun":  # seen of a subjob: it is over, with status 0
            self.finish(job, 0, 92)
        else:  # seen: 256+N where the shell was signalled
            self.finish(job, 256 + os.WTERMSIG(status) if os.WIFSIGNALED(status) else os.WEXITSTATUS(status), 92)

    def reap(self):
        try:
            while True:
                pid, status = os.waitpid(-1, os.WNOHANG)
                if pid == 0:
                    return
                if pid in self.running:
                    self.running[pid].over_status = status
        except ChildProcessError:
            pass

    def has_deadlines(self):
        return bool(self.running)

    def turn(self):
        self.reap()
        now = time.time()
        for job in list(self.running.values()):
            if hasattr(job, "over_status"):
                if self.up:  # its end is told when the server is back: seen
                    status = job.over_status
                    del job.over_status
                    self.ended(job, status)
            elif job.kill_at is not None and now > job.kill_at:
                job.kill_at = now + 1
                self.signal(job, signal.SIGKILL)
            elif job.kill_at is None and job.request["walltime"] and now > job.started + job.request["walltime"]:
                self.terminate(job, "walltime")
        if self.up:
            self.schedule()

    # --- faults

    def fault(self, verb, *words):
        if verb == "save":
            self.saved = ({key: job.snapshot() for key, job in self.jobs.items()}, self.next_id)
        elif verb == "rollback":
            self.jobs, self.next_id = {key: job.snapshot() for key, job in self.saved[0].items()}, self.saved[1]
            for pid, job in list(self.running.items()):  # those that it does not know any more run on, unseen
                if job.id in self.jobs and self.jobs[job.id].pid == pid:
                    self.running[pid] = self.jobs[job.id]
        elif verb == "next-id":
            self.next_id = int(words[0])
        elif verb == "lose-answer":
            self.lose = words[0]
        elif verb == "refuse":
            self.refusal = (int(words[0]), " ".join(words[1:]))
        elif verb in ("disable", "enable"):
            (self.disabled.add if verb == "disable" else self.disabled.discard)(words[0])
        elif verb in ("cut", "empty", "foreign"):
            setattr(self, verb, True)
        elif verb == "purge":
            self.jobs = {key: job for key, job in self.jobs.items() if job.state not in "FC"}
        elif verb == "work":
            return "\n".join(f"{pid} {command}" for pid, command in descendants(os.getpid()).items())
        elif verb == "connections":
            return str(self.connections)
        elif verb == "counts":
            return "\n".join(f"{name} {n}" for name, n in sorted(self.counts.items()))
        elif verb == "jobs":
            return "\n".join(f"{job.name} {job.id} {job.state}" for job in self.jobs.values() if not job.is_array)
        else:
            self.fault_of_job(verb, self.jobs[words[0]])
        return ""

    def fault_of_job(self, verb, job):
        if verb in ("requeue", "lose-node", "rerun"):
            job.why = "node" if verb == "lose-node" else verb
            self.signal(job, signal.SIGKILL)
        elif verb == "lose-mom":  # seen: only the MOM died, and what it had started goes on
            self.running.pop(job.pid, None)
            job.nodes_last, job.nodes = [] if job.is_subjob else job.nodes, []
            self.finish(job, NODE_LOST, 93)
        elif verb == "hold-failed":
            job.state, job.hold, job.comment = "H", "s", "job held, too many failed attempts to run"
        elif verb in ("hide", "show"):
            job.hidden = verb == "hide"
        else:
            raise RuntimeError(f"unknown command {verb}")
