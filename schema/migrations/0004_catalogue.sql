-- The catalogue: what a study records, so that its wide views can be generated from the database alone.
CREATE TABLE key (
    case_name   VARCHAR NOT NULL,
    block       VARCHAR NOT NULL,
    key         VARCHAR NOT NULL,
    type        VARCHAR NOT NULL CHECK (type IN ('VARCHAR', 'BIGINT', 'DOUBLE')),
    position    INTEGER NOT NULL,
    description VARCHAR NOT NULL
);
COMMENT ON TABLE key IS 'Dictionary of the keys that identify a cell, per block';
COMMENT ON COLUMN key.case_name IS 'Case';
COMMENT ON COLUMN key.block IS 'Block in whose cells it occurs';
COMMENT ON COLUMN key.key IS 'Name in cell.keys';
COMMENT ON COLUMN key.type IS 'Type of its column in the views: VARCHAR, BIGINT or DOUBLE';
COMMENT ON COLUMN key.position IS 'Place among the keys of the case, from 0';
COMMENT ON COLUMN key.description IS 'What it is; empty when nobody wrote it down';

CREATE TABLE arm (
    case_name   VARCHAR NOT NULL,
    arm         VARCHAR NOT NULL,
    label       VARCHAR NOT NULL,
    description VARCHAR NOT NULL,
    position    INTEGER NOT NULL
);
COMMENT ON TABLE arm IS 'Dictionary of the arms: methods, rules and objects that numbers belong to';
COMMENT ON COLUMN arm.case_name IS 'Case';
COMMENT ON COLUMN arm.arm IS 'Name in record.arm';
COMMENT ON COLUMN arm.label IS 'Name for people, in tables and figures';
COMMENT ON COLUMN arm.description IS 'What it is; empty when nobody wrote it down';
COMMENT ON COLUMN arm.position IS 'Place among the arms of the case, from 0';

CREATE TABLE study (
    case_name VARCHAR NOT NULL,
    study     VARCHAR NOT NULL,
    title     VARCHAR NOT NULL,
    citation  VARCHAR NOT NULL
);
COMMENT ON TABLE study IS 'The study that a case belongs to';
COMMENT ON COLUMN study.case_name IS 'Case';
COMMENT ON COLUMN study.study IS 'Name of the study';
COMMENT ON COLUMN study.title IS 'Title; empty when there is none';
COMMENT ON COLUMN study.citation IS 'How to cite it; empty when there is nothing to cite';

ALTER TABLE metric ADD COLUMN position INTEGER;
COMMENT ON COLUMN metric.position IS 'Place among the metrics of the case, from 0; NULL in files of schema version 3 and below';
COMMENT ON COLUMN metric.block IS 'Block in which it occurs; files of schema version 3 and below list several, separated by commas';
