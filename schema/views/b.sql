-- Case B in wide form: the cell's keys as columns, one column per metric; only finished cells appear.

CREATE OR REPLACE VIEW b_audit AS
SELECT
    c.keys['dataset'] AS dataset,
    max(r.value) FILTER (r.metric = 'n')::INTEGER AS n,
    max(r.value) FILTER (r.metric = 'd')::INTEGER AS d,
    max(r.value) FILTER (r.metric = 'distinct')::INTEGER AS distinct_targets,
    max(r.value) FILTER (r.metric = 'r2' AND r.label = 'file_order') AS r2_file_order,
    max(r.value) FILTER (r.metric = 'r2' AND r.label = 'shuffled') AS r2_shuffled,
    max(r.value) FILTER (r.metric = 'passed') = 1 AS passed,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'audit' AND c.state = 'done'
GROUP BY ALL;
COMMENT ON VIEW b_audit IS 'One row per dataset: what the gate before training found, with folds in file order and shuffled';

CREATE OR REPLACE VIEW b_cells AS
SELECT
    c.block,
    c.keys['dataset'] AS dataset,
    coalesce(c.keys['regime'], CASE c.block WHEN 'ablation' THEN 'shift' END) AS regime,
    c.keys['seed']::INTEGER AS seed,
    c.keys['rel']::DOUBLE AS rel,
    c.keys['scale'] AS scale,
    max(r.value) FILTER (r.metric = 'n_train')::INTEGER AS n_train,
    max(r.value) FILTER (r.metric = 'n_test')::INTEGER AS n_test,
    max(r.value) FILTER (r.metric = 'n_fit')::INTEGER AS n_fit,
    max(r.value) FILTER (r.metric = 'n_cal')::INTEGER AS n_cal,
    max(r.value) FILTER (r.metric = 'k')::INTEGER AS k,
    max(r.value) FILTER (r.metric = 'sigma_noise') AS sigma_noise,
    max(r.value) FILTER (r.metric = 'r2') AS r2,
    max(r.value) FILTER (r.metric = 'y_sd_ratio') AS y_sd_ratio,
    max(r.value) FILTER (r.metric = 'box_fraction') AS box_fraction,
    max(r.value) FILTER (r.metric = 'severity' AND r.label = 'centroid') AS severity_centroid,
    max(r.value) FILTER (r.metric = 'severity' AND r.label = 'median_test') AS severity_median_test,
    max(r.value) FILTER (r.metric = 'severity' AND r.label = 'ratio') AS severity_ratio,
    c.seconds,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block IN ('main', 'ablation', 'gap') AND c.state = 'done' AND r.arm = 'cell'
GROUP BY ALL;
COMMENT ON VIEW b_cells IS 'One row per finished cell that trained nets: sizes, conformal order statistic, learned noise, and how far the test rows are';

CREATE OR REPLACE VIEW b_arms AS
SELECT
    c.keys['dataset'] AS dataset,
    c.keys['regime'] AS regime,
    c.keys['seed']::INTEGER AS seed,
    c.keys['rel']::DOUBLE AS rel,
    r.arm,
    max(r.value) FILTER (r.metric = 'coverage') AS coverage,
    max(r.value) FILTER (r.metric = 'width_median') AS width_median,
    max(r.value) FILTER (r.metric = 'width_mean') AS width_mean,
    max(r.value) FILTER (r.metric = 'width_max') AS width_max,
    max(r.value) FILTER (r.metric = 'interval_score') AS interval_score,
    max(r.value) FILTER (r.metric = 'is_width') AS is_width,
    max(r.value) FILTER (r.metric = 'is_penalty') AS is_penalty,
    max(r.value) FILTER (r.metric = 'penalty_share') AS penalty_share,
    max(r.value) FILTER (r.metric = 'is_median') AS is_median,
    max(r.value) FILTER (r.metric = 'rmse') AS rmse,
    max(r.value) FILTER (r.metric = 'q') AS q,
    max(r.value) FILTER (r.metric = 'level_achieved') AS level_achieved,
    max(r.value) FILTER (r.metric = 'level_recorded') AS level_recorded,
    max(r.value) FILTER (r.metric = 'noise_hint') AS noise_hint,
    max(r.value) FILTER (r.metric = 'n_infinite')::INTEGER AS n_infinite,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'main' AND c.state = 'done' AND r.idx IS NULL
    AND r.arm IN ('dak', 'dak_kl', 'cp', 'ncp', 'triv', 'or1', 'or1_nf', 'or1_int', 'or2', 'or2_oracle', 'wcp', 'cp_centre')
GROUP BY ALL
HAVING coverage IS NOT NULL;
COMMENT ON VIEW b_arms IS 'One row per arm that delivered a band in a main cell; an arm that refused has no row';

CREATE OR REPLACE VIEW b_head AS
SELECT
    c.block,
    c.keys['dataset'] AS dataset,
    c.keys['regime'] AS regime,
    c.keys['seed']::INTEGER AS seed,
    c.keys['rel']::DOUBLE AS rel,
    c.keys['scale'] AS scale,
    NOT bool_or(r.metric = 'w_add') AS refused,
    max(r.value) FILTER (r.metric = 'eta') AS eta,
    max(r.value) FILTER (r.metric = 'margin') AS margin,
    max(r.value) FILTER (r.metric = 'rho_oc') AS rho_oc,
    max(r.value) FILTER (r.metric = 'kappa') AS kappa,
    max(r.value) FILTER (r.metric = 'kappa_star' AND r.label IS NULL) AS kappa_star,
    max(r.value) FILTER (r.metric = 'kappa_star' AND r.label = 'grid') AS kappa_star_grid,
    max(r.value) FILTER (r.metric = 'saturated' AND r.label IS NULL) = 1 AS saturated,
    max(r.value) FILTER (r.metric = 'saturated' AND r.label = 'grid') = 1 AS saturated_grid,
    max(r.value) FILTER (r.metric = 'q_add' AND r.label IS NULL) AS q_add,
    max(r.value) FILTER (r.metric = 'q_add' AND r.label = 'grid') AS q_add_grid,
    max(r.value) FILTER (r.metric = 'w_add') AS w_add,
    max(r.value) FILTER (r.metric = 'w_obs') AS w_obs,
    median(r.value) FILTER (r.metric = 'w_int') AS w_int_median,
    avg(r.value) FILTER (r.metric = 'w_int') AS w_int_mean,
    max(r.value) FILTER (r.metric = 'w_int') AS w_int_max,
    max(r.value) FILTER (r.metric = 'gap_rel') AS gap_rel_max,
    max(r.value) FILTER (r.metric = 'dead_columns')::INTEGER AS dead_columns,
    max(r.value) FILTER (r.metric = 'nullity')::INTEGER AS nullity,
    max(r.value) FILTER (r.metric = 'feature_norm_ratio') AS feature_norm_ratio,
    max(r.value) FILTER (r.metric = 'ns_max') AS ns_max,
    max(r.value) FILTER (r.metric = 'n_over_cap')::INTEGER AS n_over_cap,
    max(r.value) FILTER (r.metric = 'n_guard')::INTEGER AS n_guard,
    max(r.value) FILTER (r.metric = 'half_over_radius_max') AS half_over_radius_max,
    max(r.value) FILTER (r.metric = 'shape_skill') AS shape_skill,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block IN ('main', 'gap') AND c.state = 'done' AND r.arm = 'or1'
GROUP BY ALL;
COMMENT ON VIEW b_head IS 'One row per OR head: budget, calibration by the exact score and on the grid, width budget, tail and guard; widths are NULL when it refused';

CREATE OR REPLACE VIEW b_counterfactual AS
SELECT
    c.keys['dataset'] AS dataset,
    c.keys['regime'] AS regime,
    c.keys['seed']::INTEGER AS seed,
    c.keys['rel']::DOUBLE AS rel,
    max(r.value) FILTER (r.arm = 'counterfactual' AND r.label = 'model_cp') AS model_cp,
    max(r.value) FILTER (r.arm = 'counterfactual' AND r.label = 'model_triv') AS model_triv,
    max(r.value) FILTER (r.arm = 'counterfactual' AND r.label = 'const_cp') AS const_cp,
    max(r.value) FILTER (r.arm = 'counterfactual' AND r.label = 'const_triv') AS const_triv,
    max(r.value) FILTER (r.arm = 'inflation' AND r.metric = 'factor') AS inflation,
    max(r.value) FILTER (r.arm = 'inflation' AND r.metric = 'width_mean_ratio') AS inflation_width_mean_ratio,
    max(r.value) FILTER (r.arm = 'inflation' AND r.metric = 'width_median_ratio') AS inflation_width_median_ratio,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'main' AND c.state = 'done' AND r.arm IN ('counterfactual', 'inflation')
GROUP BY ALL;
COMMENT ON VIEW b_counterfactual IS 'Coverage of the four pairings of a centre with a quantile, and the inflation of cp that matches the OR head';

CREATE OR REPLACE VIEW b_points AS
SELECT
    c.block,
    c.keys['dataset'] AS dataset,
    c.keys['regime'] AS regime,
    c.keys['seed']::INTEGER AS seed,
    c.keys['rel']::DOUBLE AS rel,
    c.keys['scale'] AS scale,
    r.arm,
    r.idx AS point,
    max(r.value) FILTER (r.metric = 'center') AS center,
    max(r.value) FILTER (r.metric = 'half') AS half,
    any_value(t.y) AS y,
    abs(any_value(t.y) - max(r.value) FILTER (r.metric = 'center')) <= max(r.value) FILTER (r.metric = 'half') AS covered,
    c.cell_id
FROM cell c
JOIN record r USING (cell_id)
JOIN (SELECT cell_id, idx, value AS y FROM record WHERE arm = 'truth' AND metric = 'y') t
    ON t.cell_id = c.cell_id AND t.idx = r.idx
WHERE c.case_name = 'b' AND c.block IN ('main', 'gap') AND c.state = 'done' AND r.metric IN ('center', 'half')
GROUP BY ALL;
COMMENT ON VIEW b_points IS 'One row per arm and test point: the band, the target, and whether it is inside';

CREATE OR REPLACE VIEW b_head_points AS
SELECT
    c.block,
    c.keys['dataset'] AS dataset,
    c.keys['regime'] AS regime,
    c.keys['seed']::INTEGER AS seed,
    c.keys['rel']::DOUBLE AS rel,
    c.keys['scale'] AS scale,
    r.idx AS point,
    max(r.value) FILTER (r.metric = 'w_int') AS w_int,
    max(r.value) FILTER (r.metric = 'e_star') AS e_star,
    max(r.value) FILTER (r.metric = 'ns') AS ns,
    max(r.value) FILTER (r.metric = 'gap_rel') AS gap_rel,
    max(r.value) FILTER (r.metric = 'guard') = 1 AS guarded,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block IN ('main', 'gap') AND c.state = 'done' AND r.arm = 'or1' AND r.idx IS NOT NULL
GROUP BY ALL;
COMMENT ON VIEW b_head_points IS 'One row per test point of an OR head: interval, global certificate, null-space share, primal-dual gap, guard';

CREATE OR REPLACE VIEW b_ablation AS
SELECT
    c.keys['dataset'] AS dataset,
    c.keys['seed']::INTEGER AS seed,
    c.keys['rel']::DOUBLE AS rel,
    r.arm,
    split_part(r.arm, '_', 1) AS rule,
    split_part(r.arm, '_', 2) AS delivery,
    NOT bool_or(r.metric = 'width_mean') AS refused,
    max(r.value) FILTER (r.metric = 'coverage') AS coverage,
    max(r.value) FILTER (r.metric = 'width_median') AS width_median,
    max(r.value) FILTER (r.metric = 'width_mean') AS width_mean,
    max(r.value) FILTER (r.metric = 'width_max') AS width_max,
    max(r.value) FILTER (r.metric = 'interval_score') AS interval_score,
    max(r.value) FILTER (r.metric = 'blow_up') = 1 AS blow_up,
    max(r.value) FILTER (r.metric = 'ns_max') AS ns_max,
    max(r.value) FILTER (r.metric = 'nullity')::INTEGER AS nullity,
    max(r.value) FILTER (r.metric = 'dead_columns')::INTEGER AS dead_columns,
    max(r.value) FILTER (r.metric = 'misfit_ratio') AS misfit_ratio,
    max(r.value) FILTER (r.metric = 'margin') AS margin,
    max(r.value) FILTER (r.metric = 'norm_pinv') AS norm_pinv,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'ablation' AND c.state = 'done' AND r.arm <> 'cell'
GROUP BY ALL;
COMMENT ON VIEW b_ablation IS 'One row per head variant of an ablation cell; widths are NULL when it refused';

CREATE OR REPLACE VIEW b_gap AS
SELECT
    c.keys['seed']::INTEGER AS seed,
    c.keys['scale'] AS scale,
    r.arm,
    r.label AS region,
    max(r.value) FILTER (r.metric = 'coverage') AS coverage,
    max(r.value) FILTER (r.metric = 'width_mean') AS width_mean,
    max(r.value) FILTER (r.metric = 'interval_score') AS interval_score,
    max(r.value) FILTER (r.metric = 'is_penalty') AS is_penalty,
    c.cell_id
FROM cell c JOIN record r USING (cell_id)
WHERE c.case_name = 'b' AND c.block = 'gap' AND c.state = 'done' AND r.label IN ('gap', 'ind', 'ext')
GROUP BY ALL;
COMMENT ON VIEW b_gap IS 'One row per arm and region of a gap cell, against the noiseless truth';
