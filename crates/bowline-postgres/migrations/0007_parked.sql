-- Parked runs, which are few, are found by whoever may have the code for them.
CREATE INDEX runs_parked ON @runs (namespace, started_at, run) WHERE quarantine IS NOT NULL;
