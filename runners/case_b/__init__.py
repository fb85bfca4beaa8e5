"""Case B: a Bayesian deep-kernel network and the uncertainty arms around it."""
