-- Fewer rows and fewer entries of indexes for each run. What changes when a run closes stands with
-- what every commit changes, so that a label is written once; the newest label of a workflow id
-- says whose it is; and an attempt is found by whoever has it.

-- All at once, so that nobody who has one of them waits for another.
LOCK TABLE @activities, @labels, @ids, @runs IN ACCESS EXCLUSIVE MODE;

ALTER TABLE @runs ADD COLUMN started_at int8, ADD COLUMN closed_at int8;
UPDATE @runs AS r SET started_at = l.started_at, closed_at = l.closed_at
    FROM @labels l WHERE l.namespace = r.namespace AND l.run = r.run;
ALTER TABLE @runs ALTER COLUMN started_at SET NOT NULL;
-- Lists of open runs, which are few beside the closed ones.
CREATE INDEX runs_open ON @runs (namespace, started_at, run) WHERE closed_at IS NULL;
-- What may be forgotten, by the time that each namespace keeps it.
CREATE INDEX runs_expired ON @runs (namespace, closed_at, run) WHERE closed_at IS NOT NULL;

-- Before the labels are written: an index that goes need not be kept until then.
DROP INDEX @labels_open, @labels_expired, @labels_started, @labels_workflow;
-- `serial` counts the runs of a workflow id: whoever begins one names the next number, which only
-- one of those who do so at once can have.
UPDATE @labels AS l SET serial = n.serial FROM (
    SELECT o.namespace, o.run, row_number() OVER (
        PARTITION BY o.namespace, o.workflow_id ORDER BY o.run = i.run, o.serial, o.run) AS serial
    FROM @labels o
    LEFT JOIN @ids i ON i.namespace = o.namespace AND i.workflow_id = o.workflow_id) AS n
    WHERE l.namespace = n.namespace AND l.run = n.run;
DROP TABLE @ids;
ALTER TABLE @labels DROP COLUMN closed_at, DROP CONSTRAINT labels_pkey,
    -- The order of lists. A run's own row says when it began.
    ADD PRIMARY KEY (namespace, started_at, run);
CREATE UNIQUE INDEX labels_workflow ON @labels (namespace, workflow_id, serial);

DROP INDEX @activities_started, @activities_held;
CREATE INDEX activities_held ON @activities (epoch, namespace, run) WHERE epoch IS NOT NULL;
-- What somebody has who is no member.
CREATE INDEX activities_out ON @activities (namespace, run, number)
    WHERE place = 1 AND epoch IS NULL;
CREATE INDEX activities_told ON @activities (epoch) WHERE epoch IS NOT NULL AND cancelled;
