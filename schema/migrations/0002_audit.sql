-- The audit: what was registered, what was tested, what was claimed, and what follows.
CREATE TABLE registration (
    hash          VARCHAR PRIMARY KEY,
    hypothesis    VARCHAR NOT NULL,
    mode          VARCHAR NOT NULL CHECK (mode IN ('registered', 'exploratory')),
    statement     VARCHAR NOT NULL,
    file          VARCHAR NOT NULL,
    text          VARCHAR NOT NULL,
    registered    TIMESTAMP NOT NULL,
    cells_done    BIGINT NOT NULL,
    parent        VARCHAR,
    amendment     BOOLEAN NOT NULL
);
COMMENT ON TABLE registration IS 'A hypothesis file as it was registered; rows are added, never changed';
COMMENT ON COLUMN registration.hash IS 'SHA-256 of the text';
COMMENT ON COLUMN registration.hypothesis IS 'Name of the hypothesis';
COMMENT ON COLUMN registration.mode IS 'registered (stated before the data) or exploratory (suggested by data)';
COMMENT ON COLUMN registration.statement IS 'The hypothesis in one sentence';
COMMENT ON COLUMN registration.file IS 'Name of the file it was read from';
COMMENT ON COLUMN registration.text IS 'The whole file';
COMMENT ON COLUMN registration.registered IS 'When it was stored, UTC';
COMMENT ON COLUMN registration.cells_done IS 'Cells of the studies it asks about that were already done at that moment';
COMMENT ON COLUMN registration.parent IS 'Hash of the version it replaces; NULL for the first';
COMMENT ON COLUMN registration.amendment IS 'True when it replaces another version and data already existed';

CREATE TABLE audit (
    audit_id      VARCHAR PRIMARY KEY,
    registrations VARCHAR[] NOT NULL,
    data_hash     VARCHAR NOT NULL,
    n_cells       BIGINT NOT NULL,
    n_records     BIGINT NOT NULL,
    versions      VARCHAR NOT NULL,
    created       TIMESTAMP NOT NULL
);
COMMENT ON TABLE audit IS 'One evaluation of a set of registrations on one state of the data';
COMMENT ON COLUMN audit.audit_id IS 'Hash of the registrations, the data hash and the version of the audit code: the same inputs give the same audit';
COMMENT ON COLUMN audit.registrations IS 'Hashes of the registrations evaluated';
COMMENT ON COLUMN audit.data_hash IS 'Hash over the ids, states and content hashes of all cells';
COMMENT ON COLUMN audit.n_cells IS 'Cells done';
COMMENT ON COLUMN audit.n_records IS 'Records in the database';
COMMENT ON COLUMN audit.versions IS 'Versions of the packages the p-values passed through, as JSON';
COMMENT ON COLUMN audit.created IS 'When this audit was first computed, UTC';

CREATE TABLE test_result (
    test_id         VARCHAR NOT NULL,
    audit_id        VARCHAR NOT NULL,
    registration    VARCHAR NOT NULL,
    hypothesis      VARCHAR NOT NULL,
    comparison      VARCHAR NOT NULL,
    variant         VARCHAR NOT NULL CHECK (variant IN ('declared', 'blocked', 'naive')),
    title           VARCHAR NOT NULL,
    test            VARCHAR NOT NULL,
    quantities      VARCHAR NOT NULL,
    transform       VARCHAR NOT NULL,
    unit            VARCHAR NOT NULL,
    independent     BOOLEAN NOT NULL,
    outcome         VARCHAR NOT NULL CHECK (outcome IN ('less', 'greater', 'different', 'undecided', 'untestable', 'missing', 'refused', 'measured')),
    alpha           DOUBLE NOT NULL,
    side            VARCHAR NOT NULL,
    statistic       DOUBLE,
    statistic_name  VARCHAR NOT NULL,
    p               DOUBLE,
    family          VARCHAR,
    family_size     INTEGER,
    p_holm          DOUBLE,
    floor           DOUBLE,
    n               INTEGER NOT NULL,
    n_nonzero       INTEGER NOT NULL,
    ties            INTEGER NOT NULL,
    method          VARCHAR NOT NULL,
    effect          DOUBLE,
    effect_name     VARCHAR NOT NULL,
    low             DOUBLE,
    high            DOUBLE,
    level           DOUBLE,
    interval_method VARCHAR NOT NULL,
    wins            INTEGER,
    losses          INTEGER,
    draws           INTEGER,
    bounded         INTEGER NOT NULL,
    noise_floor     DOUBLE,
    dropped         VARCHAR NOT NULL,
    details         VARCHAR NOT NULL,
    versions        VARCHAR NOT NULL,
    units_sql       VARCHAR NOT NULL
);
COMMENT ON TABLE test_result IS 'One test of one registered comparison, with everything needed to recompute it';
COMMENT ON COLUMN test_result.test_id IS 'Hash of audit, hypothesis, comparison and variant';
COMMENT ON COLUMN test_result.audit_id IS 'The audit it belongs to';
COMMENT ON COLUMN test_result.registration IS 'Hash of the registration that asks for it';
COMMENT ON COLUMN test_result.hypothesis IS 'Name of the hypothesis';
COMMENT ON COLUMN test_result.comparison IS 'Name of the comparison in the hypothesis file';
COMMENT ON COLUMN test_result.variant IS 'declared (values are the independent units), blocked (nested values reduced to their unit) or naive (nested values counted as if independent)';
COMMENT ON COLUMN test_result.title IS 'The comparison in words';
COMMENT ON COLUMN test_result.test IS 'Which test';
COMMENT ON COLUMN test_result.quantities IS 'What was compared, as JSON';
COMMENT ON COLUMN test_result.transform IS 'Transformation of the values before comparing: none or log10';
COMMENT ON COLUMN test_result.unit IS 'Keys that name one unit of this variant, separated by commas';
COMMENT ON COLUMN test_result.independent IS 'False where the p counts nested values as if they were independent, or no p is given because of nesting';
COMMENT ON COLUMN test_result.outcome IS 'less or greater (decided, and in which direction), different (decided, no direction), undecided, untestable (the floor is above alpha), missing (no data), refused (nested values without a blocking rule), measured (an estimate without a test)';
COMMENT ON COLUMN test_result.alpha IS 'Level of the decision';
COMMENT ON COLUMN test_result.side IS 'Alternative: two-sided, less or greater';
COMMENT ON COLUMN test_result.statistic IS 'The statistic';
COMMENT ON COLUMN test_result.statistic_name IS 'What the statistic is';
COMMENT ON COLUMN test_result.p IS 'p-value before any correction; NULL when there is none';
COMMENT ON COLUMN test_result.family IS 'Family for the Holm correction; NULL when none was declared';
COMMENT ON COLUMN test_result.family_size IS 'Tests of the family that gave a p';
COMMENT ON COLUMN test_result.p_holm IS 'Holm-adjusted p; decides when a family was declared';
COMMENT ON COLUMN test_result.floor IS 'Smallest p this test could have given at this n, with these zeros and ties';
COMMENT ON COLUMN test_result.n IS 'Units compared';
COMMENT ON COLUMN test_result.n_nonzero IS 'Units that carry information: non-zero differences, discordant pairs';
COMMENT ON COLUMN test_result.ties IS 'Values that share their rank with another';
COMMENT ON COLUMN test_result.method IS 'How p was computed';
COMMENT ON COLUMN test_result.effect IS 'Size of the effect, on the transformed scale, first minus second';
COMMENT ON COLUMN test_result.effect_name IS 'Which statistic the effect is';
COMMENT ON COLUMN test_result.low IS 'Lower end of the interval of the effect';
COMMENT ON COLUMN test_result.high IS 'Upper end of the interval of the effect';
COMMENT ON COLUMN test_result.level IS 'Level the interval reaches';
COMMENT ON COLUMN test_result.interval_method IS 'How the interval was computed';
COMMENT ON COLUMN test_result.wins IS 'Units on which the first side is better';
COMMENT ON COLUMN test_result.losses IS 'Units on which the second side is better';
COMMENT ON COLUMN test_result.draws IS 'Units on which both are equal';
COMMENT ON COLUMN test_result.bounded IS 'Values pinned at a bound of the measurement; the effect is then itself a bound';
COMMENT ON COLUMN test_result.noise_floor IS 'Run-to-run floor of the quantity; an effect below it is not distinguishable from re-running';
COMMENT ON COLUMN test_result.dropped IS 'Units that did not enter, with reasons, as JSON';
COMMENT ON COLUMN test_result.details IS 'What only some tests have (mean ranks, Kendall W, tables of counts), as JSON';
COMMENT ON COLUMN test_result.versions IS 'Versions of the packages the p passed through, as JSON';
COMMENT ON COLUMN test_result.units_sql IS 'A query on this database that returns the values behind the test, with side, keys and cell_id';

CREATE TABLE claim (
    claim_id        VARCHAR NOT NULL,
    audit_id        VARCHAR NOT NULL,
    registration    VARCHAR NOT NULL,
    hypothesis      VARCHAR NOT NULL,
    name            VARCHAR NOT NULL,
    kind            VARCHAR NOT NULL,
    statement       VARCHAR NOT NULL,
    state           VARCHAR NOT NULL CHECK (state IN ('holds', 'fails', 'missing', 'measured')),
    observed        VARCHAR NOT NULL,
    value           DOUBLE,
    n               INTEGER NOT NULL,
    counterexamples VARCHAR NOT NULL,
    units_sql       VARCHAR NOT NULL
);
COMMENT ON TABLE claim IS 'A statement in words, evaluated on the data as a predicate';
COMMENT ON COLUMN claim.claim_id IS 'Hash of audit, hypothesis and name';
COMMENT ON COLUMN claim.audit_id IS 'The audit it belongs to';
COMMENT ON COLUMN claim.registration IS 'Hash of the registration that makes it';
COMMENT ON COLUMN claim.hypothesis IS 'Name of the hypothesis';
COMMENT ON COLUMN claim.name IS 'Name of the claim in the hypothesis file';
COMMENT ON COLUMN claim.kind IS 'Which predicate';
COMMENT ON COLUMN claim.statement IS 'The claim in words';
COMMENT ON COLUMN claim.state IS 'holds, fails, missing (no data) or measured (a number without a predicate)';
COMMENT ON COLUMN claim.observed IS 'What was seen, in words';
COMMENT ON COLUMN claim.value IS 'What was seen, as the number the predicate looked at';
COMMENT ON COLUMN claim.n IS 'Units looked at';
COMMENT ON COLUMN claim.counterexamples IS 'Units that speak against it, as JSON, at most 50';
COMMENT ON COLUMN claim.units_sql IS 'A query on this database that returns the values behind the claim';

CREATE TABLE disposition (
    disposition_id VARCHAR NOT NULL,
    audit_id       VARCHAR NOT NULL,
    registration   VARCHAR NOT NULL,
    hypothesis     VARCHAR NOT NULL,
    mode           VARCHAR NOT NULL,
    statement      VARCHAR NOT NULL,
    verdict        VARCHAR NOT NULL CHECK (verdict IN ('supported', 'refuted', 'partially refuted', 'not testable at this n', 'not enough data')),
    reason         VARCHAR NOT NULL,
    rule           INTEGER,
    test_ids       VARCHAR[] NOT NULL,
    claim_ids      VARCHAR[] NOT NULL,
    after_data     BOOLEAN NOT NULL,
    amendment      BOOLEAN NOT NULL
);
COMMENT ON TABLE disposition IS 'What the tests and claims of a hypothesis add up to, under the rule it was registered with';
COMMENT ON COLUMN disposition.disposition_id IS 'Hash of audit and hypothesis';
COMMENT ON COLUMN disposition.audit_id IS 'The audit it belongs to';
COMMENT ON COLUMN disposition.registration IS 'Hash of the registration';
COMMENT ON COLUMN disposition.hypothesis IS 'Name of the hypothesis';
COMMENT ON COLUMN disposition.mode IS 'registered or exploratory';
COMMENT ON COLUMN disposition.statement IS 'The hypothesis in one sentence';
COMMENT ON COLUMN disposition.verdict IS 'supported, refuted, partially refuted, not testable at this n, or not enough data';
COMMENT ON COLUMN disposition.reason IS 'Why, in one or two sentences';
COMMENT ON COLUMN disposition.rule IS 'Which rule of the file decided, counted from 1; NULL when none did';
COMMENT ON COLUMN disposition.test_ids IS 'Test rows the verdict rests on';
COMMENT ON COLUMN disposition.claim_ids IS 'Claims the verdict rests on';
COMMENT ON COLUMN disposition.after_data IS 'True when the hypothesis was first registered after cells had been computed';
COMMENT ON COLUMN disposition.amendment IS 'True when the registration replaces an earlier version and data already existed';
