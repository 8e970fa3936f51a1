-- Small values that doors keep beside the runs, by shelf and name.
CREATE TABLE @shelves (
    shelf text COLLATE "C" NOT NULL,
    name text COLLATE "C" NOT NULL,
    version int8 NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (shelf, name)
);

-- Each namespace keeps closed runs for its own time.
DROP INDEX @labels_closed;
CREATE INDEX labels_expired ON @labels (namespace, closed_at, run) WHERE closed_at IS NOT NULL;
