"""Drawings: bars and curves, as SVG that is legible on light and on dark."""

from html import escape
from math import floor, log10

STYLE = """
text { font: 12px system-ui, sans-serif; fill: #24292f }
.title { font-size: 15px; font-weight: 600 }
.small { font-size: 11px; fill: #57606a }
.panel { font-weight: 600 }
.axis { stroke: #8c959f; stroke-width: 1; fill: none }
.grid { stroke: #8c959f; stroke-opacity: 0.25; stroke-width: 1 }
.curve { fill: none; stroke-width: 2 }
@media (prefers-color-scheme: dark) {
  text { fill: #e6edf3 }
  .small { fill: #9198a1 }
}
"""

# Of like lightness, so that they stand out on white and on black.
COLOURS = {
    "librl": "#2f81f7",
    "governor": "#d9822b",
    "floor": "#8b949e",
    "Java": "#b3589a",
    "Go": "#2ba08a",
}


def text(x, y, words, kind="", anchor="start"):
    return f'<text x="{x:.1f}" y="{y:.1f}" class="{kind}" text-anchor="{anchor}">{escape(words)}</text>'


def line(x1, y1, x2, y2, kind):
    return f'<line x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}" class="{kind}"/>'


def page(width, height, title, note, parts):
    """A whole drawing. Its title is what a reader hears who cannot see it."""
    return "\n".join([
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'width="{width}" height="{height}" role="img" aria-label="{escape(title)}">',
        f"<style>{STYLE}</style>",
        text(12, 22, title, "title"),
        text(12, 40, note, "small"),
        *parts,
        "</svg>",
        "",
    ])


def bars(x, y, width, title, values):
    """A panel of bars, from 0 to the greatest; each has its number at its end."""
    parts = [text(x, y, title, "panel")]
    label, room = 62, 52
    scale = (width - label - room) / max(value for _, value in values)
    for number, (name, value) in enumerate(values):
        top, long = y + 10 + 18 * number, max(1, value * scale)
        parts += [
            text(x + label - 6, top + 11, name, "small", "end"),
            f'<rect x="{x + label}" y="{top}" width="{long:.1f}" height="14" rx="2" '
            f'fill="{COLOURS[name]}"/>',
            text(x + label + long + 5, top + 11, f"{value:.0f}", "small"),
        ]
    base = y + 10 + 18 * len(values)
    return [*parts, line(x + label, y + 7, x + label, base, "axis")]


class Plot:
    """A panel of curves over an axis of numbers, equally far apart by logarithm or not."""

    def __init__(self, x, y, width, height, ticks, top, logarithmic):
        self.left, self.right = x + 44, x + width - 8
        self.low, self.high = y + height - 34, y + 14
        self.ticks, self.top, self.logarithmic = ticks, nice(top), logarithmic

    def x(self, value):
        at = log10 if self.logarithmic else float
        first, last = at(self.ticks[0]), at(self.ticks[-1])
        return self.left + (at(value) - first) / ((last - first) or 1) * (self.right - self.left)

    def y(self, value):
        return self.low - value / self.top * (self.low - self.high)

    def frame(self, title, across):
        parts = [text(self.left - 40, self.high - 12, title, "panel")]
        for step in range(5):
            value = self.top * step / 4
            parts += [
                line(self.left, self.y(value), self.right, self.y(value), "grid"),
                text(self.left - 6, self.y(value) + 4, f"{value:g}", "small", "end"),
            ]
        for tick in self.ticks:
            parts.append(text(self.x(tick), self.low + 16, short(tick), "small", "middle"))
        parts.append(line(self.left, self.low, self.right, self.low, "axis"))
        middle = (self.left + self.right) / 2
        return [*parts, text(middle, self.low + 31, across, "small", "middle")]

    def curve(self, name, points):
        colour = COLOURS[name]
        places = [(self.x(x), self.y(y)) for x, y in points]
        path = " ".join(f"{x:.1f},{y:.1f}" for x, y in places)
        return [
            f'<polyline points="{path}" class="curve" stroke="{colour}"/>',
            *(f'<circle cx="{x:.1f}" cy="{y:.1f}" r="3" fill="{colour}"/>' for x, y in places),
        ]


def plot(x, y, width, height, title, across, curves, logarithmic):
    """Curves as {name: [(x, y)]}."""
    ticks = sorted({x for points in curves.values() for x, _ in points})
    top = max(y for points in curves.values() for _, y in points)
    panel = Plot(x, y, width, height, ticks, top, logarithmic)
    parts = panel.frame(title, across)
    for name, points in curves.items():
        parts += panel.curve(name, points)
    return parts


def legend(x, y, names):
    """Which colour is whose; it ends at x."""
    parts = []
    for name in reversed(names):
        parts.append(text(x, y, name, "small", "end"))
        x -= 7 * len(name) + 8
        parts.append(f'<circle cx="{x}" cy="{y - 4}" r="4" fill="{COLOURS[name]}"/>')
        x -= 16
    return parts


def nice(top):
    """The least number not below of which a quarter is easily read."""
    power = 10 ** floor(log10(top))
    steps = (1, 1.2, 1.6, 2, 2.4, 3.2, 4, 6, 8, 10)
    return next(step * power for step in steps if step * power >= top)


def short(number):
    for unit, size in (("M", 1_000_000), ("k", 1_000)):
        if number >= size:
            return f"{number / size:g}{unit}"
    return f"{number:g}"
