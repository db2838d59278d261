-- The tallies, for less. Each change of a member's state was two updates of tally, and a look at it for the reference to its
-- states; now the daemon's connection counts the moves of a transaction, and writes the sums with it (daemon/store/tally.c).
--
-- The triggers stay, so that no statement that changes a state is left out, whatever it is; and who has not the functions that
-- they call, such as the sqlite3 shell, is refused every such change, rather than left with books that are wrong. That n is not
-- below 0 and `handed` not above n is checked when the sums are written: where it is not so, nothing of the transaction stays.

DROP TRIGGER member_first;
DROP TRIGGER member_change;
DROP TRIGGER member_handed;
CREATE TRIGGER member_first AFTER INSERT ON member WHEN NEW.state <> 'pending' BEGIN
    SELECT stretto_moved(NEW.ensemble, 'pending', NEW.state);
END;
CREATE TRIGGER member_change AFTER UPDATE OF state ON member WHEN NEW.state <> OLD.state BEGIN
    SELECT stretto_moved(NEW.ensemble, OLD.state, NEW.state);
END;
CREATE TRIGGER member_handed AFTER UPDATE OF heir ON member BEGIN
    SELECT stretto_handed(NEW.ensemble, NEW.state);
END;

-- What the reference saw to. Comparisons, as in 0006; what is stored is not touched.
PRAGMA writable_schema = ON;
UPDATE sqlite_schema SET sql = replace(sql,
    'FOREIGN KEY (ensemble, state) REFERENCES tally (ensemble, state)',
    'CHECK (state = ''pending'' OR state = ''submitted'' OR state = ''running'' OR state = ''succeeded'' OR state = ''failed'' OR state = ''unfinished'' OR state = ''cancelled'')')
WHERE type = 'table' AND name = 'member';
PRAGMA writable_schema = RESET;
