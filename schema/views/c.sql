-- Case C in wide form. A trajectory is an arm in a cell; only finished cells appear. One macro-free pattern throughout:
-- the cell's keys as columns, and one column per metric.

CREATE OR REPLACE VIEW c_cells AS
SELECT
    cell_id,
    block,
    keys['benchmark'] AS benchmark,
    keys['dim']::INTEGER AS dim,
    keys['seed']::INTEGER AS seed,
    keys['budget'] AS budget,
    keys['evaluations']::INTEGER AS evaluations,
    keys['mixtures']::INTEGER AS mixtures,
    keys['variant'] AS variant,
    seconds
FROM cell
WHERE case_name = 'c' AND state = 'done';
COMMENT ON VIEW c_cells IS 'Finished cells of Case C with their keys as columns; variant is NULL outside the determinism block';

CREATE OR REPLACE VIEW c_trajectories AS
SELECT
    c.block, c.benchmark, c.dim, c.seed, c.budget, c.evaluations, c.mixtures, r.arm, c.cell_id,
    max(r.value) FILTER (r.metric = 'final_regret') AS final_regret,
    max(r.value) FILTER (r.metric = 'auc') AS auc,
    max(r.value) FILTER (r.metric = 'regret' AND r.idx = 0) AS initial_regret
FROM c_cells c JOIN record r USING (cell_id)
WHERE c.block <> 'determinism' AND (r.metric IN ('final_regret', 'auc') OR (r.metric = 'regret' AND r.idx = 0))
GROUP BY ALL;
COMMENT ON VIEW c_trajectories IS 'One row per trajectory: simple regret at the start, at the end, and on average over the path (auc)';

CREATE OR REPLACE VIEW c_steps AS
SELECT
    c.block, c.benchmark, c.dim, c.seed, c.budget, c.evaluations, c.mixtures, c.variant, r.arm, r.idx AS step, c.cell_id,
    max(r.value) FILTER (r.metric = 'action')::INTEGER AS action,
    max(r.value) FILTER (r.metric = 'value') AS value,
    max(r.value) FILTER (r.metric = 'rho_oc') AS rho_oc,
    max(r.value) FILTER (r.metric = 'sigma_hat') AS sigma_hat,
    max(r.value) FILTER (r.metric = 'mean_c' AND r.label IS NULL) AS mean_c,
    max(r.value) FILTER (r.metric = 'osc' AND r.label IS NULL) AS osc,
    max(r.value) FILTER (r.metric = 'osc' AND r.label IS NULL)
        / nullif(max(r.value) FILTER (r.metric = 'mean_c' AND r.label IS NULL), 0) AS dispersion,
    max(r.value) FILTER (r.metric = 'osc' AND r.label = 'grid')
        / nullif(max(r.value) FILTER (r.metric = 'mean_c' AND r.label = 'grid'), 0) AS grid_dispersion,
    max(r.value) FILTER (r.metric = 'nn_distance') AS nn_distance,
    max(r.value) FILTER (r.metric = 'fit_loss') AS fit_loss,
    max(r.value) FILTER (r.metric = 'fit_steps')::INTEGER AS fit_steps,
    max(r.value) FILTER (r.metric = 'fit_grad') AS fit_grad
FROM c_cells c JOIN record r USING (cell_id)
WHERE r.metric IN ('action', 'value', 'rho_oc', 'sigma_hat', 'mean_c', 'osc', 'nn_distance', 'fit_loss', 'fit_steps', 'fit_grad')
GROUP BY ALL;
COMMENT ON VIEW c_steps IS 'One row per step of a trajectory: choice, certified width (exact, and on the paper''s mu grid), fit; dispersion is osc over mean, NULL where the width is zero';

CREATE OR REPLACE VIEW c_regret AS
SELECT c.block, c.benchmark, c.dim, c.seed, c.budget, c.evaluations, c.mixtures, c.variant, r.arm, r.idx AS evaluation, r.value AS regret, c.cell_id
FROM c_cells c JOIN record r USING (cell_id)
WHERE r.metric = 'regret';
COMMENT ON VIEW c_regret IS 'Simple regret along each trajectory; evaluation 0 is the best of the initial design';

CREATE OR REPLACE VIEW c_invariance AS
WITH labelled AS (
    SELECT cell_id, arm, idx AS step, metric, value,
        split_part(label, '/', 1) AS pair, split_part(label, '/', 2) AS criterion, split_part(label, '/', 3) AS anchor
    FROM record
    WHERE metric IN ('same', 'fires', 'ratio')
),
observed AS (SELECT cell_id, arm, step, pair, value = 1 AS same FROM labelled WHERE metric = 'same'),
predicted AS (
    SELECT cell_id, arm, step, pair, criterion, anchor,
        max(value) FILTER (metric = 'fires') = 1 AS fires,
        max(value) FILTER (metric = 'ratio') AS ratio
    FROM labelled WHERE metric IN ('fires', 'ratio') GROUP BY ALL
),
rungs AS (
    SELECT cell_id, arm, idx AS step, label AS kappa,
        max(value) FILTER (metric = 'gap') AS gap, max(value) FILTER (metric = 'tie') = 1 AS tie
    FROM record WHERE metric IN ('gap', 'tie') GROUP BY ALL
)
SELECT
    c.block, c.benchmark, c.dim, c.seed, c.budget, c.evaluations, c.mixtures, o.arm, o.step, o.pair, p.criterion, p.anchor,
    p.fires, o.same, p.fires AND NOT o.same AS counterexample, p.ratio, g.gap, g.tie, c.cell_id
FROM observed o
JOIN predicted p USING (cell_id, arm, step, pair)
JOIN rungs g ON g.cell_id = o.cell_id AND g.arm = o.arm AND g.step = o.step
    AND g.kappa = split_part(o.pair, '-', CASE p.anchor WHEN 'low' THEN 1 ELSE 2 END)
JOIN c_cells c ON c.cell_id = o.cell_id;
COMMENT ON VIEW c_invariance IS 'One row per step, kappa pair, criterion (osc: the proposition; sharp: only widths that can overtake) and anchor: did it fire, did the minimiser stay; a counterexample would be fires without same';

CREATE OR REPLACE VIEW c_paths AS
SELECT
    c.block, c.benchmark, c.dim, c.seed, c.budget, c.evaluations, c.mixtures, c.variant, r.arm, c.cell_id,
    list(r.value::INTEGER ORDER BY r.idx) AS actions
FROM c_cells c JOIN record r USING (cell_id)
WHERE r.metric = 'action'
GROUP BY ALL;
COMMENT ON VIEW c_paths IS 'The chosen candidates of each trajectory as one list';

CREATE OR REPLACE VIEW c_inertness AS
WITH arms AS (
    SELECT
        block, benchmark, dim, seed, budget, evaluations, mixtures, cell_id,
        max(actions) FILTER (arm = 'ei') AS ei, max(actions) FILTER (arm = 'ucb') AS ucb,
        max(actions) FILTER (arm = 'k1') AS k1, max(actions) FILTER (arm = 'k2') AS k2, max(actions) FILTER (arm = 'k5') AS k5
    FROM c_paths WHERE block <> 'determinism' GROUP BY ALL
)
SELECT
    block, benchmark, dim, seed, budget, evaluations, mixtures, cell_id,
    k1 = k2 AS inert_1_2, k2 = k5 AS inert_2_5, k1 = k5 AS inert_1_5, k1 = k2 AND k2 = k5 AS inert_ladder,
    ucb = k1 AS ucb_is_k1, ei = ucb AND ucb = k1 AND k1 = k2 AND k2 = k5 AS one_path
FROM arms;
COMMENT ON VIEW c_inertness IS 'One row per cell: which arms chose the same candidate at every step';

CREATE OR REPLACE VIEW c_determinism AS
SELECT
    c.benchmark, c.dim, c.seed, c.budget, c.evaluations, c.mixtures, c.variant, r.arm, c.cell_id,
    max(r.value) FILTER (r.metric = 'identical') = 1 AS identical,
    max(r.value) FILTER (r.metric = 'bitwise') = 1 AS bitwise,
    max(r.value) FILTER (r.metric = 'first_difference')::INTEGER AS first_difference
FROM c_cells c JOIN record r USING (cell_id)
WHERE c.block = 'determinism' AND r.metric IN ('identical', 'bitwise', 'first_difference')
GROUP BY ALL;
COMMENT ON VIEW c_determinism IS 'Each trajectory computed again: in the same process, in another, from perturbed parameters; first_difference is NULL when every action agrees';

CREATE OR REPLACE VIEW c_schedule AS
SELECT
    c.benchmark, c.dim, c.seed, c.budget, c.evaluations, c.mixtures, r.idx AS step, c.cell_id,
    max(r.value) FILTER (r.metric = 'shape_tau') AS tau,
    max(r.value) FILTER (r.metric = 'shape_osc') / nullif(max(r.value) FILTER (r.metric = 'shape_mean'), 0) AS dispersion,
    max(r.value) FILTER (r.metric = 'shape_ratio' AND r.label = '1-2/osc/low') AS ratio,
    max(r.value) FILTER (r.metric = 'shape_fires' AND r.label = '1-2/osc/low') = 1 AS fires,
    max(r.value) FILTER (r.metric = 'shape_same' AND r.label = '1-2') = 1 AS same,
    max(r.value) FILTER (r.metric = 'shape_moved') = 1 AS moved
FROM c_cells c JOIN record r USING (cell_id)
WHERE c.block = 'schedule' AND r.arm = 'shape' AND starts_with(r.metric, 'shape_')
GROUP BY ALL;
COMMENT ON VIEW c_schedule IS 'The shape schedule step by step: amplitude, dispersion of its width, the criterion for kappa 1 to 2, and whether it left the certified floor''s choice';
