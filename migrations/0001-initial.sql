-- Ensembles, members, attempts, jobs, trainings, metric points, events. Times are Unix milliseconds.

CREATE TABLE meta (
    key TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT, WITHOUT ROWID;

CREATE TABLE ensemble (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    name TEXT NOT NULL,
    state TEXT NOT NULL CHECK (state IN ('running', 'paused', 'complete', 'cancelled')),
    reason TEXT,
    adapter TEXT NOT NULL,
    spec TEXT NOT NULL,
    stream_key TEXT NOT NULL,
    count INTEGER NOT NULL CHECK (count > 0),
    width INTEGER NOT NULL CHECK (width > 0),
    -- every member below has a row, no member from here on has one
    next_index INTEGER NOT NULL DEFAULT 0 CHECK (next_index BETWEEN 0 AND count),
    created INTEGER NOT NULL,
    ended INTEGER,
    CHECK ((ended IS NULL) = (state IN ('running', 'paused')))
) STRICT;

-- How many members of an ensemble are in which state, kept by triggers so that the books are right by construction.
CREATE TABLE tally (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    state TEXT NOT NULL CHECK (state IN ('pending', 'submitted', 'running', 'succeeded', 'failed', 'unfinished', 'cancelled')),
    n INTEGER NOT NULL CHECK (n >= 0),
    PRIMARY KEY (ensemble, state)
) STRICT, WITHOUT ROWID;

CREATE TRIGGER ensemble_tally AFTER INSERT ON ensemble BEGIN
    INSERT INTO tally (ensemble, state, n) VALUES
        (NEW.id, 'pending', NEW.count), (NEW.id, 'submitted', 0), (NEW.id, 'running', 0), (NEW.id, 'succeeded', 0),
        (NEW.id, 'failed', 0), (NEW.id, 'unfinished', 0), (NEW.id, 'cancelled', 0);
END;

-- Only members to which something has happened have a row.
CREATE TABLE member (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    idx INTEGER NOT NULL CHECK (idx >= 0),
    state TEXT NOT NULL,
    attempts INTEGER NOT NULL DEFAULT 0,
    failures INTEGER NOT NULL DEFAULT 0,
    losses INTEGER NOT NULL DEFAULT 0,
    not_before INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    PRIMARY KEY (ensemble, idx),
    FOREIGN KEY (ensemble, state) REFERENCES tally (ensemble, state)
) STRICT, WITHOUT ROWID;
CREATE INDEX member_by_state ON member (ensemble, state, idx);

CREATE TRIGGER member_first AFTER INSERT ON member WHEN NEW.state <> 'pending' BEGIN
    UPDATE tally SET n = n - 1 WHERE ensemble = NEW.ensemble AND state = 'pending';
    UPDATE tally SET n = n + 1 WHERE ensemble = NEW.ensemble AND state = NEW.state;
END;
CREATE TRIGGER member_change AFTER UPDATE OF state ON member WHEN NEW.state <> OLD.state BEGIN
    UPDATE tally SET n = n - 1 WHERE ensemble = NEW.ensemble AND state = OLD.state;
    UPDATE tally SET n = n + 1 WHERE ensemble = NEW.ensemble AND state = NEW.state;
END;

CREATE TABLE training (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ensemble INTEGER NOT NULL UNIQUE REFERENCES ensemble (id),
    state TEXT NOT NULL CHECK (state IN ('pending', 'submitted', 'running', 'done', 'failed', 'cancelled')),
    reason TEXT,
    ranks INTEGER NOT NULL CHECK (ranks > 0),
    generation INTEGER NOT NULL DEFAULT 1 CHECK (generation > 0),
    created INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER
) STRICT;

-- What a rank last said of itself, and how far its metric file has been read.
CREATE TABLE rank (
    training INTEGER NOT NULL REFERENCES training (id),
    generation INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    ready INTEGER NOT NULL DEFAULT 0,
    done INTEGER NOT NULL DEFAULT 0,
    received INTEGER NOT NULL DEFAULT 0,
    uniq INTEGER NOT NULL DEFAULT 0,
    duplicates INTEGER NOT NULL DEFAULT 0,
    drawn INTEGER NOT NULL DEFAULT 0,
    batches INTEGER NOT NULL DEFAULT 0,
    repeats INTEGER NOT NULL DEFAULT 0,
    samples_per_second REAL NOT NULL DEFAULT 0,
    status TEXT,
    metrics_offset INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (training, generation, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE job (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    kind TEXT NOT NULL CHECK (kind IN ('members', 'training')),
    adapter TEXT NOT NULL,
    name TEXT NOT NULL UNIQUE,
    state TEXT NOT NULL CHECK (state IN ('intent', 'submitted', 'running', 'ended')),
    scheduler_id TEXT,
    size INTEGER NOT NULL CHECK (size > 0),
    submissions INTEGER NOT NULL DEFAULT 0,
    cancel INTEGER NOT NULL DEFAULT 0,
    reason TEXT,
    created INTEGER NOT NULL,
    submitted INTEGER,
    started INTEGER,
    ended INTEGER,
    CHECK ((ended IS NULL) = (state <> 'ended'))
) STRICT;
CREATE INDEX job_live ON job (id) WHERE state <> 'ended';
CREATE INDEX job_by_ensemble ON job (ensemble, id);

CREATE TABLE attempt (
    ensemble INTEGER NOT NULL,
    idx INTEGER NOT NULL,
    number INTEGER NOT NULL CHECK (number > 0),
    job INTEGER NOT NULL REFERENCES job (id),
    outcome TEXT CHECK (outcome IN ('succeeded', 'failed', 'timeout', 'cancelled', 'lost')),
    exit_code INTEGER,
    signal INTEGER,
    reason TEXT,
    host TEXT,
    submitted INTEGER NOT NULL,
    started INTEGER,
    ended INTEGER,
    PRIMARY KEY (ensemble, idx, number),
    FOREIGN KEY (ensemble, idx) REFERENCES member (ensemble, idx),
    CHECK ((ended IS NULL) = (outcome IS NULL))
) STRICT, WITHOUT ROWID;
CREATE INDEX attempt_by_job ON attempt (job);
-- No member is under way twice at once.
CREATE UNIQUE INDEX attempt_open ON attempt (ensemble, idx) WHERE outcome IS NULL;
CREATE INDEX attempt_ended ON attempt (ensemble, ended) WHERE outcome = 'succeeded';

CREATE TABLE metric (
    training INTEGER NOT NULL REFERENCES training (id),
    name TEXT NOT NULL,
    step INTEGER NOT NULL,
    rank INTEGER NOT NULL,
    time INTEGER NOT NULL,
    value REAL,
    PRIMARY KEY (training, name, step, rank)
) STRICT, WITHOUT ROWID;

CREATE TABLE event (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    time INTEGER NOT NULL,
    kind TEXT NOT NULL,
    ensemble INTEGER NOT NULL,
    idx INTEGER,
    detail TEXT
) STRICT;

CREATE TABLE idempotency (
    key TEXT PRIMARY KEY,
    digest TEXT NOT NULL,
    status INTEGER NOT NULL,
    body TEXT NOT NULL,
    created INTEGER NOT NULL
) STRICT, WITHOUT ROWID;
CREATE INDEX idempotency_by_age ON idempotency (created);
