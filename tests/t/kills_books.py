"""The books, as they lie in the database: what must hold of them at any moment, and what when all is over."""
import os
import shutil
import sqlite3

ANY_MOMENT = {
    "books: tallies are what the rows say":
        """SELECT e.id, t.state, t.n, (SELECT count(*) FROM member m WHERE m.ensemble = e.id AND m.state = t.state)
           FROM ensemble e JOIN tally t ON t.ensemble = e.id
           WHERE t.n <> (SELECT count(*) FROM member m WHERE m.ensemble = e.id AND m.state = t.state)
                 + CASE WHEN t.state = CASE e.state WHEN 'cancelled' THEN 'cancelled' ELSE 'pending' END
                   THEN e.count - (SELECT count(*) FROM member m WHERE m.ensemble = e.id) ELSE 0 END""",
    "books: rows are those below next_index":
        """SELECT e.id, e.next_index, count(m.idx), max(m.idx) FROM ensemble e LEFT JOIN member m ON m.ensemble = e.id
           GROUP BY e.id HAVING e.state <> 'cancelled' AND
               (e.next_index <> count(m.idx) OR e.next_index <> ifnull(max(m.idx) + 1, 0))""",
    "history: attempts are numbered from 1 on, without a gap":
        """SELECT m.ensemble, m.idx, m.attempts, count(a.number), max(a.number) FROM member m
           LEFT JOIN attempt a USING (ensemble, idx) GROUP BY m.ensemble, m.idx
           HAVING m.attempts <> count(a.number) OR m.attempts <> ifnull(max(a.number), 0)""",
    "history: only the last attempt is open, and then the member is under way":
        """SELECT m.ensemble, m.idx, m.state, a.number, a.outcome FROM member m JOIN attempt a USING (ensemble, idx)
           WHERE (a.number < m.attempts AND a.outcome IS NULL)
              OR (a.number = m.attempts AND (a.outcome IS NULL) <> (m.state IN ('submitted', 'running')))""",
    "history: what succeeded was not tried again, and nothing else succeeded":
        """SELECT m.ensemble, m.idx, m.state, a.number, a.outcome FROM member m JOIN attempt a USING (ensemble, idx)
           WHERE (a.outcome = 'succeeded' AND a.number < m.attempts)
              OR (a.number = m.attempts AND (a.outcome = 'succeeded') <> (m.state = 'succeeded'))""",
    "history: an open attempt has a job that has not ended":
        """SELECT a.ensemble, a.idx, a.number, j.name, j.state FROM attempt a JOIN job j ON j.id = a.job
           WHERE (a.outcome IS NULL AND j.state = 'ended') OR j.ensemble <> a.ensemble""",
    "history: times follow each other":
        """SELECT a.ensemble, a.idx, a.number, a.submitted, a.started, a.ended FROM attempt a
           WHERE a.submitted > a.started OR a.started > a.ended OR a.submitted > a.ended
              OR a.submitted < (SELECT b.ended FROM attempt b WHERE b.ensemble = a.ensemble AND b.idx = a.idx
                                AND b.number = a.number - 1)""",
    "books: each change is an event, once":
        """SELECT * FROM (
           SELECT e.id, 'member.submitted' AS kind, (SELECT count(*) FROM attempt a WHERE a.ensemble = e.id) AS n
           FROM ensemble e
           UNION ALL SELECT e.id, 'attempt.ended', (SELECT count(*) FROM attempt a WHERE a.ensemble = e.id
                                                    AND a.outcome IS NOT NULL) FROM ensemble e
           UNION ALL SELECT e.id, 'ensemble.submitted', 1 FROM ensemble e
           UNION ALL SELECT e.id, 'ensemble.cancelled', e.state = 'cancelled' FROM ensemble e) w
           WHERE w.n <> (SELECT count(*) FROM event v WHERE v.ensemble = w.id AND v.kind = w.kind)""",
    "books: jobs hold as many attempts as they say":
        """SELECT j.id, j.size, count(a.job) FROM job j LEFT JOIN attempt a ON a.job = j.id WHERE j.kind = 'members'
           GROUP BY j.id HAVING j.size <> count(a.job)""",
    "accepted: no ensemble is there twice": "SELECT name, count(*) FROM ensemble GROUP BY name HAVING count(*) > 1",
    "accepted: no token is there twice": "SELECT label, count(*) FROM token GROUP BY label HAVING count(*) > 1",
}

AT_THE_END = {
    "books: every ensemble is over":
        "SELECT id, name, state FROM ensemble WHERE state NOT IN ('complete', 'failed', 'cancelled')",
    "books: every member is final":
        "SELECT * FROM tally WHERE state IN ('pending', 'submitted', 'running') AND n > 0",
    "books: every job has ended": "SELECT id, name, state FROM job WHERE state <> 'ended'",
    "history: every attempt has an outcome and its times":
        """SELECT ensemble, idx, number, outcome, ended FROM attempt WHERE outcome IS NULL OR ended IS NULL
           OR (outcome IN ('succeeded', 'failed') AND started IS NULL)""",
    "history: what failed or was lost says why":
        "SELECT ensemble, idx, number, outcome FROM attempt WHERE outcome <> 'succeeded' AND ifnull(reason, '') = ''",
}


def rows(db, sql):
    return list(db.execute(sql))


def check_queries(world, where, db, queries):
    for name, sql in queries.items():
        for row in rows(db, sql)[:5]:
            world.violation(name.split(":")[0], f"{where}: {name}, but: {row}")


def check_accepted(world, where, db):
    stored = {name: (id_, state, width) for id_, name, state, width in
              rows(db, "SELECT id, name, state, width FROM ensemble")}
    known = set()
    for e in world.ensembles:
        known.add(e.name)
        if e.name not in stored:
            if e.answered:
                world.violation("accepted", f"{where}: ensemble {e.name} was accepted, and is not there")
            continue
        id_, state, width = stored[e.name]
        if e.answered and id_ != e.id:
            world.violation("accepted", f"{where}: ensemble {e.name} was {e.id}, and is {id_}")
        e.check(world, where, state, width, False)
    for name in stored.keys() - known:
        world.violation("accepted", f"{where}: ensemble {name} was submitted by nobody")
    tokens = {label: (id_, revoked) for id_, label, revoked in rows(db, "SELECT id, label, revoked FROM token")}
    for label, id_, state in world.tokens:
        there = tokens.get(label)
        if state == "asked":
            continue
        if there is None or there[0] != id_:
            world.violation("accepted", f"{where}: token {label} was made, and is not there")
        elif (state == "revoked" and there[1] is None) or (state == "made" and there[1] is not None):
            world.violation("accepted", f"{where}: token {label} is {state}, and its row says {there[1]}")


def check_copy(world, where):
    """Between two lives: look at a copy, so that what the daemon must recover from stays as it was left."""
    state, copy = world.options.state, world.options.ledger + "/copy"
    shutil.rmtree(copy, ignore_errors=True)
    os.mkdir(copy)
    for suffix in ("", "-wal"):
        if os.path.exists(f"{state}/stretto.db{suffix}"):
            shutil.copy(f"{state}/stretto.db{suffix}", f"{copy}/stretto.db{suffix}")
    db = sqlite3.connect(f"{copy}/stretto.db")
    try:
        if not rows(db, "SELECT 1 FROM sqlite_master WHERE name = 'ensemble'"):
            if any(e.answered for e in world.ensembles):
                world.violation("accepted", f"{where}: the database is empty")
            return
        for (text,) in rows(db, "PRAGMA integrity_check"):
            if text != "ok":
                world.violation("books", f"{where}: {text}")
        for row in rows(db, "PRAGMA foreign_key_check"):
            world.violation("books", f"{where}: foreign key {row}")
        check_accepted(world, where, db)
        check_queries(world, where, db, ANY_MOMENT)
    finally:
        db.close()


def check_changes(world, db):
    """How often something happened, against how often it was asked for."""
    events = {(e, k): n for e, k, n in rows(db, "SELECT ensemble, kind, count(*) FROM event GROUP BY 1, 2")}
    for e in world.ensembles:
        if e.id is None:
            continue
        n = events.get((e.id, "ensemble.resubmitted"), 0) + events.get((e.id, "member.resubmitted"), 0)
        if n != e.resubmitted:
            world.violation("accepted", f"ensemble {e.id} was resubmitted {e.resubmitted} times, and {n} happened")
        for kind in ("ensemble.resized", "ensemble.paused"):
            if events.get((e.id, kind), 0) > e.perhaps.get(kind, 0):
                world.violation("accepted", f"ensemble {e.id}: {kind} happened more often than it was asked for")


def read_ledger(world):
    runs = {}
    with open(world.options.ledger + "/log", encoding="ascii") as f:
        for line in f:
            what, ensemble, index, number, job, _pid, ms = line.split()
            key = (int(ensemble), int(index), int(number))
            if what in ("twice", "lock"):
                world.violation("twice", f"member {ensemble}.{index} attempt {number} found another running")
                continue
            run = runs.setdefault(key, {})
            if what in run:
                world.violation("twice", f"attempt {key} was started twice, or ended so")
            run[what] = (job, int(ms))
    return runs


def check_ledger(world, db):
    """The members' own notes, against those of the store."""
    runs = read_ledger(world)
    attempts = {(e, i, n): (outcome, job, started, ended) for e, i, n, outcome, job, started, ended in rows(
        db, """SELECT a.ensemble, idx, number, outcome, j.name, a.started, a.ended FROM attempt a
               JOIN job j ON j.id = a.job""")}
    for key, run in runs.items():
        if key not in attempts:
            world.violation("ledger", f"attempt {key} ran, and the store does not know it")
            continue
        outcome, job, _, ended = attempts[key]
        for what, (by, ms) in run.items():
            if by != job:
                world.violation("ledger", f"attempt {key} ran in job {by}, and the store says {job}")
            if ms > ended:
                world.violation("ledger", f"attempt {key} ({outcome}): {what} at {ms}, after its end at {ended}")
        wrong = {"succeeded": "end" not in run, "failed": "end" in run and not world.options.sessions,
                 "timeout": True}.get(outcome, False)
        if wrong or "start" not in run:
            world.violation("ledger", f"attempt {key} is {outcome}, and its member noted {sorted(run)}")
    for key, (outcome, job, _, _) in attempts.items():
        if outcome in ("succeeded", "failed") and key not in runs:
            world.violation("ledger", f"attempt {key} is {outcome}, and never ran")
    if not world.options.runners and not world.options.sessions:
        for row in rows(db, "SELECT ensemble, idx, number, reason FROM attempt WHERE outcome = 'lost'"):
            world.violation("history", f"only the daemon was killed, and an attempt is lost: {row}")
    return len(runs), len(attempts)


def check_costs(world, db):
    """A loss costs no retry, unless it is the fourth in a row."""
    for row in rows(db, """SELECT m.ensemble, m.idx, m.failures, m.losses FROM member m
                           WHERE NOT EXISTS (SELECT 1 FROM event v WHERE v.ensemble = m.ensemble
                                             AND v.kind IN ('ensemble.resubmitted', 'member.resubmitted'))
                           AND m.failures - (SELECT count(*) FROM attempt a WHERE a.ensemble = m.ensemble
                                             AND a.idx = m.idx AND (a.outcome = 'timeout' OR (a.outcome = 'failed'
                                                 AND coalesce(a.signal, 0) NOT IN (1, 2, 9, 15))))
                           NOT BETWEEN 0 AND (SELECT count(*) FROM attempt a WHERE a.ensemble = m.ensemble
                                              AND a.idx = m.idx AND a.number > 3 AND (a.outcome = 'lost'
                                                   OR a.signal IN (1, 2, 9, 15)))"""):
        world.violation("history", f"a member's failures are not its attempts that failed: {row}")
    for row in rows(db, """SELECT m.ensemble, m.idx, m.failures, m.losses, m.reason FROM member m
                           JOIN ensemble e ON e.id = m.ensemble WHERE e.state = 'complete' AND m.state <> 'succeeded'
                           AND NOT EXISTS (SELECT 1 FROM attempt a WHERE a.ensemble = m.ensemble AND a.idx = m.idx
                                           AND a.number = m.attempts AND a.outcome = 'failed')"""):
        world.violation("history", f"a member failed without an attempt that failed: {row}")


def connect(world):
    return sqlite3.connect(f"file:{world.options.state}/stretto.db?mode=ro", uri=True)


def jobs_ended(world):
    db = connect(world)
    try:
        return rows(db, "SELECT count(*) FROM job WHERE state <> 'ended'")[0][0] == 0
    finally:
        db.close()


def check_end(world):
    db = connect(world)
    try:
        check_accepted(world, "at the end", db)
        check_queries(world, "at the end", db, ANY_MOMENT)
        check_queries(world, "at the end", db, AT_THE_END)
        check_changes(world, db)
        check_costs(world, db)
        runs, attempts = check_ledger(world, db)
        outcomes = dict(rows(db, "SELECT outcome, count(*) FROM attempt GROUP BY outcome"))
        return {"ensembles": rows(db, "SELECT count(*) FROM ensemble")[0][0], "attempts": attempts, "runs": runs,
                "outcomes": outcomes,
                "states": dict(rows(db, "SELECT state, count(*) FROM ensemble GROUP BY state")),
                "tally": dict(rows(db, "SELECT state, sum(n) FROM tally GROUP BY state"))}
    finally:
        db.close()
