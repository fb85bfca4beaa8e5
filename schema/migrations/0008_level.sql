-- Whether a verdict keeps its level, in words.
ALTER TABLE disposition ADD COLUMN level VARCHAR;
COMMENT ON COLUMN disposition.level IS 'The level of the verdict in words: kept, or why none is claimed, and for what the units are too fine; empty where nothing was decided, NULL where an earlier version audited';
