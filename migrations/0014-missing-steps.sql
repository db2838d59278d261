-- An ensemble whose training lacks steps has failed. How many, and whose, as JSON; NULL: they were not counted.
ALTER TABLE training ADD COLUMN missing TEXT;

INSERT INTO census (state, n) VALUES ('failed', 0);

-- What is stored is not touched.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'CHECK (state = ''running'' OR state = ''paused'' OR state = ''complete'' OR state = ''cancelled'')',
    'CHECK (state = ''running'' OR state = ''paused'' OR state = ''complete'' OR state = ''cancelled'' OR state = ''failed'')')
WHERE type = 'table' AND name = 'ensemble';
PRAGMA writable_schema = RESET;
