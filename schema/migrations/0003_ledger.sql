-- The ledger: a hash chain over what was registered, planned, computed and audited.
CREATE TABLE ledger (
    branch   INTEGER NOT NULL,
    sequence BIGINT NOT NULL,
    kind     VARCHAR NOT NULL,
    written  TIMESTAMP NOT NULL,
    payload  VARCHAR NOT NULL,
    subject  VARCHAR NOT NULL,
    previous VARCHAR NOT NULL,
    hash     VARCHAR NOT NULL,
    PRIMARY KEY (branch, sequence)
);
COMMENT ON TABLE ledger IS 'A hash chain: one entry per thing written, each holding the hash of the one before; rows are added, never changed';
COMMENT ON COLUMN ledger.branch IS '0 for the history of this file; 1 and up for the histories of databases merged into it';
COMMENT ON COLUMN ledger.sequence IS 'Position in the chain, from 1';
COMMENT ON COLUMN ledger.kind IS 'What was written: genesis, migration, registration, run, plan, cells, catalogue, import, audit, published, receipt or merge';
COMMENT ON COLUMN ledger.written IS 'When, by the clock of the machine, UTC; no entry is earlier than the one before';
COMMENT ON COLUMN ledger.payload IS 'A summary, as JSON';
COMMENT ON COLUMN ledger.subject IS 'SHA-256 over the items of this entry in ledger_item';
COMMENT ON COLUMN ledger.previous IS 'Hash of the entry before; empty for the first';
COMMENT ON COLUMN ledger.hash IS 'SHA-256 over sequence, kind, time, payload, subject and previous';

-- No key and no index, as on record: rows are only appended.
CREATE TABLE ledger_item (
    branch   INTEGER NOT NULL,
    sequence BIGINT NOT NULL,
    part     VARCHAR NOT NULL,
    key      VARCHAR NOT NULL,
    digest   VARCHAR NOT NULL
);
COMMENT ON TABLE ledger_item IS 'What an entry of the ledger vouches for: the rows of one key, as they were when the entry was written';
COMMENT ON COLUMN ledger_item.branch IS 'Branch of the entry';
COMMENT ON COLUMN ledger_item.sequence IS 'Sequence number of the entry';
COMMENT ON COLUMN ledger_item.part IS 'The table the rows stand in; plan and cell are the two halves of the table cell';
COMMENT ON COLUMN ledger_item.key IS 'Their key: a registration hash, a cell, run or audit id, or the name of a case';
COMMENT ON COLUMN ledger_item.digest IS 'SHA-256 over the columns that are not NULL';
