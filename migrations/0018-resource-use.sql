-- What an attempt used, from its exit record; NULL where there was none.
ALTER TABLE attempt ADD COLUMN cpu_ms INTEGER;      -- user and system time
ALTER TABLE attempt ADD COLUMN memory_peak INTEGER; -- bytes
