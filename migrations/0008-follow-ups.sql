-- Follow-ups: an ensemble of members of others that go on, with the same indices. An ensemble, its follow-up, the follow-up of
-- that and so on are a family; the first is its root.

ALTER TABLE ensemble ADD COLUMN root INTEGER REFERENCES ensemble (id);   -- null: it is no follow-up
ALTER TABLE ensemble ADD COLUMN parent INTEGER REFERENCES ensemble (id); -- the one before it
-- A family is a chain: no ensemble has two follow-ups.
CREATE UNIQUE INDEX ensemble_parent ON ensemble (parent) WHERE parent IS NOT NULL;
CREATE INDEX ensemble_family ON ensemble (root, id) WHERE root IS NOT NULL;

-- A member is handed on from ensemble to ensemble: `origin` had it before (null: it is the root's), `heir` has it now or had it
-- next. The one without an heir is the newest, and none but that can be under way.
ALTER TABLE member ADD COLUMN origin INTEGER;
ALTER TABLE member ADD COLUMN heir INTEGER
    CHECK (heir IS NULL OR (heir > ensemble AND state <> 'pending' AND state <> 'submitted' AND state <> 'running'));
CREATE TRIGGER member_taken AFTER INSERT ON member WHEN (SELECT root FROM ensemble WHERE id = NEW.ensemble) IS NOT NULL
BEGIN
    SELECT RAISE(ABORT, 'a member of a follow-up was not handed on to it') WHERE NOT EXISTS
        (SELECT 1 FROM member WHERE ensemble = NEW.origin AND idx = NEW.idx AND heir = NEW.ensemble);
END;
CREATE TRIGGER member_handed_once BEFORE UPDATE OF heir ON member WHEN OLD.heir IS NOT NULL BEGIN
    SELECT RAISE(ABORT, 'a member is handed on twice');
END;

-- How many of them were handed on: what is left of all tallies of a family says how its members are now.
ALTER TABLE tally ADD COLUMN handed INTEGER NOT NULL DEFAULT 0 CHECK (handed BETWEEN 0 AND n);
CREATE TRIGGER member_handed AFTER UPDATE OF heir ON member BEGIN
    UPDATE tally SET handed = handed + 1 WHERE ensemble = NEW.ensemble AND state = NEW.state;
END;
CREATE INDEX tally_unfinished ON tally (ensemble) WHERE state = 'unfinished' AND n > handed;

-- What a follow-up has still to take over: of this ensemble, the members in this state from this one on.
CREATE TABLE handover (
    ensemble INTEGER NOT NULL REFERENCES ensemble (id),
    source INTEGER NOT NULL REFERENCES ensemble (id),
    state TEXT NOT NULL,
    next INTEGER NOT NULL DEFAULT 0,
    PRIMARY KEY (ensemble, source, state)
) STRICT, WITHOUT ROWID;
