-- Why attempts failed, by cause: the reason without what differs from attempt to attempt (stretto_cause(), daemon/store/cause.c).
CREATE TABLE cause (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    outcome TEXT NOT NULL,
    text TEXT NOT NULL,
    members INTEGER NOT NULL CHECK (members > 0),
    attempts INTEGER NOT NULL CHECK (attempts >= members),
    idx INTEGER NOT NULL,    -- the latest of these attempts
    number INTEGER NOT NULL,
    PRIMARY KEY (ensemble, outcome, text)
) STRICT, WITHOUT ROWID;

INSERT INTO cause (ensemble, outcome, text, members, attempts, idx, number)
SELECT a.ensemble, a.outcome, stretto_cause(a.reason) AS text, count(DISTINCT a.idx), count(*), max(a.idx), 0
FROM attempt a JOIN member m ON m.ensemble = a.ensemble AND m.idx = a.idx
WHERE a.outcome = 'failed' OR a.outcome = 'lost' OR (a.outcome = 'timeout' AND m.state <> 'unfinished')
GROUP BY a.ensemble, a.outcome, text;
UPDATE cause SET number = (SELECT max(a.number) FROM attempt a WHERE a.ensemble = cause.ensemble AND a.idx = cause.idx AND
    a.outcome = cause.outcome AND stretto_cause(a.reason) = cause.text);
