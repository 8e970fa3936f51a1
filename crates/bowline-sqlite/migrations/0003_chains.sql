-- A chain is known by its first run, which may be gone while the chain lives. `chain` is that run,
-- in the labels of all others; the newest of them has the largest key.
ALTER TABLE labels ADD COLUMN chain BLOB;
CREATE INDEX labels_chain ON labels (chain) WHERE chain IS NOT NULL;
-- `kin` is the first run of the chain at the top of the tree, while the run is not over: it is open,
-- or something of it may still run. So a tree is proven clean by what is not over, however much is.
-- Runs without a parent that are the first of their chain have none: most runs pay nothing for it.
ALTER TABLE labels ADD COLUMN kin BLOB;
CREATE INDEX labels_kin ON labels (kin) WHERE kin IS NOT NULL;
-- `forked` is the run whose first events a fork has: the fork inherits its children.
ALTER TABLE labels ADD COLUMN forked BLOB;
CREATE INDEX labels_forked ON labels (forked) WHERE forked IS NOT NULL;

-- A receipt is about a chain.
ALTER TABLE receipts ADD COLUMN chain BLOB;
UPDATE receipts SET chain = run;
DROP INDEX receipts_run;
CREATE INDEX receipts_chain ON receipts (chain);
