-- Checkpoints of members, and what the attempts of a member made of them.

-- Those that were whole when an attempt last ended: what is removed, or no longer fits, goes. `home` is the ensemble in whose
-- part of the run directory they lie.
CREATE TABLE member_checkpoint (
    home INTEGER NOT NULL REFERENCES ensemble (id),
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

ALTER TABLE member ADD COLUMN stalls INTEGER NOT NULL DEFAULT 0; -- attempts in a row that were out of time without progress
ALTER TABLE member ADD COLUMN since INTEGER NOT NULL DEFAULT 0; -- checkpoints of earlier attempts do not count; 0: all do
ALTER TABLE attempt ADD COLUMN resumed TEXT; -- the checkpoint that it went on from
