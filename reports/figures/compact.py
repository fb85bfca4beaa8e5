"""An SVG as small as it can be without looking different: coordinates to a hundredth of a point, each style written once."""

from __future__ import annotations

import re
from collections import Counter
from typing import TYPE_CHECKING
from xml.etree import ElementTree

if TYPE_CHECKING:
    from collections.abc import Iterator

SVG = "http://www.w3.org/2000/svg"
XLINK = "http://www.w3.org/1999/xlink"
NUMBER = re.compile(r"-?\d+\.\d+(?:e[-+]?\d+)?")
ROUNDED = ("d", "x", "y", "points", "transform", "width", "height", "x1", "y1", "x2", "y2", "cx", "cy", "r")
UNTURNED = re.compile(r"^rotate\(-?0(?:\.0+)? [^)]*\)$")
REFERENCE = re.compile(r"#([A-Za-z][\w.-]*)")

ElementTree.register_namespace("", SVG)
ElementTree.register_namespace("xlink", XLINK)


def compact(text: str) -> str:
    """``text``, an SVG as matplotlib writes it, without what no reader sees: metadata, unused names, nested empty groups."""
    root = ElementTree.fromstring(text)  # noqa: S314 - written by matplotlib in this process
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == f"{{{SVG}}}metadata":
                parent.remove(child)
    used = {name for value in _attributes(root) for name in REFERENCE.findall(value)}
    for element in root.iter():
        _shorten(element, used)
    _ungroup(root)
    _share_styles(root)
    return ElementTree.tostring(root, encoding="unicode", short_empty_elements=True)


def _attributes(root: ElementTree.Element) -> Iterator[str]:
    for element in root.iter():
        yield from element.attrib.values()


def _shorten(element: ElementTree.Element, used: set[str]) -> None:
    """Round the coordinates of one element and drop what does nothing."""
    if element.get("id") not in used:
        element.attrib.pop("id", None)
    if UNTURNED.match(element.get("transform", "")):
        del element.attrib["transform"]
    for name in ROUNDED:
        if name in element.attrib and "matrix" not in element.attrib[name]:
            value = NUMBER.sub(lambda m: _hundredths(m[0]), element.attrib[name])
            element.set(name, re.sub(r"\s*([MLCQZz])\s*", r"\1", value) if name == "d" else value)
    if element.tag != f"{{{SVG}}}text" and not (element.text or "").strip():
        element.text = None
    element.tail = None if not (element.tail or "").strip() else element.tail


def _hundredths(number: str) -> str:
    text = f"{float(number):.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def _ungroup(parent: ElementTree.Element) -> None:
    """Replace every group that says nothing by what it holds."""
    for child in list(parent):
        _ungroup(child)
        if child.tag == f"{{{SVG}}}g" and not child.attrib:
            at = list(parent).index(child)
            parent.remove(child)
            for offset, inner in enumerate(list(child)):
                parent.insert(at + offset, inner)


def _share_styles(root: ElementTree.Element) -> None:
    """Write a style that several elements have once, as a class."""
    counts = Counter(e.attrib["style"] for e in root.iter() if "style" in e.attrib)
    names = {style: f"s{i}" for i, (style, n) in enumerate(counts.most_common()) if n > 1}
    for element in root.iter():
        style = element.get("style")
        if style in names:
            del element.attrib["style"]
            element.set("class", names[style])
    sheet = ElementTree.Element(f"{{{SVG}}}style")
    sheet.text = "".join(f".{name}{{{style}}}" for style, name in names.items())
    root.insert(0, sheet)
