-- Sessions of web browsers, and the one-time tokens that begin them. Of both only hashes are kept. A row without a token was made by
-- somebody on the Unix socket.

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
