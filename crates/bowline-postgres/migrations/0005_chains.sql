-- All at once, so that nobody who has one of them waits for another.
LOCK TABLE @labels, @receipts, @runs IN ACCESS EXCLUSIVE MODE;

-- A chain is known by its first run, which may be gone while the chain lives. `chain` is that run,
-- in the labels of all others; the newest of them has the largest serial number.
ALTER TABLE @labels ADD COLUMN chain uuid, ADD COLUMN forked uuid;
CREATE INDEX labels_chain ON @labels (namespace, chain, serial) WHERE chain IS NOT NULL;
-- `forked` is the run whose first events a fork has: the fork inherits its children.
CREATE INDEX labels_forked ON @labels (namespace, forked) WHERE forked IS NOT NULL;
-- `kin` is the first run of the chain at the top of the tree, while the run is not over: it is open,
-- or something of it may still run. So a tree is proven clean by what is not over, however much is.
-- Runs without a parent that are the first of their chain have none: most runs pay nothing for it.
ALTER TABLE @runs ADD COLUMN kin uuid;
CREATE INDEX runs_kin ON @runs (namespace, kin, run) WHERE kin IS NOT NULL;

-- A receipt is about a chain.
ALTER TABLE @receipts ADD COLUMN chain uuid;
UPDATE @receipts SET chain = run;
ALTER TABLE @receipts ALTER COLUMN chain SET NOT NULL;
DROP INDEX @receipts_run;
CREATE INDEX receipts_chain ON @receipts (namespace, chain);
