"""Python that is started in this folder finds the folder of tests called orledger first: this file hands over to the package.

Without it that folder would be imported as an empty namespace, and nothing would say so.
"""

from pathlib import Path

_root = Path(__file__).resolve().parents[1]
_file = _root / "orledger" / "__init__.py"
__path__ = [str(_root / "orledger"), str(_root)]
exec(compile(_file.read_text(encoding="utf-8"), str(_file), "exec"))
