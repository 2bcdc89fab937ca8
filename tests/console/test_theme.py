"""Text can be read in both themes: contrast by WCAG 2.2, at least 4.5 (level AA) for all text."""

import re
from pathlib import Path

import pytest

_CSS = Path(__file__).resolve().parents[2] / "src" / "penstock" / "console" / "static" / "css" / "theme.css"
_PAIRS = [
    ("ink", "page"),
    ("ink", "surface"),
    ("ink-soft", "page"),
    ("ink-soft", "surface"),
    ("ink-soft", "sunken"),
    ("accent", "surface"),
    ("accent", "accent-wash"),
    ("accent-ink", "accent"),
    ("good", "good-wash"),
    ("warn", "warn-wash"),
    ("bad", "bad-wash"),
    ("bad", "surface"),
    ("page", "bad"),
    ("page", "ink"),
    ("good", "page"),
]


def _themes() -> dict[str, dict[str, str]]:
    light, dark = _CSS.read_text().split(':root[data-theme="dark"]')
    color = re.compile(r"--([\w-]+): (#[0-9a-f]{6});")
    return {"light": dict(color.findall(light)), "dark": dict(color.findall(dark))}


def _luminance(color: str) -> float:
    parts = [int(color[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    red, green, blue = (p / 12.92 if p <= 0.04045 else ((p + 0.055) / 1.055) ** 2.4 for p in parts)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize(("text", "ground"), _PAIRS)
def test_text_has_enough_contrast_with_its_background(theme: str, text: str, ground: str) -> None:
    colors = _themes()[theme]
    lighter, darker = sorted((_luminance(colors[text]), _luminance(colors[ground])), reverse=True)
    assert (lighter + 0.05) / (darker + 0.05) >= 4.5
