-- Bowline's tables. Every key begins with the namespace's number and the run's id. Blobs are
-- envelopes of bowline-core (`codec`). A name that begins with an at sign is put into the schema
-- that the store was opened with.
--
--   labels      one row per run: what hardly changes, and what lists are made of
--   runs        one small row per run: what every commit changes. `rev` rises with every write to
--               any row of the run: whoever writes names the one that was read
--   ids         the newest run of each workflow id
--   history     one row per commit: its events
--   inbox       messages that nobody has consumed yet
--   activities  activities that wait or run, and ended ones that receipts still speak of
--   alarms      what rings, and when
--   marks       activities that were cancelled by ranges; gone when their rows are swept
--   owed        activities whose events are committed and whose rows follow
--   snapshots   the newest state of a long run
--   receipts    cancel requests
--   graves      runs that are gone, whose remaining rows are being deleted
--   members     processes that have the store open, or had
--   asks        questions outside history
--   counters    the newest epoch, and a number that no other store has
--
-- There are no sequences, triggers, foreign keys or procedures, on purpose: what looks like a rule
-- stands in bowline-core, and the same statements should do for what speaks Postgres' language.

CREATE TABLE @labels (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    name text NOT NULL,
    queue text NOT NULL,
    serial int8 NOT NULL,
    started_at int8 NOT NULL,
    closed_at int8,
    deleted bool NOT NULL,
    parent uuid,
    origin bytea NOT NULL,
    search bytea,
    memo bytea,
    PRIMARY KEY (namespace, run)
);
-- Runs of a workflow id, the newest last.
CREATE INDEX labels_workflow ON @labels (namespace, workflow_id, serial);
-- Lists, page by page.
CREATE INDEX labels_started ON @labels (namespace, started_at, run);
-- Lists of open runs, which are few beside the closed ones.
CREATE INDEX labels_open ON @labels (namespace, started_at, run) WHERE closed_at IS NULL;
-- Subtrees.
CREATE INDEX labels_parent ON @labels (namespace, parent) WHERE parent IS NOT NULL;
-- What may be forgotten.
CREATE INDEX labels_closed ON @labels (closed_at, namespace, run) WHERE closed_at IS NOT NULL;
CREATE INDEX labels_deleted ON @labels (namespace, run) WHERE deleted;

-- `turn_at`, `intake_at` and `remote_at` are set while the run waits for that, to the moment since
-- which it does: the order of the queue. They follow from the other columns, and are written with
-- them.
CREATE TABLE @runs (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    rev int8 NOT NULL,
    queue text NOT NULL,
    name text NOT NULL,
    status int2 NOT NULL,
    version int8 NOT NULL,
    last_commit uuid NOT NULL,
    inbox int8 NOT NULL,
    consumed int8 NOT NULL,
    cut_in int8 NOT NULL,
    next_event int8 NOT NULL,
    history_bytes int8 NOT NULL,
    never_started int8 NOT NULL,
    marks int8 NOT NULL,
    marked int4 NOT NULL,
    owing int4 NOT NULL,
    epoch int8,
    counter int8,
    turn_at int8,
    intake_at int8,
    remote_at int8,
    remote_queue text,
    record bytea,
    cancel bytea,
    quarantine bytea,
    successor uuid,
    PRIMARY KEY (namespace, run)
) WITH (fillfactor = 70);
CREATE INDEX runs_turn ON @runs (namespace, queue, name, turn_at) WHERE turn_at IS NOT NULL;
CREATE INDEX runs_intake ON @runs (namespace, intake_at) WHERE intake_at IS NOT NULL;
CREATE INDEX runs_remote ON @runs (namespace, remote_queue, remote_at)
    WHERE remote_at IS NOT NULL;
CREATE INDEX runs_held ON @runs (epoch) WHERE epoch IS NOT NULL;
CREATE INDEX runs_marked ON @runs (namespace, run) WHERE marked > 0;

CREATE TABLE @ids (
    namespace int8 NOT NULL,
    workflow_id text COLLATE "C" NOT NULL,
    run uuid NOT NULL,
    PRIMARY KEY (namespace, workflow_id)
);

CREATE TABLE @history (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    first int8 NOT NULL,
    last int8 NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (namespace, run, first)
);

CREATE TABLE @inbox (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    number int8 NOT NULL,
    at int8 NOT NULL,
    request text,
    bytes bytea NOT NULL,
    PRIMARY KEY (namespace, run, number)
);
-- A request that waits already counts once.
CREATE INDEX inbox_request ON @inbox (namespace, run, request) WHERE request IS NOT NULL;

-- `place`: 0 queued, 1 started, 2 ended. `due` and `arrival` matter while it is queued; `later` is
-- set where it has to wait for its due time. `epoch` is set while a member's own code runs it,
-- `cancelled` where a cancel stands, `adrift` where the code of an attempt runs on that has ended,
-- `armed` to the moment at which its limits are looked at.
CREATE TABLE @activities (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    number int8 NOT NULL,
    place int2 NOT NULL,
    due int8 NOT NULL,
    arrival int8 NOT NULL,
    later bool NOT NULL,
    epoch int8,
    cancelled bool NOT NULL,
    adrift bool NOT NULL,
    armed int8,
    queue text NOT NULL,
    name text NOT NULL,
    live bytea NOT NULL,
    spec bytea NOT NULL,
    PRIMARY KEY (namespace, run, number)
) WITH (fillfactor = 80);
CREATE INDEX activities_queue ON @activities (namespace, queue, name, due, arrival, number)
    WHERE place = 0;
CREATE INDEX activities_later ON @activities (due) WHERE place = 0 AND later;
CREATE INDEX activities_started ON @activities (namespace, run, number) WHERE place = 1;
CREATE INDEX activities_held ON @activities (epoch, cancelled) WHERE epoch IS NOT NULL;
-- Cancels of attempts at remote workers, who may not have heard of them.
CREATE INDEX activities_untold ON @activities (namespace, run, number)
    WHERE place = 1 AND epoch IS NULL AND cancelled;

-- `limits`: whether it is about an activity and not about its run.
CREATE TABLE @alarms (
    due int8 NOT NULL,
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    what bytea NOT NULL,
    limits bool NOT NULL,
    PRIMARY KEY (due, namespace, run, what)
);
CREATE INDEX alarms_run ON @alarms (namespace, run);

CREATE TABLE @marks (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    number int8 NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (namespace, run, number)
);

-- `bytes`: the numbers of the activities, as ranges. Those before `next` have their rows.
CREATE TABLE @owed (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    first int8 NOT NULL,
    next int8 NOT NULL,
    at int8 NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (namespace, run, first)
);

CREATE TABLE @snapshots (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    at int8 NOT NULL,
    bytes bytea NOT NULL,
    PRIMARY KEY (namespace, run)
);

CREATE TABLE @receipts (
    id uuid PRIMARY KEY,
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    cause bytea NOT NULL,
    requested_at int8 NOT NULL,
    keep_until int8 NOT NULL
);
CREATE INDEX receipts_run ON @receipts (namespace, run);
CREATE INDEX receipts_keep ON @receipts (keep_until);

CREATE TABLE @graves (
    namespace int8 NOT NULL,
    run uuid NOT NULL,
    PRIMARY KEY (namespace, run)
);

-- `state`: 0 alive, 1 gone for certain, 2 silent, and fenced for it. All moments are the
-- database's own. `contact_since`: it has renewed in time, again and again, since then.
CREATE TABLE @members (
    epoch int8 PRIMARY KEY,
    identity text NOT NULL,
    state int2 NOT NULL,
    lease interval NOT NULL,
    joined_at timestamptz NOT NULL,
    renewed_at timestamptz NOT NULL,
    contact_since timestamptz NOT NULL
);

CREATE TABLE @asks (
    id uuid PRIMARY KEY,
    member int8,
    namespace int8,
    run uuid,
    body bytea NOT NULL,
    deadline int8 NOT NULL,
    taken_by int8,
    answer bytea
);
CREATE INDEX asks_deadline ON @asks (deadline);

CREATE TABLE @counters (name text PRIMARY KEY, value int8 NOT NULL);
INSERT INTO @counters (name, value)
    VALUES ('epoch', 0), ('store', (random() * 9000000000000000000)::int8);
