CREATE OR REPLACE VIEW d_errors AS
SELECT c.keys['law'] AS law, c.keys['seed']::INTEGER AS seed, r.arm, r.value AS error, c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'd' AND c.state = 'done' AND r.metric = 'error';
COMMENT ON VIEW d_errors IS 'Case D: one row per estimate';
