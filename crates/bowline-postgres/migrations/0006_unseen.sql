-- Attempts whose end nobody saw, and what is known of the processes in which they were begun.

-- `adrift`: the end of one of its attempts was not seen. `tried`: it waits, and a worker had had it.
ALTER TABLE @activities ADD COLUMN tried bool NOT NULL DEFAULT false;

-- `state`: 0 in touch, 1 seen to be gone, 2 silent, 3 back under a newer epoch, while code of this
-- one is known to run on, 4 said to be gone: by whom, and when.
-- `origin`: the first epoch of an engine that has entered again since.
-- `host`, `boot`, `pid`, `started`: which process it is, for others on the same host to look.
ALTER TABLE @members
    ADD COLUMN origin int8, ADD COLUMN host text, ADD COLUMN boot text, ADD COLUMN pid int8,
    ADD COLUMN started int8, ADD COLUMN gone_by text, ADD COLUMN gone_at int8;
