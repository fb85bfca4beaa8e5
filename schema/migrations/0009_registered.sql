-- What was known about each comparison when its text was registered: a count that is found later can be held against it.
CREATE TABLE registered (
    registration VARCHAR NOT NULL,
    comparison   VARCHAR NOT NULL,
    test         VARCHAR NOT NULL,
    sides        VARCHAR NOT NULL,
    family       VARCHAR,
    family_size  INTEGER,
    unit         VARCHAR NOT NULL,
    units        INTEGER,
    basis        VARCHAR NOT NULL CHECK (basis IN ('declared', 'planned', 'present', 'not known yet'))
);
COMMENT ON TABLE registered IS 'What was fixed and what was known about each comparison when its hypothesis was registered';
COMMENT ON COLUMN registered.registration IS 'Hash of the registration';
COMMENT ON COLUMN registered.comparison IS 'Name of the comparison in the hypothesis file';
COMMENT ON COLUMN registered.test IS 'Which test';
COMMENT ON COLUMN registered.sides IS 'What is compared, in order: the arms or opponents by name, as JSON';
COMMENT ON COLUMN registered.family IS 'Family for the Holm correction; NULL when none was declared';
COMMENT ON COLUMN registered.family_size IS 'Comparisons in that family; NULL without one';
COMMENT ON COLUMN registered.unit IS 'Keys that name one independent unit, separated by commas';
COMMENT ON COLUMN registered.units IS 'How many independent units it has, as far as that was known then; NULL where it was not';
COMMENT ON COLUMN registered.basis IS 'Where the number comes from: declared (in the text), planned (by cells without results), present (by cells of which some or all had results, as imported ones have), not known yet';
