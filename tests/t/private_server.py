"""What private batch systems of tests have in common: they are served in the foreground, take commands by a socket in their
directory, and end with whoever started them, however that ends, and with them everything that they started."""
import ctypes
import os
import pwd
import re
import select
import signal
import socket
import subprocess
import sys
import time

PR_SET_CHILD_SUBREAPER = 36
PATIENCE = int(os.environ.get("STRETTO_TEST_PATIENCE", "5"))  # as lib.sh has it


def processes():
    """pid: (parent, session, command)"""
    found = {}
    for entry in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{entry}/stat", encoding="utf-8", errors="replace") as f:
                text = f.read()
            with open(f"/proc/{entry}/cmdline", encoding="utf-8", errors="replace") as f:
                command = f.read().replace("\0", " ").strip()
        except (OSError, ValueError):
            continue
        rest = text[text.rindex(")") + 2:].split()
        if rest[0] not in "ZX":
            found[int(entry)] = (int(rest[1]), int(rest[3]), command)
    return found


def descendants(root):
    """pid: command"""
    found, tree = processes(), {}
    for pid, (parent, _, _) in found.items():
        tree.setdefault(parent, []).append(pid)
    wanted, todo = {}, list(tree.get(root, []))
    while todo:
        pid = todo.pop()
        wanted[pid] = found[pid][2]
        todo += tree.get(pid, [])
    return wanted


def free_ports(n):
    sockets = [socket.socket() for _ in range(n)]
    for each in sockets:
        each.bind(("127.0.0.1", 0))
    ports = [each.getsockname()[1] for each in sockets]
    for each in sockets:
        each.close()
    return ports


def reap():
    try:
        while os.waitpid(-1, os.WNOHANG)[0] != 0:
            pass
    except ChildProcessError:
        pass


def send(pid, number):
    try:
        os.kill(pid, number)
    except OSError:
        pass


def kill_all():
    """Everything below us: what loses its parent becomes our child."""
    while True:
        left = descendants(os.getpid())
        if not left:
            return
        for pid in left:
            send(pid, signal.SIGKILL)
        reap()
        time.sleep(0.01)


def answer(server, listener):
    client, _ = listener.accept()
    with client, client.makefile("rw") as stream:
        try:
            reply = "ok\n" + server.do(*stream.readline().split())
        except (RuntimeError, OSError, KeyError, IndexError) as error:
            reply = f"failed\n{error}"
        except SystemExit:
            stream.write("ok\n")
            stream.flush()
            raise
        stream.write(reply)


class Server:
    """Its daemons, and what they write in its directory. Further: start_all(), and do(VERB, WORD...), which answers a command."""

    def __init__(self, directory):
        self.directory = os.path.realpath(directory)
        self.environment = {}
        self.daemons = {}  # name: pid
        self.user = pwd.getpwuid(os.getuid()).pw_name

    def path(self, *names):
        return os.path.join(self.directory, *names)

    def spawn(self, name, argv):
        with open(self.path(f"{name}.out"), "ab") as out:
            self.daemons[name] = os.posix_spawnp(argv[0], argv, self.environment, file_actions=[
                (os.POSIX_SPAWN_OPEN, 0, "/dev/null", os.O_RDONLY, 0), (os.POSIX_SPAWN_DUP2, out.fileno(), 1),
                (os.POSIX_SPAWN_DUP2, out.fileno(), 2)], setsigdef=[signal.SIGTERM, signal.SIGINT, signal.SIGCHLD])

    def is_up(self, name):
        reap()
        return self.daemons.get(name) in processes()

    def wait(self, what, condition, needed=()):
        until = time.monotonic() + 30 * PATIENCE
        while not condition():
            for name in needed:
                if not self.is_up(name):
                    raise RuntimeError(f"{name} has ended: {self.path(name)}.out")
            if time.monotonic() > until:
                raise RuntimeError(f"waited in vain for {what}")
            time.sleep(0.02)

    def ask(self, *argv):
        done = subprocess.run(argv, env=self.environment, stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else None

    def kill(self, name):
        os.kill(self.daemons[name], signal.SIGCONT)
        os.kill(self.daemons[name], signal.SIGKILL)
        self.wait(f"{name} to end", lambda: not self.is_up(name))

    def work(self, own):
        """What runs besides the daemons, and besides commands that match `own`: pid and command, a line each."""
        ours = set(self.daemons.values())
        return "\n".join(f"{pid} {command}" for pid, command in descendants(os.getpid()).items()
                         if pid not in ours and not re.match(own, command))

    def turn(self):
        """Now and then, while nothing is asked."""


def become_parent_of_all(parent):
    """Signals end us by SystemExit. A descriptor that is readable once `parent`, who started us, has ended."""
    ctypes.CDLL(None).prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda *_: sys.exit(0))
    starter = os.pidfd_open(parent)
    if os.getppid() != parent:
        sys.exit(1)
    return starter


def end_all():
    """End everything; signals are ignored from here on."""
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)
    kill_all()


def serve(parent, server):
    os.makedirs(server.directory, mode=0o700, exist_ok=True)
    starter = become_parent_of_all(parent)
    try:
        server.start_all()
        with socket.socket(socket.AF_UNIX) as listener:
            listener.bind(server.path("control"))
            listener.listen(10)
            print("ready", flush=True)
            while True:
                ready = select.select([starter, listener], [], [], 0.3)[0]
                reap()
                if not ready:
                    server.turn()
                if starter in ready:
                    return
                if listener in ready:
                    answer(server, listener)
    finally:
        end_all()


def ask(directory, words):
    with socket.socket(socket.AF_UNIX) as client:
        client.connect(os.path.join(directory, "control"))
        with client.makefile("rw") as stream:
            stream.write(" ".join(words) + "\n")
            stream.flush()
            status, _, text = stream.read().partition("\n")
    if text:
        print(text, file=sys.stdout if status == "ok" else sys.stderr)
    return 0 if status == "ok" else 1
