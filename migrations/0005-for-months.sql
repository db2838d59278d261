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

-- Captured output of members is let go, some time after the end of its ensemble.
ALTER TABLE attempt ADD COLUMN released INTEGER; -- when its output was let go
ALTER TABLE ensemble ADD COLUMN swept INTEGER NOT NULL DEFAULT 0 CHECK (swept BETWEEN 0 AND 2); -- 1: members that succeeded, 2: all
ALTER TABLE ensemble ADD COLUMN sweep_next INTEGER NOT NULL DEFAULT 0; -- a sweep that is under way goes on with this member
CREATE INDEX ensemble_over ON ensemble (swept, ended) WHERE ended IS NOT NULL;
CREATE TRIGGER ensemble_again AFTER UPDATE OF ended ON ensemble WHEN NEW.ended IS NULL AND OLD.ended IS NOT NULL BEGIN
    UPDATE ensemble SET swept = 0, sweep_next = 0 WHERE id = NEW.id;
END;
