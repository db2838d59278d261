"""The commands of an emulated PBS: what they take, print and return. Exit statuses are the errors' numbers, of which a process can
return eight bits: 15001, an unknown id, is 153 (seen). OpenPBS and Torque number some of them differently (pbs_error.h of OpenPBS,
pbs_error_db.h of Torque), which is why an unknown queue is 170 with one and 172 with the other (seen)."""
import getopt
import json
import os
import re
import signal
import time
from xml.sax.saxutils import escape

from pbs_jobs import NODES, QUEUES, SERVER, seconds

VERBS = ("qsub", "qstat", "qdel", "qsig", "qrerun", "qhold", "qrls")
HOST = os.uname().nodename
QSUB_OPTIONS = {False: "a:A:c:C:e:fhIj:J:k:l:m:M:N:o:p:P:q:r:R:S:u:v:VW:XzG:",
                True: "a:A:b:c:C:d:D:e:EfF:hi:Ij:J:k:K:l:L:m:M:nN:o:p:P:q:r:S:t:T:u:v:Vw:W:Xxz"}
QSTAT_OPTIONS = {False: "aeinpqrstwxu:fGHJMQEBW:T1F:D:", True: "acCeE:filn1pqrstu:xGMQRBW:"}
MESSAGES = {"unknown-id": {False: (15001, "Unknown Job Id"), True: (15001, "Unknown Job Id Error")},
            "unknown-queue": {False: (15018, "Unknown queue"), True: (15020, "Unknown queue MSG=cannot locate queue")},
            "disabled": {False: (15022, "Queue is not enabled"), True: (15024, "Queue is not enabled")},
            "unknown-resource": {False: (15035, "Unknown resource"), True: (15037, "Unknown resource type ")},
            "state": {False: (15016, "Request invalid for state of job"), True: (15018, "Request invalid for state of job")},
            "limits": {False: (15036, "Job violates queue and/or server resource limits"),
                       True: (15038, "Job exceeds queue resource limits MSG=cannot satisfy queue max walltime requirement")},
            "nodes": {True: (15038, "Job exceeds queue resource limits MSG=cannot locate feasible nodes (nodes file is empty, all "
                                    "systems are busy, or no nodes have the requested feature)")},
            "finished": {False: (15139, "Job has finished"), True: (15018, "Request invalid for state of job")},
            "signal": {False: (15013, "Unknown/illegal signal name"), True: (15015, "Unknown/illegal signal name")}}
RESOURCES = {"walltime", "mem", "select", "place", "nodes", "ncpus", "pmem", "vmem", "pvmem", "ngpus", "cput", "software", "file"}


class Refused(Exception):
    def __init__(self, status, text):
        super().__init__(text)
        self.status, self.text = status & 255, text


def refusal(pbs, what, about=""):
    number, text = MESSAGES[what][pbs.torque]
    return Refused(number, text + about)


def usage(verb, what):
    return Refused(2, f"{what}\nusage: {verb} [options] ...")


# --- qsub

def parse_chunks(pbs, options):
    """[(count, CPUs, GPUs)]; of OpenPBS `select`, of Torque `nodes`."""
    chunks = []
    for part in options.get("nodes" if pbs.torque else "select", "1").split("+"):
        count, cpus, gpus = 1, 1, 0
        for i, word in enumerate(part.split(":")):
            key, _, value = word.partition("=")
            if i == 0 and word.isdigit():
                count = int(word)
            elif key in ("ppn", "ncpus"):
                cpus = int(value)
            elif key in ("gpus", "ngpus"):
                gpus = int(value)
            elif not pbs.torque and key not in ("mem", "mpiprocs", "ompthreads", "host", "vnode", "arch"):
                raise Refused(15108, f'Resource invalid in "select" specification: {key}')
        chunks.append((count, cpus, gpus))
    return chunks


def variables(pbs, words, question):
    env, found = question["env"], {}
    for name, variable in (("HOME", "PBS_O_HOME"), ("LANG", "PBS_O_LANG"), ("LOGNAME", "PBS_O_LOGNAME"), ("PATH", "PBS_O_PATH"),
                           ("SHELL", "PBS_O_SHELL")):
        if name in env:
            found[variable] = env[name]
    found.update(PBS_O_WORKDIR=question["cwd"], PBS_O_SYSTEM="Linux", PBS_O_HOST=HOST)
    for word in filter(None, re.split(r"(?<!\\),", ",".join(words))):
        name, equals, value = word.partition("=")
        found[name] = value.replace("\\,", ",") if equals else env.get(name, "")
    return found


def parse_indices(pbs, options):
    """Documented: qsub.c of OpenPBS, array_func.c of Torque, whose -J is something else."""
    if pbs.torque and "-J" in options:
        raise usage("qsub", "qsub: -J is for job logs")
    if not pbs.torque and "-J" in options:
        found = re.fullmatch(r"([0-9]+)-([0-9]+)(?::([0-9]+))?", options["-J"])
        if not found or int(found[2]) <= int(found[1]):
            raise usage("qsub", "qsub: illegal -J value")
        if options.get("-r", "y") == "n":
            raise Refused(1, " cannot submit non-rerunable Array Job")
        indices = list(range(int(found[1]), int(found[2]) + 1, int(found[3] or 1)))
        if len(indices) > pbs.array_max:
            raise Refused(15107, "Array job exceeds server or queue size limit")
        return indices
    if not pbs.torque or "-t" not in options:
        return []
    indices = []
    for part in options["-t"].partition("%")[0].split(","):
        first, _, last = part.partition("-")
        indices += range(int(first), int(last or first) + 1)
    return indices


def qsub(pbs, question):
    argv = question["argv"]
    executable = argv[argv.index("--") + 1:] if "--" in argv and not pbs.torque else []
    given, operands = getopt.gnu_getopt(argv[:argv.index("--")] if executable else argv, QSUB_OPTIONS[pbs.torque])
    options, resources, names, lists = {}, {}, [], {}
    for key, value in given:
        options[key] = value
        if key == "-l":
            for word in value.split(",") if "select=" not in value and "nodes=" not in value else [value]:
                name, _, amount = word.partition("=")
                if name not in RESOURCES:
                    raise refusal(pbs, "unknown-resource", f" Resource_List.{name}")
                resources[name] = amount
        elif key == "-v":
            names.append(value)
        elif key == "-W":
            lists.update(word.split("=", 1) for word in [value])
    indices = parse_indices(pbs, options)
    if pbs.torque and len(options.get("-N", "")) > 230 or not re.fullmatch(r"[A-Za-z0-9_+.-]*", options.get("-N", "")):
        raise usage("qsub", "qsub: illegal -N value")
    if "-N" in options and len(options["-N"]) > 15:  # documented of Torque and of PBS Pro before 13: the least that there is
        raise usage("qsub", "qsub: illegal -N value")
    if options.get("-r", "y") not in ("y", "n") or options.get("-j", "n") not in ("oe", "eo", "n"):
        raise usage("qsub", "qsub: illegal value")
    queue = options.get("-q", "main")
    if queue not in QUEUES:
        raise refusal(pbs, "unknown-queue", f" {queue}" if pbs.torque else "")
    if queue in pbs.disabled:
        raise refusal(pbs, "disabled")
    walltime = seconds(resources.get("walltime", "0"))
    if walltime > pbs.walltime_max:
        raise refusal(pbs, "limits")
    chunks = parse_chunks(pbs, resources)
    if pbs.torque and (sum(count for count, _, _ in chunks) > len(QUEUES[queue]) or any(
            all(cpus > NODES[node][0] or gpus > NODES[node][1] for node in QUEUES[queue]) for _, cpus, gpus in chunks)):
        raise refusal(pbs, "nodes")
    if pbs.refusal is not None:
        (status, text), pbs.refusal = pbs.refusal, None
        raise Refused(status, text)
    script = question["script"]
    if executable:
        script = "exec " + " ".join("'" + word.replace("'", "'\\''") + "'" for word in executable) + "\n"
    elif operands:
        with open(operands[0], encoding="utf-8", errors="surrogateescape") as f:
            script = f.read()
    if not script:
        raise Refused(15042, "script file is empty")
    job = pbs.submit({"name": options.get("-N", "STDIN"), "queue": queue, "resources": resources, "chunks": chunks,
                      "walltime": walltime or pbs.walltime_max, "shell": options.get("-S"), "script": script,
                      "variables": variables(pbs, names, question), "join": options.get("-j", "n") != "n",
                      "output": options.get("-o"), "error": options.get("-e"), "account": options.get("-A"),
                      "rerunnable": options.get("-r", "y") == "y", "indices": indices,
                      "arguments": " ".join(argv)})
    if pbs.lose is not None:
        lose, pbs.lose = pbs.lose, None
        pbs.schedule()
        if lose == "hang":
            return None
        raise Refused(255, "End of File" if pbs.torque else "Connection reset by peer")
    return 0, job.id + "\n", ""


# --- qstat

def stamp(when):
    return time.strftime("%a %b %e %H:%M:%S %Y", time.localtime(when))


def attributes(pbs, job):
    """In the order and by the names of `qstat -f`."""
    r = job.request
    openpbs = not pbs.torque
    when = stamp if openpbs else (lambda t: str(int(t)))
    found = {"Job_Name": r["name"], "Job_Owner": f"{pbs.user}@{HOST}"}
    if job.started:
        end = job.over or time.time()
        found["resources_used"] = {"cput": "00:00:00", "mem": "1024kb", "ncpus": 1,
                                   "walltime": time.strftime("%H:%M:%S", time.gmtime(end - job.started))}
    found.update(job_state=job.state, queue=r["queue"], server=SERVER, Checkpoint="u", ctime=when(job.created))
    if r["account"]:
        found["Account_Name"] = r["account"]
    found["Error_Path"] = f"{HOST}:{r['error'] or question_path(r, 'e')}"
    nodes = job.nodes or job.nodes_last
    if job.started and nodes:
        on = pbs_host(pbs, job, nodes)
        found["exec_host"] = on
        if openpbs:
            found["exec_vnode"] = pbs.exec_vnode(nodes)
    found.update(Hold_Types=job.hold, Join_Path="oe" if r["join"] else "n", Keep_Files="n", Mail_Points="n", mtime=when(time.time()),
                 Output_Path=f"{HOST}:{r['output'] or question_path(r, 'o')}", Priority=0, qtime=when(job.created),
                 Rerunable=str(r["rerunnable"]))
    found["Resource_List"] = dict(r["resources"], nodect=sum(count for count, _, _ in r["chunks"]))
    if job.started:
        found["stime" if openpbs else "start_time"] = when(job.started)
        found["session_id"] = job.pid or 0
    if openpbs:
        found["substate"] = job.substate
    if r["shell"]:
        found["Shell_Path_List"] = r["shell"]
    found["Variable_List"] = r["variables"]
    if job.comment and openpbs:
        found["comment"] = job.comment
    found["etime"] = when(job.created)
    found["run_count" if openpbs else "start_count"] = job.run_count
    if job.is_subjob:
        found.update({"job_array_id": job.index} if pbs.torque else {"array_id": job.array, "array_index": job.index})
        found["Variable_List"] = dict(r["variables"], **({"PBS_ARRAYID": job.index} if pbs.torque else {}))
        if openpbs and job.state == "F" and pbs.jobs[job.array].state != "F":  # seen: F once the array is over
            found["job_state"] = "X"
    if job.is_array and openpbs:
        waiting = [each.index for each in pbs.subjobs(job) if each.state == "Q"]
        found.update(array=True, array_indices_submitted=ranges(r["indices"]), array_indices_remaining=ranges(waiting))
        found.pop("run_count")
    if job.exit_status is not None:
        found["Exit_status" if openpbs else "exit_status"] = job.exit_status
    found["Submit_arguments" if openpbs else "submit_args"] = r["arguments"]
    return found


def ranges(numbers):
    """0-3,5"""
    parts, at = [], 0
    while at < len(numbers):
        last = at
        while last + 1 < len(numbers) and numbers[last + 1] == numbers[last] + 1:
            last += 1
        parts.append(f"{numbers[at]}-{numbers[last]}" if last > at else str(numbers[at]))
        at = last + 1
    return ",".join(parts) or "-"


def listed_as(pbs, job):
    """A subjob of which the server keeps no record, as of one that never ran, is known by its array's attributes (documented:
    stat_job.c of OpenPBS)."""
    if pbs.torque or not job.is_subjob or job.state != "F" or (pbs.history and job.started):
        return attributes(pbs, job)
    found = attributes(pbs, pbs.jobs[job.array])
    for name in ("array", "array_indices_submitted", "array_indices_remaining"):
        found.pop(name)
    found.update(job_state="X" if pbs.jobs[job.array].state != "F" else "F", substate=92, comment="Subjob " + ("terminated" if job.exit_status is None else "failed" if job.exit_status
                                                                  else "finished"), Exit_status=2)
    return found


def is_listed(pbs, job, options, history):
    """Without being asked for by its id."""
    if job.is_subjob:
        return "-t" in options and (pbs.torque or history or pbs.jobs[job.array].state != "F")  # those that wait, too: seen
    return (history or job.state != "F") and not (pbs.torque and job.is_array and "-t" in options)


def question_path(request, suffix):
    return f"{request['variables'].get('PBS_O_WORKDIR', '/')}/{request['name']}.{suffix}"


def pbs_host(pbs, job, nodes):
    now, job.nodes = job.nodes, nodes
    text = pbs.exec_host(job)
    job.nodes = now
    return text


def foreign(pbs):
    """Another user's job, whose name is nobody's business."""
    return {"Job_Name": "caf\udce9 <\"&>", "Job_Owner": f"other@{HOST}", "job_state": "R", "queue": "main", "server": SERVER,
            "ctime": stamp(0) if not pbs.torque else "0", "Variable_List": {"PROMPT": "\x1b[31m$\x01 a,b", "N": "1", "EMPTY": ""},
            "comment": "]]> \\u00 \\"}


def as_json(listed):
    """As cJSON prints it: tabs, raw bytes of strings."""
    root = {"timestamp": int(time.time()), "pbs_version": "23.06.06", "pbs_server": SERVER}
    if listed:
        root["Jobs"] = dict(listed)
    return json.dumps(root, indent="\t", separators=(",", ":\t"), ensure_ascii=False) + "\n"


def as_xml(listed):
    def element(name, value):
        if name == "Variable_List":
            value = ",".join(f"{key}={text}" for key, text in value.items())
        inner = "".join(element(*pair) for pair in value.items()) if isinstance(value, dict) else escape(str(value), {'"': "&quot;"})
        return f"<{name}>{inner}</{name}>"

    jobs = "".join(f"<Job><Job_Id>{number}</Job_Id>" + "".join(element(*pair) for pair in found.items()) + "</Job>"
                   for number, found in listed)
    return f'<?xml version="1.0"?>\n<Data>{jobs}</Data>\n'


def as_text(listed):
    lines = ["Job ID                    Name             User            Time Use S Queue",
             "------------------------- ---------------- --------------- -------- - -----"]
    return "\n".join(lines + [f"{number:25} {found['Job_Name']:16} {found['Job_Owner'].split('@')[0]:15} 0 {found['job_state']} "
                              f"{found['queue']}" for number, found in listed]) + "\n"


def qstat(pbs, question):
    given, operands = getopt.getopt(question["argv"], QSTAT_OPTIONS[pbs.torque])
    options = dict(given)
    history = pbs.torque or "-x" in options
    err, status, listed = [], 0, []
    if not pbs.torque and "-x" in options and not pbs.history:  # documented: said, and the exit status is 0
        return 0, as_json([]) if options.get("-F") == "json" else "", "qstat: PBS is not configured to maintain job history\n"
    for job in [job for job in pbs.jobs.values() if not job.hidden]:
        if not operands and is_listed(pbs, job, options, history):
            listed.append((job.id, listed_as(pbs, job)))
    for operand in operands:
        job = find(pbs, operand)
        if job is not None and job.is_array and "-t" in options and not pbs.torque and (history or job.state != "F"):
            listed += [(one.id, listed_as(pbs, one)) for one in [job, *pbs.subjobs(job)]]
            continue
        if job is None or job.hidden:
            refused = refusal(pbs, "unknown-id", " " + operand)
        elif (pbs.jobs.get(job.array) or job).state == "F" and not history:
            refused = Refused(15139, f"{operand} Job has finished, use -x or -H to obtain historical job information")
        else:
            listed.append((job.id, listed_as(pbs, job)))
            continue
        err.append(f"qstat: {refused.text}\n")
        status = refused.status
    if pbs.foreign and not operands:
        listed.append((f"9999.{SERVER}", foreign(pbs)))
    if pbs.empty:
        pbs.empty, listed = False, []
    if pbs.torque and "-x" in options:
        out = as_xml(listed) if listed or not operands else ""
    elif options.get("-F") == "json":
        out = as_json(listed)
    else:
        out = as_text(listed)
    if pbs.cut:
        pbs.cut, out = False, out[:len(out) * 2 // 3]
    return status, out, "".join(err)


# --- orders about jobs

def find(pbs, number):
    return pbs.jobs.get(number if "." in number else f"{number}.{SERVER}")


def each(pbs, verb, operands, order):
    """Each by itself; the exit status is that of the last that failed."""
    err, status, out = [], 0, []
    for operand in operands:
        try:
            job = find(pbs, operand)
            if job is None:
                raise refusal(pbs, "unknown-id")
            if job.state in "FC":
                raise refusal(pbs, "finished")
            order(job)
        except Refused as refused:
            err.append(f"{verb}: {refused.text} {operand}\n")
            status = refused.status
    return status, "".join(out), "".join(err)


def subjobs_of_range(pbs, operand):
    """The jobs that 7[2-5].server names, or [] where it is no range."""
    found = re.fullmatch(r"([0-9]+)\[([0-9]+)-([0-9]+)\](?:\..*)?", operand)
    array = find(pbs, f"{found[1]}[]") if found and not pbs.torque else None
    return [job for job in pbs.subjobs(array) if int(found[2]) <= job.index <= int(found[3])] if array else []


def first_range(jobs):
    """Of subjobs of one array those whose indices follow one another, from the first on."""
    return [job for i, job in enumerate(jobs) if all(jobs[n].index == jobs[0].index + n for n in range(i + 1))]


def delete_together(pbs, operands):
    """What OpenPBS 23.06 makes of one qdel that names a waiting subjob (seen; it reads freed memory). Beside another array or a plain
    job: the server deletes the first, and dies. Beside others of its array: the first range alone is deleted. The exit status is 0, and
    nothing is said. None: it names no waiting subjob, or nothing beside it."""
    jobs = [job for operand in operands for job in (subjobs_of_range(pbs, operand) or [find(pbs, operand)])]
    if len(jobs) < 2 or not any(job is not None and job.is_subjob and job.state == "Q" for job in jobs):
        return None
    if any(job is None or job.array != jobs[0].array for job in jobs):
        for job in [job for job in jobs[:1] if job is not None and job.state not in "FC"]:
            pbs.delete(job)
        pbs.crashed = True
    else:
        for job in [job for job in first_range(jobs) if job.state not in "FC"]:
            pbs.delete(job)
    return 0, "", ""


def qdel(pbs, question):
    _, operands = getopt.getopt(question["argv"], "W:m:p" if pbs.torque else "W:x")
    together = None if pbs.torque else delete_together(pbs, operands)
    if together is None:
        together = each(pbs, "qdel", [job.id for operand in operands for job in subjobs_of_range(pbs, operand)] or operands, pbs.delete)
    return together


def qsig(pbs, question):
    given, operands = getopt.getopt(question["argv"], "s:")
    name = dict(given).get("-s", "TERM")
    number = int(name) if name.isdigit() else getattr(signal, name if name.startswith("SIG") else "SIG" + name, None)

    def order(job):
        if number is None:
            raise refusal(pbs, "signal")
        if job.state != "R":
            raise refusal(pbs, "state")
        pbs.signal(job, number)
    ranges_named = [(operand, subjobs_of_range(pbs, operand)) for operand in operands]
    status, out, err = each(pbs, "qsig", [operand for operand, jobs in ranges_named if not jobs], order)
    for operand, jobs in ranges_named:  # documented: req_signal.c: those that run; refused if none does
        running = [job for job in jobs if job.state == "R"]
        for job in running:
            order(job)
        if jobs and not running:
            refused = refusal(pbs, "state")
            status, err = refused.status, err + f"qsig: {refused.text} {operand}\n"
    return status, out, err


def qrerun(pbs, question):
    _, operands = getopt.getopt(question["argv"], "W:" if not pbs.torque else "f")

    def order(job):
        if job.state != "R":
            raise refusal(pbs, "state")
        if job.is_subjob and not pbs.torque:  # seen: exit status 0, and it does not run again
            pbs.fault_of_job("rerun", job)
            return
        pbs.fault_of_job("requeue", job)
        if not pbs.torque:  # seen: it says so, and does it
            raise Refused(163, "Response timed out")
    return each(pbs, "qrerun", operands, order)


def qhold(pbs, question):
    _, operands = getopt.getopt(question["argv"], "h:t:")

    def order(job):  # documented: one that runs, and cannot be checkpointed, runs on, and is marked
        if job.is_subjob and not pbs.torque:  # documented: req_holdjob.c
            raise Refused(15004, "Invalid request")
        job.hold = "u"
        if job.state == "Q":
            job.state = "H"
    return each(pbs, "qhold", operands, order)


def qrls(pbs, question):
    _, operands = getopt.getopt(question["argv"], "h:t:")

    def order(job):
        job.hold = "n"
        if job.state == "H":
            job.state = "Q"
    return each(pbs, "qrls", operands, order)


def connections(verb, argv):
    """How many a command makes (documented: qstat.c, qsig.c, qdel.c, qsub.c of OpenPBS): qdel one for all ids, the others one for each."""
    if verb in ("qsub", "qdel"):
        return 1
    options = {"qstat": QSTAT_OPTIONS[False] + QSTAT_OPTIONS[True], "qsig": "s:"}.get(verb, "h:t:W:f")
    try:
        return max(1, len(getopt.getopt(argv, options)[1]))
    except getopt.GetoptError:
        return 1


def no_ports(verb):
    """Documented: iff2.c, auth.c, pbsD_connect.c, cnt2server.c and the commands. The real ones try for a minute before they say so."""
    last = f"Couldn't connect to cluster: {SERVER}" if verb == "qdel" else f"{verb}: cannot connect to server {SERVER} (errno=15007)"
    return 15007 & 255, "", ("pbs_iff: cannot connect to host\npbs_iff: all reserved ports in use\nauth: error returned: 15007\n"
                             f"auth: Unable to authenticate connection ({SERVER}:15001)\nNo Permission.\n{last}\n")


def run(pbs, question):
    """(exit status, standard output, standard error), or None: it gets no answer."""
    verb = question["verb"]
    if not pbs.connect(connections(verb, question["argv"])):
        return no_ports(verb)
    try:
        answer = globals()[verb](pbs, question)
    except getopt.GetoptError as error:
        answer = (2, "", f"{verb}: {error}\nusage: {verb} [options] ...\n")
    except Refused as refused:
        text = f"submit error ({refused.text})" if verb == "qsub" and pbs.torque and refused.status not in (2, 255) else refused.text
        answer = (refused.status, "", f"{verb}: {text}\n")
    return answer
