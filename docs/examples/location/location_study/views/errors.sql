CREATE OR REPLACE VIEW location_errors AS
SELECT law, seed, arm, error, cell_id FROM location_main WHERE error IS NOT NULL;
COMMENT ON VIEW location_errors IS 'One row per estimate that was made';
