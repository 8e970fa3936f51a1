-- Bowline's tables. Every run has a key: its namespace's number in the high bits, a serial number
-- in the low forty. Keys are never used twice. Blobs are envelopes of bowline-core (`codec`).
--
--   labels      one row per run: what never changes, and what lists are made of
--   runs        one small row per run: what every commit changes
--   history     one row per commit: its events
--   inbox       messages that nobody has consumed yet
--   activities  activities that wait or run, and ended ones that receipts still speak of
--   alarms      what rings, and when
--   marks       activities that were cancelled by ranges; gone when their rows are swept
--   owed        activities whose events are committed and whose rows follow
--   snapshots   the newest state of a long run
--   receipts    cancel requests
--   graves      runs that are gone, whose remaining rows are being deleted
--   members     one row: the newest epoch
--
-- History is appended to and has one small index. A table without row ids, ordered by
-- (run, first), was measured beside it: 5,000 runs at random, 900 bytes per turn, 64 turns per
-- commit, best of three: 13,988 turns/s at 53 µs of processor against 8,810 at 81 µs. Reading 500
-- histories of twelve rows took 20 ms against 11 ms. Turns are the more common case.
-- Activities were measured the other way round: without row ids 13,988 turns/s, with row ids and
-- an index 12,956, with the unchanging half in a table of its own 12,628.

CREATE TABLE labels (
    key INTEGER PRIMARY KEY,
    namespace INTEGER NOT NULL,
    uuid BLOB NOT NULL,
    workflow_id TEXT NOT NULL,
    name TEXT NOT NULL,
    queue TEXT NOT NULL,
    started_at INTEGER NOT NULL,
    closed_at INTEGER,
    deleted INTEGER,
    parent BLOB,
    origin BLOB NOT NULL,
    search BLOB,
    memo BLOB
);
-- From the id of a run to its key.
CREATE INDEX labels_uuid ON labels (uuid);
-- The newest run of a workflow id has the largest key.
CREATE INDEX labels_workflow ON labels (namespace, workflow_id);
-- Lists, page by page.
CREATE INDEX labels_started ON labels (namespace, started_at, uuid);
-- Lists of open runs, which are few beside the closed ones; also what is loaded on opening.
CREATE INDEX labels_open ON labels (namespace, started_at, uuid) WHERE closed_at IS NULL;
-- Subtrees.
CREATE INDEX labels_parent ON labels (parent) WHERE parent IS NOT NULL;
-- What may be forgotten.
CREATE INDEX labels_closed ON labels (closed_at) WHERE closed_at IS NOT NULL;
CREATE INDEX labels_deleted ON labels (deleted) WHERE deleted IS NOT NULL;

CREATE TABLE runs (
    key INTEGER PRIMARY KEY,
    status INTEGER NOT NULL,
    version INTEGER NOT NULL,
    last_commit BLOB NOT NULL,
    inbox INTEGER NOT NULL,
    consumed INTEGER NOT NULL,
    next_event INTEGER NOT NULL,
    history_bytes INTEGER NOT NULL,
    never_started INTEGER NOT NULL,
    marks INTEGER NOT NULL,
    epoch INTEGER,
    counter INTEGER,
    record BLOB,
    cancel BLOB,
    quarantine BLOB,
    successor BLOB,
    cut_in INTEGER NOT NULL
);

CREATE TABLE history (
    run INTEGER NOT NULL,
    first INTEGER NOT NULL,
    last INTEGER NOT NULL,
    bytes BLOB NOT NULL
);
CREATE INDEX history_run ON history (run, first);

CREATE TABLE inbox (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    at INTEGER NOT NULL,
    request TEXT,
    bytes BLOB NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;
-- A request that waits already counts once.
CREATE INDEX inbox_request ON inbox (run, request) WHERE request IS NOT NULL;

-- `place`: 0 queued, 1 started, 2 ended. `due` matters while it is queued. `adrift` is set where
-- the code of an attempt runs on that has ended.
CREATE TABLE activities (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    place INTEGER NOT NULL,
    due INTEGER NOT NULL,
    adrift INTEGER,
    queue TEXT NOT NULL,
    name TEXT NOT NULL,
    live BLOB NOT NULL,
    spec BLOB NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

CREATE TABLE alarms (
    due INTEGER NOT NULL,
    run INTEGER NOT NULL,
    what BLOB NOT NULL,
    PRIMARY KEY (due, run, what)
) WITHOUT ROWID;

CREATE TABLE marks (
    run INTEGER NOT NULL,
    number INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (run, number)
) WITHOUT ROWID;

-- `bytes`: the numbers of the activities, as ranges. Those before `next` have their rows.
CREATE TABLE owed (
    run INTEGER NOT NULL,
    next INTEGER NOT NULL,
    at INTEGER NOT NULL,
    bytes BLOB NOT NULL,
    PRIMARY KEY (run, next)
) WITHOUT ROWID;

CREATE TABLE snapshots (
    run INTEGER PRIMARY KEY,
    at INTEGER NOT NULL,
    bytes BLOB NOT NULL
);

CREATE TABLE receipts (
    id BLOB PRIMARY KEY,
    run BLOB NOT NULL,
    namespace INTEGER NOT NULL,
    cause BLOB NOT NULL,
    requested_at INTEGER NOT NULL,
    keep_until INTEGER NOT NULL
) WITHOUT ROWID;
CREATE INDEX receipts_run ON receipts (run);
CREATE INDEX receipts_keep ON receipts (keep_until);

CREATE TABLE graves (run INTEGER PRIMARY KEY);

-- The largest serial number of each namespace that a deleted run had.
CREATE TABLE serials (namespace INTEGER PRIMARY KEY, used INTEGER NOT NULL);

CREATE TABLE members (
    one INTEGER PRIMARY KEY CHECK (one = 1),
    epoch INTEGER NOT NULL,
    identity TEXT NOT NULL
);
