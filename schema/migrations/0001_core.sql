-- The ledger: runs, cells and their long-format records. Values are finite by constraint; what is absent has a reason.
CREATE TABLE migration (
    kind    VARCHAR NOT NULL CHECK (kind IN ('migration', 'views')),
    number  INTEGER,
    name    VARCHAR NOT NULL,
    sha256  VARCHAR NOT NULL,
    objects VARCHAR[],
    version VARCHAR NOT NULL,
    applied TIMESTAMP NOT NULL
);
COMMENT ON TABLE migration IS 'SQL files that made this schema, one row per file';
COMMENT ON COLUMN migration.kind IS 'migration (applied once, in order) or views (applied again whenever the file changes)';
COMMENT ON COLUMN migration.number IS 'Position of a migration; the largest is the schema version; NULL for views';
COMMENT ON COLUMN migration.name IS 'Name of the file';
COMMENT ON COLUMN migration.sha256 IS 'Hash of the text that was applied';
COMMENT ON COLUMN migration.objects IS 'Views that the file created; NULL for a migration';
COMMENT ON COLUMN migration.version IS 'Version of orledger that applied it';
COMMENT ON COLUMN migration.applied IS 'When, UTC';

CREATE TABLE run (
    run_id            VARCHAR PRIMARY KEY,
    preset            VARCHAR NOT NULL,
    settings          VARCHAR NOT NULL,
    versions          VARCHAR NOT NULL,
    git_commit        VARCHAR,
    device            VARCHAR NOT NULL,
    engine            VARCHAR NOT NULL,
    jobs              INTEGER NOT NULL,
    threads           INTEGER NOT NULL,
    host              VARCHAR NOT NULL,
    registration_hash VARCHAR,
    started           TIMESTAMP NOT NULL,
    ended             TIMESTAMP,
    state             VARCHAR NOT NULL CHECK (state IN ('running', 'finished', 'interrupted', 'incomplete'))
);
COMMENT ON TABLE run IS 'One invocation of orledger run';
COMMENT ON COLUMN run.run_id IS 'Name of the invocation: its start time and a random suffix';
COMMENT ON COLUMN run.preset IS 'Name or path of the preset';
COMMENT ON COLUMN run.settings IS 'The preset with every default filled in, as JSON';
COMMENT ON COLUMN run.versions IS 'Versions of Python, orledger and the packages that make numbers, as JSON';
COMMENT ON COLUMN run.git_commit IS 'Commit of the source tree, with a plus sign when it was modified; NULL outside a checkout';
COMMENT ON COLUMN run.device IS 'Device the tensors lived on: cpu or cuda';
COMMENT ON COLUMN run.engine IS 'Where cells ran: serial, processes or ray';
COMMENT ON COLUMN run.jobs IS 'Number of workers';
COMMENT ON COLUMN run.threads IS 'Numerical threads per worker';
COMMENT ON COLUMN run.host IS 'Facts of the machine that matter to numerics: CPU model, BLAS, operating system, as JSON';
COMMENT ON COLUMN run.registration_hash IS 'Hash of the hypotheses registered when the run began; NULL when none were';
COMMENT ON COLUMN run.started IS 'Start, UTC';
COMMENT ON COLUMN run.ended IS 'End, UTC; NULL while running or after a kill';
COMMENT ON COLUMN run.state IS 'running, finished, interrupted (by the user), or incomplete (some cells failed)';

CREATE TABLE cell (
    cell_id      VARCHAR PRIMARY KEY,
    case_name    VARCHAR NOT NULL,
    block        VARCHAR NOT NULL,
    name         VARCHAR NOT NULL,
    keys         MAP(VARCHAR, VARCHAR) NOT NULL,
    spec         VARCHAR NOT NULL,
    hash_version VARCHAR NOT NULL,
    job_id       VARCHAR,
    run_id       VARCHAR,
    state        VARCHAR NOT NULL CHECK (state IN ('planned', 'done', 'refused', 'failed')),
    reason       VARCHAR,
    error        VARCHAR,
    seconds      DOUBLE,
    backend      VARCHAR,
    n_records    BIGINT,
    content_hash VARCHAR,
    finished     TIMESTAMP
);
COMMENT ON TABLE cell IS 'One planned unit of computation: the unit of storage and of resume';
COMMENT ON COLUMN cell.cell_id IS 'Hash of the spec; equal specs are the same cell in any database';
COMMENT ON COLUMN cell.case_name IS 'a, b, c, or the name of an imported study';
COMMENT ON COLUMN cell.block IS 'Part of the case the cell belongs to';
COMMENT ON COLUMN cell.name IS 'Short name for people: case, block and key values';
COMMENT ON COLUMN cell.keys IS 'What identifies the cell: dataset, grid, level, seed and so on; keys[''seed''] gives one';
COMMENT ON COLUMN cell.spec IS 'Everything the numbers depend on, as canonical JSON';
COMMENT ON COLUMN cell.hash_version IS 'Version of the hashing scheme behind cell_id';
COMMENT ON COLUMN cell.job_id IS 'Cells with the same job_id were computed together, in a composition fixed by the plan';
COMMENT ON COLUMN cell.run_id IS 'Run that computed the cell; NULL while planned';
COMMENT ON COLUMN cell.state IS 'planned, done, refused (declined as a whole, see reason) or failed (see error)';
COMMENT ON COLUMN cell.reason IS 'Why the whole cell was refused, and what would change that';
COMMENT ON COLUMN cell.error IS 'Traceback of a failed cell';
COMMENT ON COLUMN cell.seconds IS 'Seconds the cell took (a share of its job when several cells ran together)';
COMMENT ON COLUMN cell.backend IS 'Device and floating-point type that computed it';
COMMENT ON COLUMN cell.n_records IS 'Number of its rows in record';
COMMENT ON COLUMN cell.content_hash IS 'Hash of its records, refusals and facts, independent of row order';
COMMENT ON COLUMN cell.finished IS 'When it was committed, UTC';

-- No key and no index on record: loading is several times faster and the file several times smaller without.
CREATE TABLE record (
    cell_id VARCHAR NOT NULL,
    arm     VARCHAR NOT NULL,
    metric  VARCHAR NOT NULL,
    label   VARCHAR,
    idx     INTEGER,
    value   DOUBLE NOT NULL CHECK (isfinite(value))
);
COMMENT ON TABLE record IS 'One number';
COMMENT ON COLUMN record.cell_id IS 'The cell that produced it';
COMMENT ON COLUMN record.arm IS 'Method, rule or object the number belongs to';
COMMENT ON COLUMN record.metric IS 'What was measured; described in the table metric';
COMMENT ON COLUMN record.label IS 'A second, named index: a ladder rung, a kappa pair, a region, a named variant; NULL when there is none';
COMMENT ON COLUMN record.idx IS 'Point, step or grid position; NULL for a scalar';
COMMENT ON COLUMN record.value IS 'The number; finite always';

CREATE TABLE refusal (
    cell_id VARCHAR NOT NULL,
    arm     VARCHAR NOT NULL,
    reason  VARCHAR NOT NULL,
    margin  DOUBLE CHECK (margin IS NULL OR isfinite(margin))
);
COMMENT ON TABLE refusal IS 'An arm that declined to answer in a cell; its numbers are absent, never zero';
COMMENT ON COLUMN refusal.cell_id IS 'The cell';
COMMENT ON COLUMN refusal.arm IS 'The arm that declined';
COMMENT ON COLUMN refusal.reason IS 'Why';
COMMENT ON COLUMN refusal.margin IS 'By how much the condition was missed, where that is a number';

CREATE TABLE fact (
    cell_id VARCHAR NOT NULL,
    name    VARCHAR NOT NULL,
    value   VARCHAR NOT NULL
);
COMMENT ON TABLE fact IS 'Short texts that belong to a cell: hashes of arrays, names of columns, methods used';
COMMENT ON COLUMN fact.cell_id IS 'The cell';
COMMENT ON COLUMN fact.name IS 'What the text is';
COMMENT ON COLUMN fact.value IS 'The text';

CREATE TABLE dataset (
    cell_id          VARCHAR NOT NULL,
    name             VARCHAR NOT NULL,
    origin           VARCHAR NOT NULL,
    n_rows           BIGINT NOT NULL,
    n_features       INTEGER NOT NULL,
    target           VARCHAR NOT NULL,
    distinct_targets BIGINT NOT NULL,
    sha256           VARCHAR NOT NULL
);
COMMENT ON TABLE dataset IS 'A table that a cell read';
COMMENT ON COLUMN dataset.cell_id IS 'The cell that read it';
COMMENT ON COLUMN dataset.name IS 'Name of the dataset';
COMMENT ON COLUMN dataset.origin IS 'Where the bytes came from';
COMMENT ON COLUMN dataset.n_rows IS 'Rows used';
COMMENT ON COLUMN dataset.n_features IS 'Feature columns';
COMMENT ON COLUMN dataset.target IS 'Name of the target column';
COMMENT ON COLUMN dataset.distinct_targets IS 'Distinct values of the target';
COMMENT ON COLUMN dataset.sha256 IS 'Hash of features and target as float64, row by row';

CREATE TABLE metric (
    case_name   VARCHAR NOT NULL,
    block       VARCHAR NOT NULL,
    arms        VARCHAR NOT NULL,
    metric      VARCHAR NOT NULL,
    label       VARCHAR,
    idx         VARCHAR,
    unit        VARCHAR,
    better      VARCHAR,
    description VARCHAR NOT NULL
);
COMMENT ON TABLE metric IS 'Dictionary of the metrics in record';
COMMENT ON COLUMN metric.case_name IS 'Case';
COMMENT ON COLUMN metric.block IS 'Blocks in which it occurs';
COMMENT ON COLUMN metric.arms IS 'Arms for which it is recorded';
COMMENT ON COLUMN metric.metric IS 'Name in record.metric';
COMMENT ON COLUMN metric.label IS 'Meaning of record.label; NULL when unused';
COMMENT ON COLUMN metric.idx IS 'Meaning of record.idx; NULL for a scalar';
COMMENT ON COLUMN metric.unit IS 'Unit';
COMMENT ON COLUMN metric.better IS 'lower, higher, or NULL where neither is better';
COMMENT ON COLUMN metric.description IS 'What it is';

CREATE TABLE setting (
    run_id      VARCHAR NOT NULL,
    case_name   VARCHAR NOT NULL,
    name        VARCHAR NOT NULL,
    value       VARCHAR NOT NULL,
    given       BOOLEAN NOT NULL,
    description VARCHAR NOT NULL
);
COMMENT ON TABLE setting IS 'Every named setting of a run, and whether the paper gives it';
COMMENT ON COLUMN setting.run_id IS 'The run';
COMMENT ON COLUMN setting.case_name IS 'Case';
COMMENT ON COLUMN setting.name IS 'Name';
COMMENT ON COLUMN setting.value IS 'Value in force, as JSON';
COMMENT ON COLUMN setting.given IS 'True when the paper states the value, false when it is our choice';
COMMENT ON COLUMN setting.description IS 'One sentence';

CREATE TABLE published (
    id          VARCHAR NOT NULL,
    place       VARCHAR NOT NULL,
    table_name  VARCHAR,
    row_name    VARCHAR,
    column_name VARCHAR,
    kind        VARCHAR NOT NULL,
    printed     VARCHAR NOT NULL,
    value       DOUBLE,
    low         DOUBLE,
    high        DOUBLE,
    meaning     VARCHAR
);
COMMENT ON TABLE published IS 'Numbers printed in the paper';
COMMENT ON COLUMN published.id IS 'Name of the entry';
COMMENT ON COLUMN published.place IS 'Where it stands';
COMMENT ON COLUMN published.table_name IS 'Label of the table it stands in';
COMMENT ON COLUMN published.row_name IS 'Row of that table';
COMMENT ON COLUMN published.column_name IS 'Column of that table';
COMMENT ON COLUMN published.kind IS 'value, count, ratio, percentage, p-value, interval end, slope, sum or claim';
COMMENT ON COLUMN published.printed IS 'As printed, every digit kept';
COMMENT ON COLUMN published.value IS 'The number; NULL for a claim in words';
COMMENT ON COLUMN published.low IS 'Lower end of its rounding interval';
COMMENT ON COLUMN published.high IS 'Upper end of its rounding interval';
COMMENT ON COLUMN published.meaning IS 'What the number is';
