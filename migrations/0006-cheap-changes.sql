-- What every change does, without what it did for nothing.

-- SQLite makes a temporary table for the list of "x IN ('a', 'b', 'c')" each time that a row is checked, a good part of
-- the time that a change takes. The same as comparisons; what is stored is not touched, so that nothing has to be copied.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''intent'', ''submitted'', ''running'', ''ended''))',
    'CHECK (state = ''intent'' OR state = ''submitted'' OR state = ''running'' OR state = ''ended'')')
WHERE type = 'table' AND name = 'job';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (outcome IN (''succeeded'', ''failed'', ''timeout'', ''cancelled'', ''lost''))',
    'CHECK (outcome = ''succeeded'' OR outcome = ''failed'' OR outcome = ''timeout'' OR outcome = ''cancelled'' OR outcome = ''lost'')')
WHERE type = 'table' AND name = 'attempt';
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state IN (''running'', ''paused'', ''complete'', ''cancelled''))',
    'CHECK (state = ''running'' OR state = ''paused'' OR state = ''complete'' OR state = ''cancelled'')')
WHERE type = 'table' AND name = 'ensemble';
PRAGMA writable_schema = RESET;
