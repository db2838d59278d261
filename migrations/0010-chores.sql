-- Changes of many members, or jobs, that are made some in a turn: what is left of them.
CREATE TABLE chore (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    kind TEXT NOT NULL, -- 'cancel': pending members; 'resubmit': those in `state`; 'stop': attempts beyond the width `next`
    state TEXT NOT NULL DEFAULT '',
    next INTEGER NOT NULL DEFAULT 0, -- the member to go on with
    afresh INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ensemble, kind, state)
) STRICT, WITHOUT ROWID;
