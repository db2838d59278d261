-- The schema of the state directory's database. Times are Unix milliseconds; NULL if it has not happened.
--
-- A CHECK or a trigger spells out "x = 'a' OR x = 'b'" where rows change often: SQLite makes a temporary table for the
-- list of "x IN ('a', 'b')" each time that it checks a row, which is a good part of the time that a change takes
-- (tests/unit/test_store_rows.c).

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- The number of transactions that the daemon has committed: one row. The run directory has this number, too, a second
-- later. So a database that is older than its run directory is recognised.
CREATE TABLE commits (
    n INTEGER NOT NULL
) STRICT;
INSERT INTO commits (n) VALUES (0);

-- Ensembles. An ensemble, its follow-up, the follow-up of that and so on are a family; the first is its root.
CREATE TABLE ensemble (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    state TEXT NOT NULL
        CHECK (state = 'running' OR state = 'paused' OR state = 'complete' OR state = 'cancelled' OR state = 'failed'),
    reason TEXT,
    adapter TEXT NOT NULL,
    spec TEXT NOT NULL, -- JSON
    stream_key TEXT NOT NULL,
    -- of members that are suggested while it runs; NULL: its spec has them all
    intake TEXT CHECK (intake = 'open' OR intake = 'closed'),
    -- of members; it grows while `intake` is open
    count INTEGER NOT NULL CHECK (count > 0 OR (count = 0 AND intake IS NOT NULL)),
    width INTEGER NOT NULL CHECK (width > 0),
    -- every member below has a row, and no other
    next_index INTEGER NOT NULL DEFAULT 0 CHECK (next_index BETWEEN 0 AND count),
    created INTEGER NOT NULL,
    ended INTEGER,
    paused INTEGER,
    paused_by TEXT,                            -- a phrase for people; NULL: it is not paused
    root INTEGER REFERENCES ensemble (id),     -- NULL: it is no follow-up
    parent INTEGER REFERENCES ensemble (id),   -- the ensemble that it follows up
    after INTEGER REFERENCES ensemble (id),    -- it begins when that one has completed; NULL: it has begun
    -- output was let go: 1 of members that succeeded, 2 of all
    swept INTEGER NOT NULL DEFAULT 0 CHECK (swept BETWEEN 0 AND 2),
    -- a sweep that is under way goes on with this member
    sweep_next INTEGER NOT NULL DEFAULT 0,
    CHECK ((ended IS NULL) = (state = 'running' OR state = 'paused'))
) STRICT;
CREATE INDEX ensemble_by_state ON ensemble (state, id);
CREATE INDEX ensemble_by_name ON ensemble (name COLLATE NOCASE, id);
CREATE INDEX ensemble_over ON ensemble (swept, ended) WHERE ended IS NOT NULL;
CREATE INDEX ensemble_open ON ensemble (id) WHERE intake IS NOT NULL; -- the ends of their members are results
CREATE INDEX ensemble_family ON ensemble (root, id) WHERE root IS NOT NULL;
-- No ensemble has two follow-ups: a family is a chain.
CREATE UNIQUE INDEX ensemble_parent ON ensemble (parent) WHERE parent IS NOT NULL;

-- One that is resubmitted has output again.
CREATE TRIGGER ensemble_again AFTER UPDATE OF ended ON ensemble WHEN NEW.ended IS NULL AND OLD.ended IS NOT NULL BEGIN
    UPDATE ensemble SET swept = 0, sweep_next = 0 WHERE id = NEW.id;
END;

-- The number of ensembles in each state, kept by triggers so that the books are right by construction.
CREATE TABLE census (
    state TEXT PRIMARY KEY,
    n INTEGER NOT NULL CHECK (n >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO census (state, n) VALUES ('running', 0), ('paused', 0), ('complete', 0), ('cancelled', 0), ('failed', 0);
CREATE TRIGGER ensemble_first AFTER INSERT ON ensemble BEGIN
    UPDATE census SET n = n + 1 WHERE state = NEW.state;
END;
CREATE TRIGGER ensemble_change AFTER UPDATE OF state ON ensemble WHEN NEW.state <> OLD.state BEGIN
    UPDATE census SET n = n - 1 WHERE state = OLD.state;
    UPDATE census SET n = n + 1 WHERE state = NEW.state;
END;

-- The number of members of an ensemble in each state, those without a row included (they are pending). `handed` of them
-- went on in a follow-up: the rest of all tallies of a family says how its members are now.
CREATE TABLE tally (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    state TEXT NOT NULL,
    n INTEGER NOT NULL CHECK (n >= 0),
    handed INTEGER NOT NULL DEFAULT 0 CHECK (handed BETWEEN 0 AND n),
    PRIMARY KEY (ensemble, state)
) STRICT, WITHOUT ROWID;
CREATE INDEX tally_unfinished ON tally (ensemble) WHERE state = 'unfinished' AND n > handed;
CREATE TRIGGER ensemble_tally AFTER INSERT ON ensemble BEGIN
    INSERT INTO tally (ensemble, state, n) VALUES
        (NEW.id, 'pending', NEW.count), (NEW.id, 'submitted', 0), (NEW.id, 'running', 0), (NEW.id, 'succeeded', 0),
        (NEW.id, 'failed', 0), (NEW.id, 'unfinished', 0), (NEW.id, 'cancelled', 0), (NEW.id, 'stopped', 0);
END;

-- Which share of its members is final, for each ensemble: lists of ensembles are sorted by it. It is written with the
-- tallies.
CREATE TABLE progress (
    ensemble INTEGER PRIMARY KEY REFERENCES ensemble (id),
    members INTEGER NOT NULL,
    final INTEGER NOT NULL DEFAULT 0,
    share REAL GENERATED ALWAYS AS (CAST(final AS REAL) / max(members, 1)) VIRTUAL -- from 0 to 1
) STRICT;
CREATE INDEX progress_by_share ON progress (share, ensemble);
CREATE TRIGGER ensemble_progress AFTER INSERT ON ensemble BEGIN
    INSERT INTO progress (ensemble, members) VALUES (NEW.id, NEW.count);
END;
CREATE TRIGGER ensemble_grows AFTER UPDATE OF count ON ensemble WHEN NEW.count <> OLD.count BEGIN
    UPDATE progress SET members = NEW.count WHERE ensemble = NEW.id;
END;

-- Members to which something has happened; the others have no row. A member is handed on from ensemble to ensemble of a
-- family: `predecessor` had it before (NULL: it is the root's), `successor` has it now, or had it next. The one without
-- a successor is the newest, and none but that can be under way.
CREATE TABLE member (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    idx INTEGER NOT NULL CHECK (idx >= 0),
    state TEXT NOT NULL
        CHECK (state = 'pending' OR state = 'submitted' OR state = 'running' OR state = 'succeeded' OR
            state = 'failed' OR state = 'unfinished' OR state = 'cancelled' OR state = 'stopped'),
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0, -- attempts that cost a retry
    losses INTEGER NOT NULL DEFAULT 0,   -- attempts in a row that were lost
    stalls INTEGER NOT NULL DEFAULT 0,   -- attempts in a row that were out of time without progress
    not_before INTEGER NOT NULL DEFAULT 0, -- when it may start at the earliest
    rung INTEGER NOT NULL DEFAULT 0,       -- it was promoted to this rung, and has not gone on to it yet; 0: it was not
    priority INTEGER NOT NULL DEFAULT 0,   -- as it was suggested
    reason TEXT,
    since INTEGER NOT NULL DEFAULT 0,    -- checkpoints of earlier attempts do not count; 0: all do
    since_in INTEGER NOT NULL DEFAULT 0, -- the ensemble whose attempts `since` counts; 0: its own
    predecessor INTEGER,
    successor INTEGER CHECK (successor IS NULL OR
        (successor > ensemble AND state <> 'pending' AND state <> 'submitted' AND state <> 'running')),
    progress REAL,                       -- from 0 to 1, as it last reported it; NULL: it never did
    PRIMARY KEY (ensemble, idx)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_by_state ON member (ensemble, state, idx);
-- Members that wait to be started: the longest due first; of those that are due alike, those of the highest rung and
-- priority.
CREATE INDEX member_due ON member (ensemble, not_before, rung DESC, priority DESC, idx) WHERE state = 'pending';

-- daemon/store/tally.c counts the moves of members: those of a transaction are summed up in memory and written with it
-- to the tallies, where n and `handed` are checked. As the triggers report each move, whatever statement makes it, none
-- is left out; and a program without these functions, such as the sqlite3 shell, is refused every such change, rather
-- than left with books that are wrong. What else follows from such a change is done by daemon/store/member_change.c.
CREATE TRIGGER member_first AFTER INSERT ON member WHEN NEW.state <> 'pending' BEGIN
    SELECT stretto_moved(NEW.ensemble, 'pending', NEW.state);
END;
CREATE TRIGGER member_change AFTER UPDATE OF state ON member WHEN NEW.state <> OLD.state BEGIN
    SELECT stretto_moved(NEW.ensemble, OLD.state, NEW.state);
END;
CREATE TRIGGER member_handed AFTER UPDATE OF successor ON member BEGIN
    SELECT stretto_handed(NEW.ensemble, NEW.state);
END;
CREATE TRIGGER member_taken AFTER INSERT ON member
    WHEN (SELECT root FROM ensemble WHERE id = NEW.ensemble) IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'a member of a follow-up was not handed on to it') WHERE NOT EXISTS
        (SELECT 1 FROM member WHERE ensemble = NEW.predecessor AND idx = NEW.idx AND successor = NEW.ensemble);
END;
CREATE TRIGGER member_handed_once BEFORE UPDATE OF successor ON member WHEN OLD.successor IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'a member is handed on twice');
END;

-- Members of an open ensemble, as they were suggested.
CREATE TABLE suggestion (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    idx INTEGER NOT NULL CHECK (idx >= 0),
    name TEXT,                -- by which its generator knows it; NULL: it has none
    parameters TEXT NOT NULL, -- JSON
    PRIMARY KEY (ensemble, idx)
) STRICT, WITHOUT ROWID;
CREATE UNIQUE INDEX suggestion_by_name ON suggestion (ensemble, name) WHERE name IS NOT NULL;

-- Members of open ensembles in the order in which they became final. A member whose end was not its last, since it was
-- resubmitted or goes on in a follow-up, gets a new number when it ends again, so that a client that reads on from a
-- number misses no end. Numbers only grow.
CREATE TABLE result (
    root INTEGER NOT NULL REFERENCES ensemble (id),
    number INTEGER NOT NULL CHECK (number > 0),
    ensemble INTEGER NOT NULL, -- of the family, in which it ended
    idx INTEGER NOT NULL,
    PRIMARY KEY (root, number),
    UNIQUE (root, idx)
) STRICT, WITHOUT ROWID;

-- The members that a follow-up has still to take over: those of `source` in this state, from `next` on.
CREATE TABLE handover (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    source INTEGER NOT NULL REFERENCES ensemble (id),
    state TEXT NOT NULL,
    next INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ensemble, source, state)
) STRICT, WITHOUT ROWID;

-- The copy, in the state directory, of the parameter file of an ensemble.
CREATE TABLE parameter_rows (
    ensemble INTEGER PRIMARY KEY REFERENCES ensemble (id),
    name TEXT NOT NULL UNIQUE,
    count INTEGER NOT NULL CHECK (count > 0),
    columns TEXT NOT NULL -- JSON: an object of each column's name, and whether every value in it is a number
) STRICT;

-- Members that somebody cancelled alone. One that is under way, or has no row yet, is cancelled when its attempt ends,
-- or when its turn comes.
CREATE TABLE cancellation (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    idx INTEGER NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (ensemble, idx)
) STRICT, WITHOUT ROWID;

-- Changes of many members, or jobs, of which some are made in each turn: what is left of them.
CREATE TABLE bulk_operation (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    -- 'cancel': pending members; 'resubmit': those in `state`; 'stop': attempts beyond the width `next`
    kind TEXT NOT NULL,
    state TEXT NOT NULL DEFAULT '',
    next INTEGER NOT NULL DEFAULT 0, -- the member to go on with
    afresh INTEGER NOT NULL DEFAULT 0,
    checkpoint INTEGER NOT NULL DEFAULT 0, -- of the training: members that are whole in it stay as they are; 0: none do
    PRIMARY KEY (ensemble, kind, state)
) STRICT, WITHOUT ROWID;

-- Jobs of batch systems. Jobs of members may run in the allocation of another one, which is of kind 'pilot'.
CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    kind TEXT NOT NULL CHECK (kind = 'members' OR kind = 'training' OR kind = 'pilot'),
    adapter TEXT NOT NULL,
    name TEXT NOT NULL, -- made of the id, so that it is as unique
    state TEXT NOT NULL CHECK (state = 'intent' OR state = 'submitted' OR state = 'running' OR state = 'ended'),
    scheduler_id TEXT,
    size INTEGER NOT NULL CHECK (size > 0),
    submissions INTEGER NOT NULL DEFAULT 0,
    cancel INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    created INTEGER NOT NULL,
    submitted INTEGER,
    started INTEGER,
    ended INTEGER,
    pilot INTEGER, -- the job that it runs in; NULL: in none
    node INTEGER,  -- the node there, from 0
    -- of a pilot that asks for what others leave of its adapter: for each node; otherwise 0
    cpus INTEGER NOT NULL DEFAULT 0,
    archived INTEGER NOT NULL DEFAULT 0, -- its files were moved into archives, as far as they ever are
    CHECK ((ended IS NULL) = (state <> 'ended'))
) STRICT;
CREATE INDEX job_live ON job (id) WHERE ended IS NULL;
CREATE INDEX job_by_ensemble ON job (ensemble, id);
CREATE INDEX job_unarchived ON job (ended, ensemble) WHERE archived = 0 AND ended IS NOT NULL AND kind = 'members';

CREATE TABLE attempt (
    ensemble INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    job INTEGER NOT NULL REFERENCES job (id),
    outcome TEXT CHECK (outcome = 'succeeded' OR outcome = 'failed' OR outcome = 'timeout' OR outcome = 'cancelled' OR
                                  outcome = 'diverged' OR outcome = 'lost' OR outcome = 'reached'),
    exit_code INTEGER,
    signal INTEGER,
    reason TEXT,
    host TEXT,
    submitted INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    released INTEGER,    -- when its output was let go
    resumed TEXT,        -- the checkpoint that it went on from
    cpu_ms INTEGER,      -- user and system time, from its exit record; NULL where there was none, also of
    memory_peak INTEGER, -- bytes
    archive INTEGER,      -- the number of the archive file that has its output; NULL: its output is in files of its own
    archive_kind INTEGER, -- its kind, as in the table of archives
    archive_at INTEGER,   -- where in that file
    points_read INTEGER NOT NULL DEFAULT 0, -- how far its file of points had been read when it ended
    notice TEXT, -- something about it that is no reason of its end
    rung INTEGER, -- the rung that it is to reach next; NULL: there is none, or members are not stopped early
    ran INTEGER REFERENCES ran (id), -- what it ran; NULL: that is not recorded
    PRIMARY KEY (ensemble, idx, number),
    FOREIGN KEY (ensemble, idx) REFERENCES member (ensemble, idx),
    CHECK ((ended IS NULL) = (outcome IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_by_job ON attempt (job);
CREATE INDEX attempt_ended ON attempt (ensemble, ended) WHERE outcome = 'succeeded';
-- No member is under way twice at once.
CREATE UNIQUE INDEX attempt_open ON attempt (ensemble, idx) WHERE outcome IS NULL;

-- The files and variables of attempts whose specs have rules (daemon/store/ran.c). Those that ran the same share a row.
CREATE TABLE ran (
    id INTEGER PRIMARY KEY,
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64), -- of the content
    content TEXT NOT NULL, -- JSON, as the exit record has it
    UNIQUE (ensemble, sha256)
) STRICT;

-- The archive files that are being written, and their sizes: of members that succeeded (kind 1), and of others (0).
CREATE TABLE archive (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    kind INTEGER NOT NULL CHECK (kind IN (0, 1)),
    number INTEGER NOT NULL,
    size INTEGER NOT NULL,
    PRIMARY KEY (ensemble, kind)
) STRICT, WITHOUT ROWID;
-- The jobs whose files are in archives, and may still be where they were: one row at most.
CREATE TABLE archiving (
    ensemble INTEGER NOT NULL,
    jobs TEXT NOT NULL -- JSON: a list of their ids, negative for jobs whose directory stays
) STRICT;

-- The causes of failed attempts: a reason without what differs from attempt to attempt (daemon/store/cause.c).
CREATE TABLE cause (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    outcome TEXT NOT NULL,
    text TEXT NOT NULL,
    members INTEGER NOT NULL CHECK (members > 0),
    attempts INTEGER NOT NULL CHECK (attempts >= members),
    idx INTEGER NOT NULL, -- the latest of these attempts
    number INTEGER NOT NULL,
    PRIMARY KEY (ensemble, outcome, text)
) STRICT, WITHOUT ROWID;

-- Checkpoints of members that were whole when an attempt last ended: those that are removed, or no longer fit, go.
CREATE TABLE member_checkpoint (
    home INTEGER NOT NULL REFERENCES ensemble (id), -- the ensemble in whose part of the run directory they lie
    idx INTEGER NOT NULL CHECK (idx >= 0),
    number INTEGER NOT NULL CHECK (number >= 0), -- the newest has the highest
    ensemble INTEGER NOT NULL, -- whose attempt made it
    attempt INTEGER NOT NULL,
    path TEXT NOT NULL, -- in the member's checkpoint directory
    step INTEGER,
    size INTEGER NOT NULL,
    digest TEXT NOT NULL,
    time INTEGER NOT NULL,
    PRIMARY KEY (home, idx, number)
) STRICT, WITHOUT ROWID;

-- Early stopping: the members of an ensemble that have reached a rung, which is a step of their metric. `arrival` has
-- them in the order in which they did, and `rung` how many they are. `cut` is the arrival that is the last of the best
-- 1/reduction of its rung. Where the rule pauses nobody, an arrival that lets its member run on is promoted by itself,
-- and the member of any other one is ended.
CREATE TABLE rung (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    number INTEGER NOT NULL CHECK (number > 0), -- the lowest is 1
    arrived INTEGER NOT NULL,
    promoted INTEGER NOT NULL DEFAULT 0,
    cancelled INTEGER NOT NULL DEFAULT 0, -- members that were stopped there, and cancelled since
    cut INTEGER NOT NULL DEFAULT 0, -- 0: too few have arrived
    PRIMARY KEY (ensemble, number)
) STRICT, WITHOUT ROWID;
CREATE TABLE arrival (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    number INTEGER NOT NULL CHECK (number > 0),
    rung INTEGER NOT NULL CHECK (rung > 0),
    idx INTEGER NOT NULL CHECK (idx >= 0),
    attempt INTEGER NOT NULL,
    step INTEGER NOT NULL, -- of the point whose value counts
    value REAL,            -- NULL: it is not finite
    loss REAL NOT NULL,    -- orders them: the least is the best, and what is not finite is infinite
    best REAL,             -- with the rule of the median, the member's best value up to there; NULL: none was finite
    threshold REAL,        -- what decided whether the member runs on; NULL: nothing did
    -- the arrival that promoted it; 0: none has; -1: somebody has resubmitted the member; -2: somebody has cancelled it
    promoted INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ensemble, number),
    UNIQUE (ensemble, idx, rung)
) STRICT, WITHOUT ROWID;
CREATE INDEX arrival_by_loss ON arrival (ensemble, rung, loss, number);
CREATE INDEX arrival_waiting ON arrival (ensemble, rung, loss, number) WHERE promoted = 0;
CREATE TRIGGER arrival_promoted AFTER UPDATE OF promoted ON arrival BEGIN
    UPDATE rung SET promoted = promoted + (NEW.promoted <> 0 AND NEW.promoted <> -2) -
        (OLD.promoted <> 0 AND OLD.promoted <> -2),
        cancelled = cancelled + (NEW.promoted = -2) - (OLD.promoted = -2)
        WHERE ensemble = NEW.ensemble AND number = NEW.rung;
END;

-- Artefacts that the latest successful attempt of a member left (daemon/store/artefact.c).
CREATE TABLE artefact (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    idx INTEGER NOT NULL CHECK (idx >= 0),
    path TEXT NOT NULL, -- in the attempt's directory
    size INTEGER NOT NULL,
    sha256 TEXT NOT NULL CHECK (length(sha256) = 64),
    attempt INTEGER NOT NULL,
    PRIMARY KEY (ensemble, idx, path)
) STRICT, WITHOUT ROWID;

CREATE TABLE training (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ensemble INTEGER NOT NULL UNIQUE REFERENCES ensemble (id),
    adapter TEXT NOT NULL, -- it may run elsewhere than the members
    state TEXT NOT NULL CHECK (state IN ('pending', 'submitted', 'running', 'done', 'failed', 'cancelled')),
    reason TEXT,
    ranks INTEGER NOT NULL CHECK (ranks > 0),
    generation INTEGER NOT NULL DEFAULT 1 CHECK (generation > 0),
    keeps INTEGER NOT NULL DEFAULT 1,      -- what ranks of this generation or a later one have acknowledged is not lost
    -- the number of ranks of the next generation, which was asked for; 0: the same
    wanted INTEGER NOT NULL DEFAULT 0,
    wanted_by TEXT,                        -- who asked for it, as a phrase
    restarts INTEGER NOT NULL DEFAULT 0,   -- how often the ranks of this generation have begun again where they were
    failures INTEGER NOT NULL DEFAULT 0,   -- ends of the ranks that cost a retry
    losses INTEGER NOT NULL DEFAULT 0,     -- ends in a row from outside, since they last got further
    not_before INTEGER NOT NULL DEFAULT 0, -- when it may be submitted again at the earliest
    -- the checkpoint that this generation goes on from; NULL: it began at the start
    resumed TEXT,
    resumed_step INTEGER NOT NULL DEFAULT 0,
    resumed_batches INTEGER NOT NULL DEFAULT 0,
    resumed_drawn INTEGER NOT NULL DEFAULT 0,
    created INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    early INTEGER NOT NULL DEFAULT 0, -- 1: it is done, and has said that it needs no more samples, before it had all
    missing TEXT -- JSON: how many steps it lacks, and whose; NULL: they were not counted
) STRICT;

-- The last actions of the policy of an elastic ensemble; an ensemble whose width and ranks were never changed has no
-- row.
CREATE TABLE elastic (
    ensemble INTEGER PRIMARY KEY REFERENCES ensemble (id),
    -- 1: a user has set it, and the policy leaves it alone
    width_by_hand INTEGER NOT NULL CHECK (width_by_hand IN (0, 1)),
    ranks_by_hand INTEGER NOT NULL CHECK (ranks_by_hand IN (0, 1)),
    width_way INTEGER NOT NULL CHECK (width_way BETWEEN -1 AND 1), -- its last change: 1 up, -1 down, 0 never
    ranks_way INTEGER NOT NULL CHECK (ranks_way BETWEEN -1 AND 1),
    ranks_last INTEGER NOT NULL CHECK (ranks_last IN (0, 1)),      -- 1: the last change was one of the ranks
    settling INTEGER NOT NULL CHECK (settling IN (0, 1)),          -- 1: the last change has not taken effect yet
    changed INTEGER NOT NULL,   -- when it was; 0: never
    until INTEGER NOT NULL,     -- nothing is changed before
    reversals INTEGER NOT NULL, -- how often a change took back another one
    reason TEXT                 -- a sentence about the last change
) STRICT;

-- The generations of each training's ranks, which triggers keep right.
CREATE TABLE generation (
    training INTEGER NOT NULL REFERENCES training (id),
    number INTEGER NOT NULL CHECK (number > 0),
    ranks INTEGER NOT NULL,
    started INTEGER, -- when all of its ranks could be reached
    ended INTEGER,
    end TEXT CHECK (end IN ('done', 'failed', 'lost', 'cancelled', 'resized', 'out_of_time')),
    reason TEXT,
    resumed TEXT, -- the checkpoint that it went on from; NULL: it began at the start
    resumed_step INTEGER,
    -- of one that began after ranks were lost with what they held:
    samples_lost INTEGER NOT NULL DEFAULT 0,  -- how many samples that was which the checkpoint does not have
    members_again INTEGER NOT NULL DEFAULT 0, -- members that have run again since
    PRIMARY KEY (training, number)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER generation_first AFTER INSERT ON training BEGIN
    INSERT INTO generation (training, number, ranks) VALUES (NEW.id, NEW.generation, NEW.ranks);
END;
CREATE TRIGGER generation_goes_on AFTER UPDATE ON training WHEN NEW.generation = OLD.generation BEGIN
    UPDATE generation SET ranks = NEW.ranks, started = NEW.started, resumed = NEW.resumed,
            resumed_step = iif(NEW.resumed IS NULL, NULL, NEW.resumed_step), ended = NULL, end = NULL, reason = NULL
        WHERE training = NEW.id AND number = NEW.generation; -- one that never began may be resubmitted after its end
    UPDATE generation SET ended = NEW.ended, end = NEW.state, reason = NEW.reason
        WHERE training = NEW.id AND number = NEW.generation AND NEW.state IN ('done', 'failed', 'cancelled');
END;
-- The reason of a training that begins again says first which generation ended.
CREATE TRIGGER generation_next AFTER UPDATE ON training WHEN NEW.generation > OLD.generation BEGIN
    UPDATE generation SET ended = NEW.ended,
            end = CASE WHEN NEW.failures > OLD.failures THEN 'failed' WHEN OLD.wanted > 0 THEN 'resized'
                ELSE 'out_of_time' END,
            reason = CASE
                WHEN NEW.reason GLOB 'generation [0-9]*: *' THEN substr(NEW.reason, instr(NEW.reason, ': ') + 2)
                ELSE NEW.reason END
        WHERE training = NEW.id AND number = OLD.generation AND ended IS NULL;
    INSERT INTO generation (training, number, ranks, resumed, resumed_step)
        VALUES (NEW.id, NEW.generation, NEW.ranks, NEW.resumed, iif(NEW.resumed IS NULL, NULL, NEW.resumed_step));
END;

-- How often the ranks of a generation have begun again in their job, and why.
CREATE TABLE restart (
    training INTEGER NOT NULL REFERENCES training (id),
    generation INTEGER NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    time INTEGER NOT NULL,
    rank INTEGER NOT NULL, -- which ended first
    host TEXT,
    reason TEXT,
    cost INTEGER NOT NULL CHECK (cost IN (0, 1)), -- 1: it cost a retry
    PRIMARY KEY (training, generation, number)
) STRICT, WITHOUT ROWID;

-- Checkpoints of trainings that are whole and that their ranks keep, and those that a rank found damaged.
CREATE TABLE training_checkpoint (
    training INTEGER NOT NULL REFERENCES training (id),
    number INTEGER NOT NULL CHECK (number > 0), -- the newest has the highest
    name TEXT NOT NULL,                         -- of its directory
    generation INTEGER NOT NULL,
    step INTEGER NOT NULL,
    batches INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    ranks INTEGER NOT NULL,
    size INTEGER NOT NULL,
    digest TEXT NOT NULL,
    time INTEGER NOT NULL,
    last INTEGER NOT NULL,    -- its ranks ended with it, and it has all that they held
    members INTEGER NOT NULL, -- how many are whole
    damaged INTEGER NOT NULL DEFAULT 0, -- a rank found it damaged: nothing goes on from it
    -- for each member of which it lacks no sample the attempt that reported its end (tasks/proto/ends.h)
    ends BLOB NOT NULL,
    PRIMARY KEY (training, number),
    UNIQUE (training, name)
) STRICT;

-- The last report of each rank on itself, and how far its metric file has been read.
CREATE TABLE rank (
    training INTEGER NOT NULL REFERENCES training (id),
    generation INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    state TEXT NOT NULL DEFAULT 'starting' CHECK (state IN ('starting', 'ready', 'unfinished', 'done')),
    received INTEGER NOT NULL DEFAULT 0,
    uniq INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    drawn INTEGER NOT NULL DEFAULT 0,
    batches INTEGER NOT NULL DEFAULT 0,
    repeats INTEGER NOT NULL DEFAULT 0,
    skipped INTEGER NOT NULL DEFAULT 0, -- samples that members which ran again did not send, since it held them
    samples_per_second REAL NOT NULL DEFAULT 0,
    status TEXT,
    metrics_offset INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (training, generation, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE metric (
    training INTEGER NOT NULL REFERENCES training (id),
    name TEXT NOT NULL,
    step INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    time INTEGER NOT NULL,
    value REAL, -- NULL: NaN; infinities are values
    PRIMARY KEY (training, name, step, rank)
) STRICT, WITHOUT ROWID;

-- The figures of each metric series that lists of ensembles show, and are sorted by, without reading its points: the
-- last value, the least and the greatest, which triggers keep right. The steps are divided into parts of 1024, so that
-- a point that is reported again, with another value, needs only the points of its part to be read again.
CREATE TABLE series (
    training INTEGER NOT NULL REFERENCES training (id),
    name TEXT NOT NULL,
    step INTEGER NOT NULL, -- of the last point
    rank INTEGER NOT NULL, -- of the last point
    last REAL,             -- NULL: NaN
    least REAL,            -- of the finite values, like `greatest`; NULL: there is none
    greatest REAL,
    PRIMARY KEY (training, name)
) STRICT, WITHOUT ROWID;
CREATE INDEX series_by_last ON series (name, last, training) WHERE abs(last) < 9e999; -- 9e999 is infinite
CREATE INDEX series_by_least ON series (name, least, training) WHERE least IS NOT NULL;
CREATE INDEX series_by_greatest ON series (name, greatest, training) WHERE greatest IS NOT NULL;
CREATE TABLE series_part (
    training INTEGER NOT NULL REFERENCES training (id),
    name TEXT NOT NULL,
    part INTEGER NOT NULL, -- the steps from 1024 times this on
    least REAL,
    greatest REAL,
    PRIMARY KEY (training, name, part)
) STRICT, WITHOUT ROWID;
CREATE TRIGGER metric_first AFTER INSERT ON metric BEGIN
    INSERT INTO series_part (training, name, part, least, greatest)
        VALUES (NEW.training, NEW.name, NEW.step >> 10, iif(abs(NEW.value) < 9e999, NEW.value, NULL),
            iif(abs(NEW.value) < 9e999, NEW.value, NULL))
        ON CONFLICT DO UPDATE SET
            least = iif(least IS NULL OR excluded.least < least, excluded.least, least),
            greatest = iif(greatest IS NULL OR excluded.greatest > greatest, excluded.greatest, greatest);
    INSERT INTO series (training, name, step, rank, last, least, greatest)
        VALUES (NEW.training, NEW.name, NEW.step, NEW.rank, NEW.value, iif(abs(NEW.value) < 9e999, NEW.value, NULL),
            iif(abs(NEW.value) < 9e999, NEW.value, NULL))
        ON CONFLICT DO UPDATE SET
            step = max(step, excluded.step),
            rank = iif((excluded.step, excluded.rank) > (step, rank), excluded.rank, rank),
            last = iif((excluded.step, excluded.rank) > (step, rank), excluded.last, last),
            least = iif(least IS NULL OR excluded.least < least, excluded.least, least),
            greatest = iif(greatest IS NULL OR excluded.greatest > greatest, excluded.greatest, greatest);
END;
CREATE TRIGGER metric_again AFTER UPDATE OF value ON metric WHEN NEW.value IS NOT OLD.value BEGIN
    UPDATE series_part SET (least, greatest) = (SELECT min(value), max(value) FROM metric
            WHERE training = NEW.training AND name = NEW.name
                AND step BETWEEN NEW.step >> 10 << 10 AND (NEW.step >> 10 << 10) + 1023 AND abs(value) < 9e999)
        WHERE training = NEW.training AND name = NEW.name AND part = NEW.step >> 10
            AND (least IS NULL OR OLD.value IN (least, greatest) OR NEW.value < least OR NEW.value > greatest);
    UPDATE series SET (least, greatest) = (SELECT min(least), max(greatest) FROM series_part
            WHERE training = NEW.training AND name = NEW.name)
        WHERE training = NEW.training AND name = NEW.name
            AND (least IS NULL OR OLD.value IN (least, greatest) OR NEW.value < least OR NEW.value > greatest);
    UPDATE series SET last = NEW.value
        WHERE training = NEW.training AND name = NEW.name AND step = NEW.step AND rank = NEW.rank;
END;

-- The metric series of members, with the figures that lists show without reading points. A point whose step is not
-- above the last one replaces the points from its step on, so that an attempt which goes on from a checkpoint, or
-- begins again, replaces what it does again.
CREATE TABLE member_series (
    id INTEGER PRIMARY KEY,
    ensemble INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    name TEXT NOT NULL,
    -- that reported the last point; 0: it was one in an earlier ensemble of the family
    attempt INTEGER NOT NULL DEFAULT 0,
    step INTEGER NOT NULL DEFAULT 0,    -- of the last point, like `time` and `last`
    time INTEGER NOT NULL DEFAULT 0,
    first_time INTEGER NOT NULL DEFAULT 0,
    last REAL,     -- NULL: NaN
    least REAL,    -- of the finite values, like `greatest`; NULL: there is none
    greatest REAL,
    area REAL NOT NULL DEFAULT 0, -- under the curve, over the seconds that attempts ran
    points INTEGER NOT NULL DEFAULT 0,
    not_finite INTEGER NOT NULL DEFAULT 0,
    width INTEGER NOT NULL DEFAULT 1, -- how many points an entry has; it doubles when there are too many entries
    entries INTEGER NOT NULL DEFAULT 0,
    file_attempt INTEGER NOT NULL DEFAULT 0, -- from whose file of points the series was last stored, when that file was
    file_read INTEGER NOT NULL DEFAULT 0,    -- read up to here
    newest BLOB, -- entries behind those in member_point (daemon/store/chunk.c)
    UNIQUE (ensemble, idx, name),
    FOREIGN KEY (ensemble, idx) REFERENCES member (ensemble, idx)
) STRICT;
-- Entries of a series, in chunks. An entry is a point, or several neighbours that were merged.
CREATE TABLE member_point (
    series INTEGER NOT NULL REFERENCES member_series (id),
    step INTEGER NOT NULL, -- with which the first entry begins
    points BLOB NOT NULL,
    PRIMARY KEY (series, step)
) STRICT, WITHOUT ROWID;

-- The history of each training: counters of all its ranks together, over time. The older the training is, the further
-- apart they are.
CREATE TABLE moment (
    training INTEGER NOT NULL REFERENCES training (id),
    time INTEGER NOT NULL,
    generation INTEGER NOT NULL,
    ranks INTEGER NOT NULL, -- that said anything; all else is summed over these
    received INTEGER NOT NULL,
    uniq INTEGER NOT NULL,
    drawn INTEGER NOT NULL,
    repeats INTEGER NOT NULL,
    batches INTEGER NOT NULL,
    population INTEGER NOT NULL,
    unseen INTEGER NOT NULL,
    capacity INTEGER NOT NULL,
    room_wait REAL NOT NULL,   -- seconds
    sample_wait REAL NOT NULL, -- seconds
    PRIMARY KEY (training, time)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    ensemble INTEGER NOT NULL,
    idx INTEGER,
    detail TEXT
) STRICT;
CREATE INDEX event_by_ensemble ON event (ensemble, id);

-- Replies to requests that bore an Idempotency-Key.
CREATE TABLE idempotency (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created);

-- Bearer tokens of the TCP listeners. Only a hash is kept: the token itself is shown once, when it is made.
CREATE TABLE token (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
    role TEXT NOT NULL CHECK (role IN ('reader', 'operator', 'admin')),
    label TEXT,
    created INTEGER NOT NULL,
    expires INTEGER,
    revoked INTEGER,
    last_used INTEGER
) STRICT;

-- One-time tokens, which begin sessions of web browsers, and these sessions. Only hashes of both are kept. A row
-- without a token was made on the Unix socket.
CREATE TABLE login (
    hash TEXT NOT NULL PRIMARY KEY CHECK (length(hash) = 64),
    role TEXT NOT NULL CHECK (role IN ('reader', 'operator')),
    token INTEGER REFERENCES token (id),
    until INTEGER NOT NULL, -- when its session ends
    expires INTEGER NOT NULL
) STRICT;
CREATE TABLE session (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    hash TEXT NOT NULL UNIQUE CHECK (length(hash) = 64),
    role TEXT NOT NULL CHECK (role IN ('reader', 'operator')),
    token INTEGER REFERENCES token (id),
    path TEXT NOT NULL, -- under which the browser sees the daemon
    created INTEGER NOT NULL,
    expires INTEGER NOT NULL,
    last_used INTEGER
) STRICT;
