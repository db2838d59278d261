-- A member that was told to start afresh, and is followed up, has left what does not count in an earlier ensemble.
ALTER TABLE member ADD COLUMN since_in INTEGER NOT NULL DEFAULT 0; -- the ensemble whose attempts `since` counts; 0: its own
