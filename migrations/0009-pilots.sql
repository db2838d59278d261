-- Allocations as pilots: jobs in which the jobs of members run.

ALTER TABLE job ADD COLUMN pilot INTEGER; -- the job that it runs in, one of kind 'pilot'; NULL: a job of its own
ALTER TABLE job ADD COLUMN node INTEGER;  -- and the node there, from 0

PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (kind IN (''members'', ''training''))',
    'CHECK (kind = ''members'' OR kind = ''training'' OR kind = ''pilot'')')
WHERE type = 'table' AND name = 'job';
PRAGMA writable_schema = RESET;
