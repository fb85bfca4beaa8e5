"""Case C: Bayesian optimisation with an alpha-stable mixture kernel, and the kappa ladder of certified widths."""
