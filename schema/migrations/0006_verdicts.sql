-- Defaults are for rows of exports that older versions wrote.
-- Verdicts that say more: intervals of the tests, margins, standardised effects, units coarser than the declared ones,
-- what is known about the time of a registration, and earlier looks. Tables are rebuilt: a CHECK cannot be changed in place.

CREATE TABLE test_result_new (
    test_id         VARCHAR NOT NULL,
    audit_id        VARCHAR NOT NULL,
    registration    VARCHAR NOT NULL,
    hypothesis      VARCHAR NOT NULL,
    comparison      VARCHAR NOT NULL,
    variant         VARCHAR NOT NULL CHECK (variant IN ('declared', 'blocked', 'naive', 'coarser')),
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
    units_sql       VARCHAR NOT NULL,
    interval_ends VARCHAR NOT NULL DEFAULT '[]',
    standard_effect DOUBLE,
    standard_effect_name VARCHAR NOT NULL DEFAULT '',
    superiority DOUBLE,
    e_value DOUBLE,
    untestable VARCHAR CHECK (untestable IN ('too few units', 'too many units tie')),
    margin DOUBLE,
    p_noninferior DOUBLE,
    p_equivalent DOUBLE,
    noninferior BOOLEAN,
    equivalent BOOLEAN,
    posterior_below DOUBLE,
    posterior_within DOUBLE,
    posterior_above DOUBLE,
    refusals VARCHAR NOT NULL DEFAULT 'drop' CHECK (refusals IN ('drop', 'loss', 'worst rank', 'bounds')),
    registered_units INTEGER
);
INSERT INTO test_result_new SELECT *, '[]', NULL, '', NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, NULL, 'drop', NULL FROM test_result;
DROP TABLE test_result;
ALTER TABLE test_result_new RENAME TO test_result;
COMMENT ON TABLE test_result IS 'One test of one registered comparison, with everything needed to recompute it';
COMMENT ON COLUMN test_result.test_id IS 'Hash of audit, hypothesis, comparison and variant';
COMMENT ON COLUMN test_result.audit_id IS 'The audit it belongs to';
COMMENT ON COLUMN test_result.registration IS 'Hash of the registration that asks for it';
COMMENT ON COLUMN test_result.hypothesis IS 'Name of the hypothesis';
COMMENT ON COLUMN test_result.comparison IS 'Name of the comparison in the hypothesis file';
COMMENT ON COLUMN test_result.variant IS 'declared (values are the independent units), blocked (nested values reduced to their unit), naive (nested values counted as if independent) or coarser (whole coarser units flipped together)';
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
COMMENT ON COLUMN test_result.family_size IS 'Comparisons registered in the family, absent ones included';
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
COMMENT ON COLUMN test_result.interval_ends IS 'Which ends belong to the interval: [ or ( and ] or ); empty where there is no interval';
COMMENT ON COLUMN test_result.standard_effect IS 'Size of the effect without a unit, first minus second';
COMMENT ON COLUMN test_result.standard_effect_name IS 'Which statistic the standardised effect is';
COMMENT ON COLUMN test_result.superiority IS 'Share of units on which the first side is better, a draw counting half';
COMMENT ON COLUMN test_result.e_value IS 'Evidence against the null that holds at any stopping time; NULL where the test has none';
COMMENT ON COLUMN test_result.untestable IS 'Why the outcome is untestable: too few units, or enough units of which too many tie';
COMMENT ON COLUMN test_result.margin IS 'Difference that still counts as none, on the transformed scale; NULL where none was declared';
COMMENT ON COLUMN test_result.p_noninferior IS 'One-sided p against the first side being worse by the margin; Holm-adjusted inside a family';
COMMENT ON COLUMN test_result.p_equivalent IS 'Larger of the two one-sided p against a difference of the margin or more; Holm-adjusted inside a family';
COMMENT ON COLUMN test_result.noninferior IS 'Whether p_noninferior is at most alpha';
COMMENT ON COLUMN test_result.equivalent IS 'Whether p_equivalent is at most alpha';
COMMENT ON COLUMN test_result.posterior_below IS 'Bayesian signed-rank: probability that most of the mass lies below minus the margin';
COMMENT ON COLUMN test_result.posterior_within IS 'The same, within the margin';
COMMENT ON COLUMN test_result.posterior_above IS 'The same, above the margin';
COMMENT ON COLUMN test_result.refusals IS 'What a unit counted as in which one side refused or failed: drop, loss, worst rank or bounds';
COMMENT ON COLUMN test_result.registered_units IS 'Independent units the comparison was registered for; NULL where none were named';

CREATE TABLE claim_new (
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
    units_sql       VARCHAR NOT NULL,
    low DOUBLE,
    high DOUBLE,
    level DOUBLE,
    interval_method VARCHAR NOT NULL DEFAULT 'bare',
    clearly VARCHAR CHECK (clearly IN ('clearly-holds', 'clearly-fails'))
);
INSERT INTO claim_new SELECT *, NULL, NULL, NULL, 'bare', NULL FROM claim;
DROP TABLE claim;
ALTER TABLE claim_new RENAME TO claim;
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
COMMENT ON COLUMN claim.low IS 'Lower end of the interval of the value; NULL for a bare number';
COMMENT ON COLUMN claim.high IS 'Upper end of the interval of the value';
COMMENT ON COLUMN claim.level IS 'Level of the interval';
COMMENT ON COLUMN claim.interval_method IS 'How the interval was computed, or why the number is bare';
COMMENT ON COLUMN claim.clearly IS 'clearly-holds or clearly-fails when the whole interval lies on one side of the limit';

CREATE TABLE disposition_new (
    disposition_id VARCHAR NOT NULL,
    audit_id       VARCHAR NOT NULL,
    registration   VARCHAR NOT NULL,
    hypothesis     VARCHAR NOT NULL,
    mode           VARCHAR NOT NULL,
    statement      VARCHAR NOT NULL,
    verdict        VARCHAR NOT NULL CHECK (verdict IN ('supported', 'refuted', 'partially refuted', 'inconclusive', 'not testable at this n', 'not enough data')),
    reason         VARCHAR NOT NULL,
    rule           INTEGER,
    test_ids       VARCHAR[] NOT NULL,
    claim_ids      VARCHAR[] NOT NULL,
    after_data     BOOLEAN NOT NULL,
    amendment      BOOLEAN NOT NULL,
    population VARCHAR NOT NULL DEFAULT '',
    coarser_unit VARCHAR NOT NULL DEFAULT '',
    coarser_verdict VARCHAR,
    coarser_reason VARCHAR NOT NULL DEFAULT '',
    known VARCHAR NOT NULL DEFAULT '',
    earlier VARCHAR NOT NULL DEFAULT '[]',
    remarks VARCHAR NOT NULL DEFAULT '[]'
);
INSERT INTO disposition_new SELECT *, '', '', NULL, '', '', '[]', '[]' FROM disposition;
DROP TABLE disposition;
ALTER TABLE disposition_new RENAME TO disposition;
COMMENT ON TABLE disposition IS 'What the tests and claims of a hypothesis add up to, under the rule it was registered with';
COMMENT ON COLUMN disposition.disposition_id IS 'Hash of audit and hypothesis';
COMMENT ON COLUMN disposition.audit_id IS 'The audit it belongs to';
COMMENT ON COLUMN disposition.registration IS 'Hash of the registration';
COMMENT ON COLUMN disposition.hypothesis IS 'Name of the hypothesis';
COMMENT ON COLUMN disposition.mode IS 'registered or exploratory';
COMMENT ON COLUMN disposition.statement IS 'The hypothesis in one sentence';
COMMENT ON COLUMN disposition.verdict IS 'supported, refuted, partially refuted, inconclusive, not testable at this n, or not enough data';
COMMENT ON COLUMN disposition.reason IS 'Why, in one or two sentences';
COMMENT ON COLUMN disposition.rule IS 'Which rule of the file decided, counted from 1; NULL when none did';
COMMENT ON COLUMN disposition.test_ids IS 'Test rows the verdict rests on';
COMMENT ON COLUMN disposition.claim_ids IS 'Claims the verdict rests on';
COMMENT ON COLUMN disposition.after_data IS 'True when the hypothesis was first registered after cells had been computed';
COMMENT ON COLUMN disposition.amendment IS 'True when the registration replaces an earlier version and data already existed';
COMMENT ON COLUMN disposition.population IS 'To which population the verdict speaks, in words';
COMMENT ON COLUMN disposition.coarser_unit IS 'Keys of the coarser unit at which the decision was looked at again; empty where there is none';
COMMENT ON COLUMN disposition.coarser_verdict IS 'The verdict with whole coarser units flipped';
COMMENT ON COLUMN disposition.coarser_reason IS 'Why, in words';
COMMENT ON COLUMN disposition.known IS 'What is known about the time of the registration: before the first cell, after cells were done, amended, or unknown for imported results';
COMMENT ON COLUMN disposition.earlier IS 'Earlier audits of the same hypothesis on other data, as JSON: time, cells, verdict';
COMMENT ON COLUMN disposition.remarks IS 'What a reader must know beside the verdict, as JSON: units other than registered, corrections of the text';

-- Versions of a text before it was first registered here, such as those of a hypothesis that ships with a study.
ALTER TABLE registration ADD COLUMN history VARCHAR DEFAULT '[]';
COMMENT ON COLUMN registration.history IS 'Earlier versions of this text that were corrected after results had been seen, as JSON: hash, date, note';
ALTER TABLE registration ADD COLUMN reaches VARCHAR[] DEFAULT [];
COMMENT ON COLUMN registration.reaches IS 'Studies whose cells it can read; their done cells are counted in cells_done';
