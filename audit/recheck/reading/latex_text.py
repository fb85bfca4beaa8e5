"""LaTeX as plain words: each character with the position in the source that it comes from."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from orledger.audit.recheck.reading.latex_source import Macro, group_end, skip_space

SYMBOLS = {
    "pm": "±", "textpm": "±", "times": "×", "texttimes": "×", "cdot": "·", "leq": "≤", "le": "≤", "leqslant": "≤", "geq": "≥",
    "ge": "≥", "geqslant": "≥", "approx": "≈", "sim": "~", "to": "→", "rightarrow": "→", "leftrightarrow": "↔", "uparrow": "↑",
    "downarrow": "↓", "Uparrow": "↑", "Downarrow": "↓", "infty": "∞", "chi": "χ", "alpha": "α", "beta": "β", "gamma": "γ",
    "delta": "δ", "kappa": "κ", "sigma": "σ", "lambda": "λ", "mu": "μ", "eta": "η", "rho": "ρ", "tau": "τ", "theta": "θ",
    "Delta": "Δ", "nu": "ν", "ldots": "…", "dots": "…", "cdots": "…", "textendash": "–", "textemdash": "—", "textless": "<",
    "textgreater": ">", "lt": "<", "gt": ">", "neq": "≠", "textasciitilde": "~", "textminus": "−", "checkmark": "✓",
    "dagger": "†", "ddagger": "‡", "degree": "°", "quad": " ", "qquad": " ", "par": "\n\n", "newline": " ", "tabularnewline": " ",
    "item": "\n\n", "percent": "%", "ll": "≪", "gg": "≫", "textbackslash": " ", "slash": "/", "mid": "|", "vert": "|",
    "epsilon": "ε", "varepsilon": "ε", "zeta": "ζ", "phi": "φ", "varphi": "φ", "psi": "ψ", "omega": "ω", "pi": "π", "xi": "ξ",
    "Gamma": "Γ", "Lambda": "Λ", "Sigma": "Σ", "Phi": "Φ", "Psi": "Ψ", "Omega": "Ω", "Theta": "Θ", "star": "★", "ast": "*",
    "sum": "∑", "prod": "∏", "lceil": "⌈", "rceil": "⌉", "lfloor": "⌊", "rfloor": "⌋", "propto": "∝", "in": "∈", "gtrsim": "≳",
    "lesssim": "≲", "partial": "∂", "int": "∫",
}  # fmt: skip
_SINGLE = {
    "%": "%", "&": "&", "#": "#", "_": "_", "$": "$", "{": "{", "}": "}", " ": " ", "\n": " ", ",": "\u2009", ";": " ",
    ":": " ", "!": "", "-": "", "/": "", "\\": " ", "(": "", ")": "", "[": "\n\n", "]": "\n\n", ">": " ", "@": "",
}  # fmt: skip
# name -> what its arguments are: o optional, m dropped, t text that is kept, p in parentheses.
_ARGUMENTS = {
    "label": "m", "vspace": "m", "hspace": "m", "setlength": "mm", "addtolength": "mm", "includegraphics": "om", "cmidrule": "opm",
    "cline": "m", "rule": "omm", "rowcolor": "om", "cellcolor": "om", "color": "om", "definecolor": "mmm", "arrayrulecolor": "m",
    "phantom": "m", "hphantom": "m", "vphantom": "m", "bibliographystyle": "m", "bibliography": "m", "usepackage": "om",
    "documentclass": "om", "PassOptionsToPackage": "mm", "hypersetup": "m", "newtheorem": "momo", "setcounter": "mm",
    "captionsetup": "om", "url": "m", "fontsize": "mm", "addlinespace": "o", "specialrule": "mmm", "resizebox": "mmt",
    "scalebox": "mt", "rotatebox": "omt", "raisebox": "mt", "textcolor": "omt", "colorbox": "mt", "href": "mt", "hyperref": "ot",
    "multicolumn": "mmt", "multirow": "omomt", "makecell": "ot", "thead": "ot", "shortstack": "ot", "parbox": "ommt",
    "newcommand": "mom", "renewcommand": "mom", "providecommand": "mom", "DeclareMathOperator": "mm", "theoremstyle": "m",
    "graphicspath": "m", "bibitem": "om", "hypertarget": "mt", "texorpdfstring": "tm", "extrarowheight": "", "linewidth": "",
    "footnotemark": "o", "tnote": "m", "SI": "tt", "qty": "tt", "numrange": "tt", "thanks": "m", "author": "m", "email": "m",
    "affiliation": "om", "institute": "m", "date": "m", "pagestyle": "m", "thispagestyle": "m", "input": "m", "include": "m",
    "setstretch": "m", "linespread": "m", "si": "m", "unit": "m", "acro": "m", "pgfplotsset": "m", "usetikzlibrary": "m", "tikzset": "m", "lstset": "m",
}  # fmt: skip
_FUNCTIONS = frozenset(
    {
        "log",
        "ln",
        "lg",
        "exp",
        "min",
        "max",
        "sup",
        "inf",
        "arg",
        "argmin",
        "argmax",
        "det",
        "Pr",
        "sin",
        "cos",
        "tan",
        "tanh",
    }
)
_LINE_SKIP = re.compile(r"\*?\s*\[\s*-?[\d.]*\s*(?:[a-z]{2}|\\[a-z]+)\s*\]")
_REFERENCES = re.compile(r"(?:auto|eq|name|page|c|C|v)?ref\*?$")
_CITATIONS = re.compile(r"[Cc]ite[a-zA-Z]*$|nocite$|parencite$|textcite$")
BOLD = frozenset({"textbf", "mathbf", "boldsymbol", "bm", "bf", "bfseries", "pmb"})
UNDERLINED = frozenset({"underline", "uline", "ul", "underbar"})
_SECTIONS = frozenset(
    {"section", "subsection", "subsubsection", "chapter", "part", "paragraph", "subparagraph", "title"}
)
_DEEPEST = 25
_MOST = 20_000  # expansions in one piece of text: macros that double themselves end here


@dataclass
class Plain:
    """Text being written: characters, the source position of each, and the marks that were met."""

    macros: dict[str, Macro]
    chars: list[str] = field(default_factory=list)
    at: list[int] = field(default_factory=list)
    bold: bool = False
    underlined: bool = False
    expanded: int = 0

    @property
    def text(self) -> str:
        """The words so far."""
        return "".join(self.chars)

    def emit(self, words: str, position: int) -> None:
        """Adds words that come from one position."""
        self.chars.extend(words)
        self.at.extend([position] * len(words))

    def write(self, source: str, start: int, end: int, fixed: int | None = None, depth: int = 0) -> None:
        """Adds what `source[start:end]` says; text of an expanded macro keeps the position of its call."""
        i = start
        while i < end:
            here = i if fixed is None else fixed
            char = source[i]
            if char == "\\":
                i = self._macro(source, i, end, fixed, depth)
            elif char in "{}$&":
                if char == "&":
                    self.emit(" ", here)
                i += 1
            elif char == "~":
                self.emit(" ", here)
                i += 1
            elif char in "^_":
                self.emit(char, here)
                i = skip_space(source, i + 1)
                if i < end and source[i] == "{":
                    close = min(group_end(source, i), end)
                    self.emit("{", here)
                    self.write(source, i + 1, close - 1, fixed, depth)
                    self.emit("}", here)
                    i = close
            elif source.startswith("---", i):
                self.emit("—", here)
                i += 3
            elif source.startswith("--", i):
                self.emit("–", here)
                i += 2
            elif source.startswith(("``", "''"), i):
                self.emit('"', here)
                i += 2
            else:
                self.emit(char, here)
                i += 1

    def _macro(self, source: str, i: int, end: int, fixed: int | None, depth: int) -> int:
        here = i if fixed is None else fixed
        name_match = re.compile(r"[A-Za-z@]+\*?").match(source, i + 1, end)
        if name_match is None:
            self.emit(_SINGLE.get(source[i + 1 : i + 2], ""), here)
            if source[i + 1 : i + 2] == "\\":  # a new line, and perhaps how far below: \\[4pt]
                length = _LINE_SKIP.match(source, i + 2, end)
                return length.end() if length else i + 2
            return i + 2
        name, after = name_match[0], name_match.end()
        if name.rstrip("*") in SYMBOLS and name not in self.macros:
            self.emit(SYMBOLS[name.rstrip("*")], here)
            # The space after a macro's name ends the name and prints nothing.
            return skip_space(source, after) if name != "par" else after
        if name in self.macros and depth < _DEEPEST and self.expanded < _MOST:
            return self._expand(source, name, after, fixed if fixed is not None else i, depth)
        name = name.rstrip("*")
        if name in BOLD:
            self.bold = True
        elif name in UNDERLINED:
            self.underlined = True
        if name in ("begin", "end"):
            return self._environment(source, after, here)
        if _REFERENCES.search(name):
            self.emit("@", here)
            return self._arguments(source, after, "om", fixed, depth)
        if _CITATIONS.search(name):
            return self._arguments(source, after, "oom", fixed, depth)
        if name in ("frac", "tfrac", "dfrac", "nicefrac", "sfrac"):
            after = self._term(source, after, "t", fixed, depth)
            self.emit("/", here)
            return self._term(source, after, "t", fixed, depth)
        if name == "sqrt":
            self.emit("√", here)
            return self._term(source, after, "ot", fixed, depth)
        if name in _FUNCTIONS:
            self.emit(name, here)
            after = skip_space(source, after)
            if re.match(r"[A-Za-z0-9\\$]", source[after : after + 1]):
                self.emit(" ", here)
            return after
        if name in _SECTIONS or name == "caption":
            self.emit("\n\n", here)
            after = self._arguments(source, after, "ot", fixed, depth)
            self.emit("\n\n", here)
            return after
        if name in ("footnote", "footnotetext"):
            self.emit(" ", here)
        if name in _ARGUMENTS:
            return self._arguments(source, after, _ARGUMENTS[name], fixed, depth)
        return skip_space(source, after) if source[after : after + 1] in " \t" else after

    def _environment(self, source: str, after: int, here: int) -> int:
        end = group_end(source, after)
        name = source[after + 1 : end - 1]
        if name not in ("equation", "align", "math"):
            self.emit("\n\n" if name not in ("minipage", "center", "equation*") else " ", here)
        while source[end : end + 1] == "[":
            end = group_end(source, end, "[", "]")
        if name in (
            "minipage",
            "wrapfigure",
            "wraptable",
            "adjustbox",
            "subfigure",
            "subtable",
            "tabularx",
            "multicols",
            "spacing",
        ):
            while source[end : end + 1] == "{":
                end = group_end(source, end)
        return end

    def _arguments(self, source: str, i: int, kinds: str, fixed: int | None, depth: int) -> int:
        for kind in kinds:
            j = skip_space(source, i)
            if kind == "o":
                if source[j : j + 1] == "[":
                    i = group_end(source, j, "[", "]")
            elif kind == "p":
                if source[j : j + 1] == "(":
                    i = group_end(source, j, "(", ")")
            elif source[j : j + 1] == "{":
                i = group_end(source, j)
                if kind == "t":
                    self.write(source, j + 1, i - 1, fixed, depth)
            elif kind == "t" and source[j : j + 1] == "\\":  # \frac\alpha2
                i = self._macro(source, j, len(source), fixed, depth)
            elif kind == "t" and j < len(source):  # \frac12
                self.write(source, j, j + 1, fixed, depth)
                i = j + 1
        return i

    def _term(self, source: str, i: int, kinds: str, fixed: int | None, depth: int) -> int:
        """Writes an argument of a fraction or a root, in brackets where it is more than one number or name."""
        first = len(self.chars)
        here = i if fixed is None else fixed
        i = self._arguments(source, i, kinds, fixed, depth)
        if re.search(r"[^\w.,%^{}'\\]", "".join(self.chars[first:]).strip()):
            self.chars.insert(first, "(")
            self.at.insert(first, here)
            self.emit(")", here)
        return i

    def _expand(self, source: str, name: str, i: int, fixed: int, depth: int) -> int:
        self.expanded += 1
        macro = self.macros[name]
        values: list[str] = []
        if macro.default is not None:
            j = skip_space(source, i)
            if source[j : j + 1] == "[":
                i = group_end(source, j, "[", "]")
                values.append(source[j + 1 : i - 1])
            else:
                values.append(macro.default)
        while len(values) < macro.arguments:
            j = skip_space(source, i)
            if source[j : j + 1] == "{":
                i = group_end(source, j)
                values.append(source[j + 1 : i - 1])
            else:
                values.append(source[j : j + 1])
                i = j + 1
        body = re.sub(r"#(\d)", lambda m: values[int(m[1]) - 1] if 0 < int(m[1]) <= len(values) else "", macro.body)
        self.write(body, 0, len(body), fixed, depth + 1)
        return i


def plain(source: str, start: int, end: int, macros: dict[str, Macro]) -> Plain:
    """What `source[start:end]` says in plain words."""
    written = Plain(macros)
    written.write(source, start, end)
    return written
