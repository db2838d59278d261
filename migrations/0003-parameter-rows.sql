-- The copy of a parameter file that an ensemble takes its members' parameters from, in the state directory.
CREATE TABLE parameter_rows (
    ensemble INTEGER PRIMARY KEY REFERENCES ensemble (id),
    name TEXT NOT NULL UNIQUE,
    count INTEGER NOT NULL CHECK (count > 0),
    -- an object: each column's name, and whether every value in it is a number
    columns TEXT NOT NULL
) STRICT;
