"""How every chart looks, and the way from a Vega-Lite chart to SVG that a page can hold.

Charts are drawn once, in light colours. Each colour is one name of the palette below and no other; the page's style
sheet then gives each name its dark twin by attribute selectors, so one drawing serves both and also stands alone.
"""

import re
import xml.etree.ElementTree as ET
from collections.abc import Mapping, Sequence
from typing import Any

from paretoken.errors import MissingExtraError
from paretoken.report.reading import BASELINE, HAND, OTHER, RECOMMENDED, REFUSED

# name → (light, dark). Roles are told apart without colour vision (after Okabe and Ito) and by shape; text in a role's
# colour has a contrast of at least 4.5 on paper.
PALETTE = {
    "paper": ("#ffffff", "#161b22"),
    "ink": ("#1c2430", "#e6eaf0"),
    "muted": ("#5a6472", "#9aa6b5"),
    "grid": ("#e4e8ed", "#2b333e"),
    BASELINE: ("#667080", "#a7b1be"),
    HAND: ("#a65f00", "#f0b04a"),
    RECOMMENDED: ("#0063a6", "#5cb6f2"),
    REFUSED: ("#b83a0b", "#ff8c61"),
    OTHER: ("#8a93a0", "#7d8896"),
    "line": ("#8c1d5e", "#e78fc0"),  # the 100 ms line and other limits
}
FONT_PX = 12.5
_LONG_DECIMAL = re.compile(r"-?\d+\.\d{3,}")
_DOT = re.compile(r"M([\d.]+),0A\1,\1,0,1,1,-\1,0A\1,\1,0,1,1,\1,0")
_PLACE = re.compile(r"translate\((-?[\d.]+),(-?[\d.]+)\)")
_ALLOWED = frozenset(
    {"svg", "g", "path", "text", "tspan", "rect", "line", "circle", "defs", "clipPath", "title", "desc"}
)


def colour(name: str) -> str:
    return PALETTE[name][0]


def altair() -> Any:
    """The altair module, imported when the first chart is drawn."""
    try:
        import altair as module
    except ImportError as error:
        raise MissingExtraError("the page's charts", "report") from error
    return module


def svg_of(layers: Sequence[Any], width: float, height: float) -> str:
    """Layers (None is skipped) → SVG text without a size of its own: it fills its frame. Drawn offline.

    Raises MissingExtraError without vl-convert. All text in the layers must have gone through figures.plain.
    """
    try:
        import vl_convert
    except ImportError as error:
        raise MissingExtraError("the page's charts", "report") from error
    chart = altair().layer(*(part for part in layers if part is not None)).properties(width=width, height=height)
    spec = chart.configure(**_config()).to_dict(validate=False)
    drawn = vl_convert.vegalite_to_svg(vl_spec=spec, allowed_base_urls=[])
    root = ET.fromstring(drawn)  # our own renderer's output, not a document from outside
    for element in root.iter():
        element.tag = element.tag.rpartition("}")[2]
        if element.tag not in _ALLOWED:
            raise ValueError(f"a chart holds <{element.tag}>, which no chart of ours draws")
        for name in [n for n in element.attrib if n in ("class", "pointer-events") or n.startswith(("aria-", "role"))]:
            del element.attrib[name]
    _slim(root)
    for name in ("width", "height", "version"):
        root.attrib.pop(name, None)
    return ET.tostring(root, encoding="unicode")


def _slim(root: ET.Element) -> None:
    """Leave out what is not seen, and write dots as circles and places with two decimals: a third of the size."""
    for parent in list(root.iter()):
        for child in list(parent):
            if child.tag == "path" and (child.get("display") == "none" or child.get("d") in ("", "M0,0h0v0h0Z")):
                parent.remove(child)
    for element in root.iter():
        at = element.get("transform")
        if at:
            at = _LONG_DECIMAL.sub(lambda found: f"{float(found[0]):.2f}", at)
            element.set("transform", at)
        dot, place = _DOT.fullmatch(element.get("d") or ""), _PLACE.fullmatch(at or "")
        if element.tag == "path" and dot and place:
            element.tag = "circle"
            del element.attrib["d"], element.attrib["transform"]
            element.attrib.update(cx=place[1], cy=place[2], r=dot[1])


def _config() -> Mapping[str, Any]:
    axis = {
        "domain": False,
        "domainColor": colour("muted"),
        "ticks": False,
        "gridColor": colour("grid"),
        "labelColor": colour("muted"),
        "labelFontSize": FONT_PX,
        "labelPadding": 6,
        "titleColor": colour("muted"),
        "titleFontSize": FONT_PX,
        "titleFontWeight": "normal",
    }
    return {
        "aria": False,
        "background": "transparent",
        "font": "sans-serif",
        "view": {"stroke": None},
        "axis": axis,
        "padding": 4,
    }


def standalone(svg: str) -> str:
    """A chart as a file of its own (for a README): light or dark as the reader's system is, on its own paper."""
    dark = "".join(
        f'[{kind}="{pair[0]}"]{{{kind}:{pair[1]}}}' for pair in PALETTE.values() for kind in ("fill", "stroke")
    )
    style = f"text{{font-family:system-ui,sans-serif}}@media (prefers-color-scheme:dark){{{dark}}}"
    head, _, rest = svg.partition(">")
    paper = f'<rect width="100%" height="100%" rx="8" fill="{colour("paper")}"/>'
    return f'{head} xmlns="http://www.w3.org/2000/svg"><style>{style}</style>{paper}{rest}\n'


def theme_css() -> str:
    """The palette as custom properties, light and dark, and the selectors that recolour the charts.

    `light-dark()` follows `color-scheme`, which follows the system or the page's own switch. A browser that does not
    know it keeps the light colours.
    """
    light = "".join(f"--{name}:{pair[0]};" for name, pair in PALETTE.items())
    both = "".join(f"--{name}:light-dark({pair[0]},{pair[1]});" for name, pair in PALETTE.items())
    recolour = "".join(
        f'.chart [{kind}="{pair[0]}"]{{{kind}:var(--{name})}}'
        for name, pair in PALETTE.items()
        for kind in ("fill", "stroke")
    )
    return f":root{{{light}}}@supports (color:light-dark(#000,#fff)){{:root{{{both}}}}}{recolour}"
