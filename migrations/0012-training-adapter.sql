-- A training may run elsewhere than its members.
ALTER TABLE training ADD COLUMN adapter TEXT NOT NULL DEFAULT '';
UPDATE training SET adapter = (SELECT e.adapter FROM ensemble e WHERE e.id = training.ensemble);
