"""Typed values and tables as LaTeX that needs booktabs and nothing else."""

from __future__ import annotations

import re
from dataclasses import replace
from functools import cache
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jinja2 import Environment, FunctionLoader, StrictUndefined

from orledger.reports.tables import format as rules
from orledger.reports.tables.fitting import LONG, WIDTH, fitted
from orledger.reports.tables.values import Number, Value, tokens

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from orledger.reports.tables.table import Column, Table
    from orledger.reports.tables.values import Token

SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "%": r"\%", "#": r"\#", "_": r"\_",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\ensuremath{<}", ">": r"\ensuremath{>}", "|": r"\ensuremath{|}",
    '"': "{''}", "`": r"\textasciigrave{}", "–": "--", "—": "---", "†": r"\ensuremath{\dagger}", "‡": r"\ensuremath{\ddagger}", "§": r"\S{}",
    "×": r"\ensuremath{\times}", "·": r"\ensuremath{\cdot}", "≤": r"\ensuremath{\le}", "≥": r"\ensuremath{\ge}", "±": r"\ensuremath{\pm}",
    "−": r"\ensuremath{-}", "→": r"\ensuremath{\to}", "…": r"\ldots{}", "²": r"\ensuremath{^2}", "\u00a0": "~", "√": r"\ensuremath{\surd}", "↔": r"\ensuremath{\leftrightarrow}",
}  # fmt: skip
GREEK = """
    α alpha β beta γ gamma δ delta ε varepsilon ζ zeta η eta θ theta ι iota κ kappa λ lambda μ mu ν nu ξ xi π pi ρ rho σ sigma ς varsigma τ tau υ upsilon
    φ varphi χ chi ψ psi ω omega Γ Gamma Δ Delta Θ Theta Λ Lambda Ξ Xi Π Pi Σ Sigma Φ Phi Ψ Psi Ω Omega µ mu ∞ infty ≈ approx ≠ neq ∈ in
""".split()  # noqa: SIM905 - a list of seventy strings is read by nobody
SPECIAL |= {c: rf"\ensuremath{{\{name}}}" for c, name in zip(GREEK[::2], GREEK[1::2], strict=True)}
SPECIAL |= {"“": "{``}", "”": "{''}", "„": "{,,}", "‘": "{`}", "’": "{'}", "°": r"\ensuremath{^\circ}"}
SPECIAL |= {c: rf"\ensuremath{{^{d}}}" for c, d in zip("⁻⁰¹³⁴⁵⁶⁷⁸⁹", "-013456789", strict=True)}
SPECIAL |= {c: rf"\ensuremath{{_{d}}}" for c, d in zip("₀₁₂₃₄₅₆₇₈₉", "0123456789", strict=True)}
MARKS = {"†": r"\dagger", "‡": r"\ddagger", "§": r"\S"}
# Accented Latin letters that the default encoding of LaTeX can set.
LATIN = re.compile("[ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ]")


class Latex(str):
    """LaTeX that is ready to be written; anything else that reaches a template is escaped."""

    __slots__ = ()


def escape(text: str) -> Latex:
    """``text`` as LaTeX text: no character keeps a meaning of its own, line breaks become spaces.

    Letters that pdflatex cannot set are written as their code point, ``[U+4E2D]``: visible, and harmless.
    """
    out: list[str] = []
    previous = ""
    for character in text:
        if character == previous and character in "-',":
            out.append("{}" + character)  # keeps --, '' and ,, from becoming dashes and quotation marks
        elif character in SPECIAL:
            out.append(SPECIAL[character])
        elif " " <= character <= "~" or LATIN.match(character):
            out.append(character)
        elif character.isspace():
            out.append(" ")
        else:
            out.append(f"[U+{ord(character):04X}]")
        previous = character
    return Latex("".join(out))


def name(text: str) -> Latex:
    """``text`` as part of a label or file name, where no escape may stand: letters, digits, hyphens and underscores, or an error."""
    if not re.fullmatch(r"[A-Za-z][A-Za-z0-9_-]*", text):
        raise ValueError(f"{text!r} cannot be a name in LaTeX")
    return Latex(text)


def token(t: Token, marks: Mapping[str, str]) -> str:
    """One token as LaTeX; ``marks`` gives the letters of absent reasons."""
    if t.kind == "text":
        text: str = escape(t.text)
        for flag, command in ((t.mono, "texttt"), (t.italic, "emph"), (t.bold, "textbf")):
            text = rf"\{command}{{{text}}}" if flag and text.strip() else text
        return text
    if t.kind == "number":
        body = t.text.replace(",", "{,}")
        if t.exponent is not None:
            body += rf"\!\cdot\!10^{{{t.exponent}}}"
        body += {"%": r"\%", "×": r"\times", "": ""}[t.suffix]
        return rf"$\mathbf{{{body}}}$" if t.bold else f"${body}$"
    if t.kind == "math":
        return rf"$\mathbf{{{t.text}}}$" if t.bold else f"${t.text}$"
    if t.kind == "mark":
        return f"$^{{{MARKS.get(t.text) or escape(t.text)}}}$"
    if t.kind == "table":
        # A table that a paper inputs alone refers to its neighbours by name: no label, no question marks.
        label = name(t.text)
        # The braces at the end keep the space that follows: TeX drops one after a control word such as \fi.
        text = rf"Table~\ifcsname r@tab:{label}\endcsname\ref{{tab:{label}}}\else {escape(t.text)}\fi{{}}"
        return rf"\textbf{{{text}}}" if t.bold else text
    if t.kind == "absent":
        mark = marks.get(t.text)
        return "--" if mark is None else f"--$^{{{mark}}}$"
    raise ValueError(f"unknown token {t.kind!r}")


def render(value: Value | str, marks: Mapping[str, str] | None = None) -> Latex:
    """A value, or plain text, as LaTeX."""
    return Latex("".join(token(t, marks or {}) for t in tokens(value)))


def first(text: str) -> Latex:
    """``text`` at the start of a row or an item, where LaTeX would take a bracket for an option and a star for a command."""
    return Latex("{}" + text if text.lstrip()[:1] in {"[", "*"} else text)


def breakable(text: Latex) -> Latex:
    """``text`` with a place to break after every underscore, slash and code point, for long names in narrow columns."""
    return Latex(re.sub(r"(\\_|/|\[U\+\w+\])", r"\1\\allowbreak{}", text))


def short(value: float | None) -> Latex:
    """A number to three significant digits, nothing for what is absent."""
    return Latex("") if value is None else render(Number(value, rules.SHORT))


def comment(text: str) -> Latex:
    """``text`` as LaTeX comment lines; nothing in it can end the comment."""
    return Latex("\n".join("% " + re.sub(r"[^\x20-\x7e]", "?", line) for line in text.splitlines()))


def remark(text: str) -> Latex:
    """``text`` as one line of LaTeX comment, with the letters that it has; what is no letter, sign or space becomes a question mark."""
    return Latex("% " + "".join(c if c.isprintable() else " " if c.isspace() else "?" for c in text))


def preamble(columns: Iterable[Column]) -> Latex:
    """The column specification of a tabular."""
    return Latex("@{}" + "".join(c.align if isinstance(c.align, str) else f"p{{{c.align}in}}" for c in columns) + "@{}")


def spans(t: Table) -> tuple[Latex, Latex]:
    """The line of multicolumn headers, and the partial rules under it."""
    cells = ("" if s is None else rf"\multicolumn{{{s.width}}}{{c}}{{{render(s.header)}}}" for s in t.over())
    rules = (rf"\cmidrule(lr){{{s.start + 1}-{s.start + s.width}}}" for s in t.over() if s is not None)
    return Latex(" & ".join(cells)), Latex("".join(rules))


@cache
def environment() -> Environment:
    """Jinja for LaTeX: delimiters that LaTeX never uses, and an escape on everything that is not Latex."""

    def finalize(value: Any) -> str:
        if isinstance(value, Latex):
            return value
        return render(value) if isinstance(value, Value) else escape(str(value))

    made = Environment(
        block_start_string=r"\BLOCK{", block_end_string="}", variable_start_string=r"\VAR{", variable_end_string="}",
        comment_start_string=r"\#{", comment_end_string="}", line_comment_prefix="%#", trim_blocks=True, lstrip_blocks=True,
        keep_trailing_newline=True, autoescape=False, undefined=StrictUndefined, finalize=finalize,  # noqa: S701 - finalize escapes
        loader=FunctionLoader(lambda name: files("orledger.templates").joinpath(name).read_text(encoding="utf-8")),
    )  # fmt: skip
    made.filters |= {"latex_name": name, "short": short}
    made.globals |= {
        "preamble": preamble,
        "spans": spans,
        "comment": comment,
        "render": render,
        "breakable": breakable,
        "first": first,
    }
    return made


def fill(template: str, **values: Any) -> str:
    """The template with its values; the line that describes the template leaves no blank line behind."""
    return environment().get_template(template).render(**values).lstrip("\n")


def table(t: Table, width: float = WIDTH, *, longtable: bool = False) -> str:
    """The table as a LaTeX float for a text ``width`` inches wide, with its query and the hash of its database as comments.

    With ``longtable``, which needs the package of that name, a long generic table is one that goes on from page to page.
    """
    long = longtable and is_long(t)
    pages = fitted(t, width, cut=not long)
    notes = replace(t, notes=pages[0].notes).footnotes()
    return fill("table.tex.j2", t=t, pages=pages, notes=notes, marks=t.absences(), wrapped=wrapped, long=long)


def is_long(t: Table) -> bool:
    """Whether ``t`` goes on from page to page in a report."""
    return t.generic and sum(1 for _ in t.rows()) > LONG


def wrapped(t: Table) -> bool:
    """Whether a column of ``t`` has lines of its own."""
    return any(not isinstance(c.align, str) for c in t.columns)


def document(tables: Iterable[Table], database: str, notices: Sequence[str] = ()) -> str:
    """One document that inputs every table from the folder it stands in, and begins with ``notices``."""
    return fill("tables.tex.j2", tables=tuple(tables), database=database, notices=notices)
