"""Python that is started in the folder above a checkout named orledger finds this folder first: it hands over to the package.

Without this file the folder would be imported as an empty namespace, and nothing would say so.
"""

from pathlib import Path

_root = Path(__file__).resolve().parent
_file = _root / "orledger" / "__init__.py"
__path__ = [str(_root / "orledger"), str(_root)]
exec(compile(_file.read_text(encoding="utf-8"), str(_file), "exec"))  # noqa: S102 - our own file
