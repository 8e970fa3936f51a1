-- Small values that doors keep beside the runs, by shelf and name. The name of the table is one of
-- those that applications are told to leave alone.
CREATE TABLE bowline_shelves (
    shelf TEXT NOT NULL,
    name TEXT NOT NULL,
    version INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (shelf, name)
) WITHOUT ROWID;

-- Each namespace keeps closed runs for its own time.
DROP INDEX labels_closed;
CREATE INDEX labels_expired ON labels (namespace, closed_at) WHERE closed_at IS NOT NULL;
