-- Case A for people: one row per solve, per selection, per certified point, per rung. Only finished cells.
CREATE OR REPLACE VIEW a_solves AS
SELECT c.cell_id, c.block, c.backend AS computed_on,
       c.keys['grid']::INTEGER AS grid, c.keys['level']::DOUBLE AS level, c.keys['seed']::INTEGER AS seed,
       c.keys['backend'] AS backend, c.keys['repeat']::INTEGER AS repeat, c.keys['init']::INTEGER AS init,
       c.keys['forcing'] AS forcing, c.keys['rank']::INTEGER AS rank, r.idx AS lam2_index,
       max(r.value) FILTER (WHERE r.metric = 'lam2') AS lam2,
       max(r.value) FILTER (WHERE r.metric = 'rmse') AS rmse,
       max(r.value) FILTER (WHERE r.metric = 'rmse_best') AS rmse_best,
       max(r.value) FILTER (WHERE r.metric = 'misfit') AS misfit,
       max(r.value) FILTER (WHERE r.metric = 'norm') AS norm,
       max(r.value) FILTER (WHERE r.metric = 'epochs') AS epochs,
       max(r.value) FILTER (WHERE r.metric = 'converged') AS converged,
       max(r.value) FILTER (WHERE r.metric = 'nugget') AS nugget,
       max(r.value) FILTER (WHERE r.metric = 'gcv') AS gcv,
       max(r.value) FILTER (WHERE r.metric = 'ml2_unit') AS ml2_unit,
       max(r.value) FILTER (WHERE r.metric = 'ml2_profiled') AS ml2_profiled,
       c.seconds AS cell_seconds
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'a' AND c.state = 'done' AND r.arm = 'solve'
GROUP BY ALL;
COMMENT ON VIEW a_solves IS 'Case A: one row per solve; the released weight has lam2_index 0; cell_seconds is for all solves and rules of the cell';

CREATE OR REPLACE VIEW a_rules AS
SELECT c.cell_id, c.block, c.backend AS computed_on,
       c.keys['grid']::INTEGER AS grid, c.keys['level']::DOUBLE AS level, c.keys['seed']::INTEGER AS seed,
       c.keys['backend'] AS backend, c.keys['init']::INTEGER AS init, c.keys['forcing'] AS forcing,
       c.keys['rank']::INTEGER AS rank, r.arm AS rule, r.label AS variant,
       max(r.value) FILTER (WHERE r.metric = 'lam2') AS lam2,
       max(r.value) FILTER (WHERE r.metric = 'lam2_index')::INTEGER AS lam2_index,
       max(r.value) FILTER (WHERE r.metric = 'rmse') AS rmse,
       max(r.value) FILTER (WHERE r.metric = 'oracle_ratio') AS oracle_ratio
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'a' AND c.state = 'done' AND r.arm IN ('released', 'morozov', 'ml2', 'gcv', 'lcurve', 'oracle')
GROUP BY ALL;
COMMENT ON VIEW a_rules IS 'Case A: what each rule selected in each cell; variant is NULL for the declared default of the rule';

CREATE OR REPLACE VIEW a_cells AS
SELECT c.cell_id, c.block, c.keys['grid']::INTEGER AS grid, c.keys['level']::DOUBLE AS level,
       c.keys['seed']::INTEGER AS seed, c.keys['backend'] AS backend,
       max(r.value) FILTER (WHERE r.metric = 'std_f') AS std_f,
       max(r.value) FILTER (WHERE r.metric = 'sigma') AS sigma,
       max(r.value) FILTER (WHERE r.metric = 'eta') AS eta,
       max(r.value) FILTER (WHERE r.metric = 'noise_norm') AS noise_norm,
       max(r.value) FILTER (WHERE r.metric = 'noise_exceeds_eta') = 1 AS noise_exceeds_eta,
       max(r.value) FILTER (WHERE r.metric = 'lam2') AS lam2,
       max(r.value) FILTER (WHERE r.metric = 'misfit') AS misfit,
       max(r.value) FILTER (WHERE r.metric = 'rho_oc') AS rho_oc,
       max(r.value) FILTER (WHERE r.metric = 'eps_hat') AS eps_hat,
       max(r.value) FILTER (WHERE r.metric = 'delta_num') AS delta_num
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'a' AND c.state = 'done' AND r.arm = 'cell'
GROUP BY ALL;
COMMENT ON VIEW a_cells IS 'Case A: the noise of each cell and whether it stayed inside its budget; for certificates also the radii';

CREATE OR REPLACE VIEW a_points AS
SELECT c.cell_id, c.keys['grid']::INTEGER AS grid, c.keys['level']::DOUBLE AS level, c.keys['seed']::INTEGER AS seed,
       r.idx AS point,
       max(r.value) FILTER (WHERE r.arm = 'point' AND r.metric = 'x') AS x,
       max(r.value) FILTER (WHERE r.arm = 'point' AND r.metric = 'y') AS y,
       max(r.value) FILTER (WHERE r.arm = 'point' AND r.metric = 'ring') AS ring,
       max(r.value) FILTER (WHERE r.arm = 'point' AND r.metric = 'truth') AS truth,
       max(r.value) FILTER (WHERE r.arm = 'point' AND r.metric = 'recovery') AS recovery,
       max(r.value) FILTER (WHERE r.arm = 'point' AND r.metric = 'error') AS error,
       max(r.value) FILTER (WHERE r.arm = 'global' AND r.metric = 'radius' AND r.label IS NULL) AS radius,
       max(r.value) FILTER (WHERE r.arm = 'global' AND r.metric = 'certificate' AND r.label IS NULL) AS certificate,
       max(r.value) FILTER (WHERE r.arm = 'global' AND r.metric = 'radius' AND r.label = 'grid97') AS radius_grid97,
       max(r.value) FILTER (WHERE r.arm = 'global' AND r.metric = 'certificate' AND r.label = 'grid97') AS certificate_grid97,
       max(r.value) FILTER (WHERE r.arm = 'global' AND r.metric = 'certificate' AND r.label = 'paper') AS certificate_paper,
       max(r.value) FILTER (WHERE r.arm = 'gp_band' AND r.metric = 'mean') AS gp_mean,
       max(r.value) FILTER (WHERE r.arm = 'gp_band' AND r.metric = 'half') AS gp_half,
       max(r.value) FILTER (WHERE r.arm = 'gp_band' AND r.metric = 'error') AS gp_error
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'a' AND c.block = 'certificates' AND c.state = 'done' AND r.idx IS NOT NULL
      AND r.arm IN ('point', 'global', 'gp_band')
GROUP BY ALL;
COMMENT ON VIEW a_points IS 'Case A certificates: one row per evaluation point, with the global certificate and the credible band';

CREATE OR REPLACE VIEW a_intervals AS
SELECT c.cell_id, c.keys['grid']::INTEGER AS grid, c.keys['level']::DOUBLE AS level, c.keys['seed']::INTEGER AS seed,
       replace(r.label, 'm=', '')::DOUBLE AS rung, r.idx AS point,
       max(r.value) FILTER (WHERE r.metric = 'mid') AS mid,
       max(r.value) FILTER (WHERE r.metric = 'half') AS half,
       max(r.value) FILTER (WHERE r.metric = 'lower') AS lower_edge,
       max(r.value) FILTER (WHERE r.metric = 'upper') AS upper_edge,
       max(r.value) FILTER (WHERE r.metric = 'gap') AS gap,
       max(r.value) FILTER (WHERE r.metric = 'error') AS error
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'a' AND c.block = 'certificates' AND c.state = 'done' AND r.arm = 'conditional' AND r.idx IS NOT NULL
GROUP BY ALL;
COMMENT ON VIEW a_intervals IS 'Case A certificates: one row per evaluation point and rung of the inflation ladder';

CREATE OR REPLACE VIEW a_ladder AS
SELECT i.grid, i.level, i.seed, i.rung, count(*) AS points, median(i.half) AS median_half,
       avg((p.truth BETWEEN i.lower_edge AND i.upper_edge)::INTEGER) AS coverage,
       median(i.half / nullif(i.error, 0)) AS median_width_over_error,
       median(p.certificate) / median(i.half) AS tightening, max(i.gap) AS worst_gap
FROM a_intervals i JOIN a_points p USING (cell_id, point)
GROUP BY i.grid, i.level, i.seed, i.rung;
COMMENT ON VIEW a_ladder IS 'Case A certificates: medians over the evaluation points, per cell and rung';

CREATE OR REPLACE VIEW a_floor AS
SELECT c.cell_id, c.keys['grid']::INTEGER AS grid, c.keys['backend'] AS backend, c.keys['repeat']::INTEGER AS repeat,
       c.backend AS computed_on, f.value AS rmse_sha256, m.value AS misfit_sha256,
       dense_rank() OVER (PARTITION BY c.keys['grid'] ORDER BY f.value, m.value) AS bit_class
FROM cell c
JOIN fact f ON f.cell_id = c.cell_id AND f.name = 'rmse_sha256'
JOIN fact m ON m.cell_id = c.cell_id AND m.name = 'misfit_sha256'
WHERE c.case_name = 'a' AND c.block = 'floor' AND c.state = 'done';
COMMENT ON VIEW a_floor IS 'Case A floor: repetitions on the same grid with the same bit_class have bitwise equal RMSE and misfit curves';

CREATE OR REPLACE VIEW a_floor_dispersion AS
SELECT grid, backend, lam2_index, lam2, count(*) AS runs, count(DISTINCT rmse) AS distinct_rmse,
       stddev_samp(rmse) / avg(rmse) AS cv_rmse, min(rmse) AS low_rmse, max(rmse) AS high_rmse
FROM a_solves WHERE block = 'floor'
GROUP BY grid, backend, lam2_index, lam2;
COMMENT ON VIEW a_floor_dispersion IS 'Case A floor: dispersion of the RMSE over the repetitions of each backend, at each weight';

CREATE OR REPLACE VIEW a_portability AS
SELECT a.grid, a.level, a.seed, a.rule, b.backend, b.computed_on, a.rmse AS rmse_float64, b.rmse AS rmse_other,
       b.rmse / a.rmse AS ratio, a.lam2_index AS lam2_index_float64, b.lam2_index AS lam2_index_other
FROM a_rules a JOIN a_rules b USING (block, grid, level, seed, rule)
WHERE a.block = 'portability' AND a.backend = 'float64' AND b.backend <> 'float64' AND a.variant IS NULL AND b.variant IS NULL;
COMMENT ON VIEW a_portability IS 'Case A portability: the selected RMSE of each rule on another backend over that in float64, per matched cell';
