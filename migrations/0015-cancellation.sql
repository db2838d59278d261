-- Members that somebody cancelled, alone, and when. One that is under way, or has no row yet, is cancelled when its attempt ends, or when
-- its turn comes.
CREATE TABLE cancellation (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    idx INTEGER NOT NULL,
    time INTEGER NOT NULL, -- Unix milliseconds
    PRIMARY KEY (ensemble, idx)
) STRICT, WITHOUT ROWID;
