#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Draws the speeds in the tables of docs/results.md as an SVG: docs/results.svg.

usage: draw_results.py PAGE > SVG

Takes every table whose columns are M x N x K, cublasSgemm, cublasLt, ours, ...: a bar for each row, the column "over the
better", hot, as a share gained or lost. Losses have another colour and a sign. Light and dark by the reader's setting.
"""
import html
import pathlib
import sys

COLUMNS = ["M x N x K", "cublasSgemm", "cublasLt", "ours"]
NAME_WIDTH, BAR_WIDTH, ROW, TOP = 150, 440, 17, 44
MOST = 1.0  # of a gain that is drawn to scale; longer bars are cut and say so by their label

STYLE = """
  text { font: 12px system-ui, sans-serif; fill: #24292f }
  .title { font-weight: 600 }
  .faint { fill: #57606a }
  .gain { fill: #0969da }
  .loss { fill: #cf222e }
  .equal { stroke: #57606a }
  @media (prefers-color-scheme: dark) {
    text { fill: #e6edf3 }
    .faint { fill: #9198a1 }
    .gain { fill: #4493f8 }
    .loss { fill: #f85149 }
    .equal { stroke: #9198a1 }
  }"""


def cells(line):
    return [cell.strip(" *") for cell in line.strip().strip("|").split("|")]


def speeds(page):
    """Our speed over that of the better baseline, by shape; of a shape in two tables that of the later."""
    found, better = {}, None
    for line in page.splitlines():
        row = cells(line)
        if not line.startswith("|"):
            better = None
        elif row[:4] == COLUMNS:
            better = row.index("over the better")
        elif better is not None and row[0][:1].isdigit():
            found[row[0]] = float(row[better])
    return found


def svg(rows):
    height = TOP + ROW * len(rows) + 8
    zero = NAME_WIDTH + 30  # room for losses
    scale = (BAR_WIDTH - 30) / MOST
    lines = [f'<svg xmlns="http://www.w3.org/2000/svg" width="680" height="{height}" viewBox="0 0 680 {height}" role="img">',
             f"<style>{STYLE}\n</style>",
             '<text class="title" x="0" y="14">Speed over the better of cublasSgemm and cublasLt</text>',
             '<text class="faint" x="0" y="31">fp32, one H100, operands in L2; M x N x K, one number for a square, "x 64" for a batch</text>',
             f'<line class="equal" x1="{zero}" y1="{TOP - 6}" x2="{zero}" y2="{height - 4}"/>']
    for index, (shape, speed) in enumerate(rows):
        y, gain = TOP + ROW * index, speed - 1
        length = min(abs(gain), MOST) * scale
        kind, left, label = ("loss", zero - length, zero) if gain < 0 else ("gain", zero, zero + length)
        lines += [f'<text x="{NAME_WIDTH - 10}" y="{y + 10}" text-anchor="end">{html.escape(shape)}</text>',
                  f'<rect class="{kind}" x="{left:.1f}" y="{y}" width="{max(length, 1):.1f}" height="12"/>',
                  f'<text class="{"loss" if gain < 0 else "faint"}" x="{label + 6:.1f}" y="{y + 10}">{gain * 100:+.1f} %</text>']
    return "\n".join([*lines, "</svg>", ""])


def main():
    if len(sys.argv) != 2:
        sys.exit(__doc__.split("\n\n")[1])
    rows = speeds(pathlib.Path(sys.argv[1]).read_text())
    if not rows:
        sys.exit(f"{sys.argv[1]}: no table with the columns {', '.join(COLUMNS)}")
    sys.stdout.write(svg(sorted(rows.items(), key=lambda row: -row[1])))


if __name__ == "__main__":
    main()
