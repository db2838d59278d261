-- What is asked for at every change, or by every scrape, is found without a walk over all members or all ensembles.

-- Members that wait for another attempt, the longest due first.
CREATE INDEX member_due ON member (ensemble, not_before, idx) WHERE state = 'pending';

CREATE INDEX ensemble_open ON ensemble (id) WHERE ended IS NULL;

-- How many ensembles are in which state, kept by triggers like the tally of members.
CREATE TABLE census (
    state TEXT PRIMARY KEY,
    n INTEGER NOT NULL CHECK (n >= 0)
) STRICT, WITHOUT ROWID;
INSERT INTO census (state, n) VALUES
    ('running', (SELECT count(*) FROM ensemble WHERE state = 'running')),
    ('paused', (SELECT count(*) FROM ensemble WHERE state = 'paused')),
    ('complete', (SELECT count(*) FROM ensemble WHERE state = 'complete')),
    ('cancelled', (SELECT count(*) FROM ensemble WHERE state = 'cancelled'));
CREATE TRIGGER ensemble_first AFTER INSERT ON ensemble BEGIN
    UPDATE census SET n = n + 1 WHERE state = NEW.state;
END;
CREATE TRIGGER ensemble_change AFTER UPDATE OF state ON ensemble WHEN NEW.state <> OLD.state BEGIN
    UPDATE census SET n = n - 1 WHERE state = OLD.state;
    UPDATE census SET n = n + 1 WHERE state = NEW.state;
END;
