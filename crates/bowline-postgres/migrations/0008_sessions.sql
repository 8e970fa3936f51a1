-- Which session of the database shows that a member lives: the process that serves it, and since when,
-- in microseconds. None where there is no such session: then its lease alone counts.
ALTER TABLE @members ADD COLUMN session int8, ADD COLUMN session_since int8;
