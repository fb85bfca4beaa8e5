-- What a recheck of a paper found.
CREATE TABLE recheck_finding (
    paper         VARCHAR NOT NULL,
    id            VARCHAR NOT NULL,
    place         VARCHAR NOT NULL,
    file          VARCHAR NOT NULL,
    line          BIGINT,
    printed       VARCHAR NOT NULL,
    recomputed    VARCHAR NOT NULL,
    low           DOUBLE,
    high          DOUBLE,
    verdict       VARCHAR NOT NULL CHECK (verdict IN ('matches', 'matches within rounding', 'attainable', 'another convention',
                  'could not be checked', 'false as printed', 'inconsistent', 'impossible')),
    weight        DOUBLE NOT NULL,
    decision      BOOLEAN NOT NULL,
    rule          VARCHAR NOT NULL,
    convention    VARCHAR,
    why           VARCHAR NOT NULL,
    cause         VARCHAR NOT NULL,
    sentence      VARCHAR NOT NULL,
    operands      VARCHAR[] NOT NULL,
    PRIMARY KEY (paper, id)
);
COMMENT ON TABLE recheck_finding IS 'One check of the printed numbers of a paper; orledger recheck --into replaces those of the paper';
COMMENT ON COLUMN recheck_finding.paper IS 'Name of the file or of the study that was rechecked';
COMMENT ON COLUMN recheck_finding.id IS 'Name of the finding: the number, then the rule';
COMMENT ON COLUMN recheck_finding.place IS 'Where the number stands, in words';
COMMENT ON COLUMN recheck_finding.file IS 'File it stands in; empty when the text was not read';
COMMENT ON COLUMN recheck_finding.line IS 'Line of that file';
COMMENT ON COLUMN recheck_finding.printed IS 'As printed';
COMMENT ON COLUMN recheck_finding.recomputed IS 'What follows from other printed numbers, as text';
COMMENT ON COLUMN recheck_finding.low IS 'Lower end of the recomputed value; NULL for a statement in words';
COMMENT ON COLUMN recheck_finding.high IS 'Upper end of the recomputed value';
COMMENT ON COLUMN recheck_finding.verdict IS 'What the check says';
COMMENT ON COLUMN recheck_finding.weight IS 'How much it matters; 0 when nothing is left to explain';
COMMENT ON COLUMN recheck_finding.decision IS 'True when the printed and the recomputed p-value lie on two sides of 0.05';
COMMENT ON COLUMN recheck_finding.rule IS 'Rule that was applied';
COMMENT ON COLUMN recheck_finding.convention IS 'Reading that fits; NULL when none does or none was needed';
COMMENT ON COLUMN recheck_finding.why IS 'What fits, or what was tried and does not';
COMMENT ON COLUMN recheck_finding.cause IS 'What it shares with other findings';
COMMENT ON COLUMN recheck_finding.sentence IS 'Sentence or row it stands in; empty when the text was not read';
COMMENT ON COLUMN recheck_finding.operands IS 'Numbers that the check reads';
