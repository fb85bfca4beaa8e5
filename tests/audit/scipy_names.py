"""What SciPy calls things in the version that is installed."""

import scipy

# method of scipy.stats.wilcoxon that approximates by a normal distribution
BY_NORMAL = "asymptotic" if tuple(map(int, scipy.__version__.split(".")[:2])) >= (1, 15) else "approx"
