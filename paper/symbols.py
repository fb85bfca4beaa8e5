"""The formulas that tables use, each in LaTeX and in plain Unicode; nothing here comes from data."""

from __future__ import annotations

from orledger.reports.tables.values import Math, Value

LAMBDA2 = Math(r"\lambda_2", "λ₂")
SIGMA_ZERO = Math(r"\sigma=0", "σ=0")
SIGMA_HAT = Math(r"\hat\sigma", "σ̂")
ETA = Math(r"\eta", "η")
R2 = Math(r"R^2", "R²")
D_M = Math(r"d_{\mathrm{M}}", "d_M")
N = Math("n", "n")
P = Math("p", "p")
M = Math("m", "m")
M_DEF = Math(r"m=\rho/\rho_{\mathrm{oc}}", "m = ρ/ρ_oc")
RHO_OC = Math(r"\rho_{\mathrm{oc}}", "ρ_oc")
EPS_HAT = Math(r"\hat\varepsilon", "ε̂")
RADII_GAP = Math(r"|\hat\varepsilon-\rho_{\mathrm{oc}}|/\hat\varepsilon", "|ε̂−ρ_oc|/ε̂")
E_STAR_SQUARED = Math(r"E_\star(x)^2", "E*(x)²")
ATTAIN = Math(r"\mathrm{cert}/E_\star", "cert/E*")
WORST_MARGIN = Math(r"\max_x(\mathrm{err}-\mathrm{cert})", "max(err − cert)")
DELTA_NUM = Math(r"\delta_{\mathrm{num}}", "δ_num")
N_TR = Math(r"n_{\mathrm{tr}}", "n_tr")
N_TE = Math(r"n_{\mathrm{te}}", "n_te")
N_C = Math("n_c", "n_c")
K = Math("k", "k")
LEVEL = Math("n_c/(n_c{+}1)", "n_c/(n_c+1)")
ACHIEVED = Math("(k{+}1)/(n_c{+}1)", "(k+1)/(n_c+1)")
W = Math("w", "w")
W_INT = Math(r"w_{\mathrm{int}}", "w_int")
W_ADD = Math(r"w_{\mathrm{add}}", "w_add")
W_OBS = Math(r"w_{\mathrm{obs}}", "w_obs")
DELTA = Math(r"\Delta", "Δ")
NS_MAX = Math(r"\mathrm{ns}_{\max}", "ns_max")
KAPPA = Math(r"\kappa", "κ")
KAPPA_STAR = Math(r"\kappa_\star", "κ*")
DISPERSION = Math(r"\mathrm{osc}(\hat c)/\mathrm{mean}(\hat c)", "osc(ĉ)/mean(ĉ)")
CRITERION = Math(r"|\Delta\kappa|\,\mathrm{osc}(c)<\Delta_\kappa", "|Δκ|·osc(c) < Δ_κ")
LAW = Math(r"\sqrt{m^2-1}", "√(m²−1)")
LOG10 = Math(r"\log_{10}", "log₁₀")
NUGGET = Math(r"\nu", "ν")
NUGGET_DEF = Math(r"\sigma^2/s^2", "σ²/s²")
BALLS = Math(r"\|u\|\le\varepsilon,\ \|e\|\le\eta", "‖u‖ ≤ ε, ‖e‖ ≤ η")
CHEBYSHEV = Math(r"I_{\varphi_x}(y)", "I_φx(y)")
INFLATED = Math(r"\kappa_\star\rho_{\mathrm{oc}}", "κ*ρ_oc")
RADIUS_FORMULA = Math(r"\min_{\nu>0}V_\nu(x)(\varepsilon^2+\eta^2/\nu)", "min_ν V_ν(x)(ε²+η²/ν)")
BALANCE = Math(r"\mu_\star=\varepsilon\,\mathrm{wn}/(\eta\,\mathrm{pf})", "μ* = ε·wn/(η·pf)")
V_IDENTITY = Math(r"V_{1/\mu}=\mathrm{pf}^2+\mathrm{wn}^2/\mu", "V_{1/μ} = pf² + wn²/μ")
SHIFT_LCB = Math(r"m(x)-\kappa c(x)", "m(x) − κc(x)")


def collocation(grid: int) -> Math:
    """A tensor grid of ``grid`` points per side."""
    return Math(f"{int(grid)}^2", f"{int(grid)}²")


SYMBOLS = {name.lower(): value for name, value in list(globals().items()) if isinstance(value, Value)}
