-- Bearer tokens of the TCP listeners. What is kept is a hash: the token itself is shown once, when it is made.

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
