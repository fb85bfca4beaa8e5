-- Where each cell was computed: on a cluster that is not the machine of the run.
ALTER TABLE cell ADD COLUMN host VARCHAR;
COMMENT ON COLUMN cell.host IS 'Facts of the machine that computed the cell, as JSON: its name, CPU model and architecture, Python and orledger; NULL where it is not known';
