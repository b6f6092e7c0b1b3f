# SPDX-License-Identifier: Apache-2.0
"""Results as columns."""
from __future__ import annotations

from html import escape
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pandas


def _text(value: Any) -> str:
    if value is None:
        return ""
    return f"{value:.5g}" if isinstance(value, float) else str(value)


class Table(dict[str, list[Any]]):
    """A dict of columns, all of one length. ``details`` has what they were made from."""

    def __init__(self, columns: dict[str, list[Any]], details: Any = None) -> None:
        super().__init__(columns)
        self.details = details

    @property
    def rows(self) -> list[dict[str, Any]]:
        return [dict(zip(self, values)) for values in zip(*self.values())]

    def to_pandas(self) -> pandas.DataFrame:
        import pandas

        return pandas.DataFrame(dict(self))

    def __repr__(self) -> str:
        shown = [list(self), *([_text(value) for value in row.values()] for row in self.rows)]
        widths = [max(len(row[i]) for row in shown) for i in range(len(self))]
        return "\n".join("  ".join(map(str.ljust, row, widths)).rstrip() for row in shown)

    def _repr_html_(self) -> str:
        def row(cells: list[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{escape(cell)}</{tag}>" for cell in cells) + "</tr>"

        body = "".join(row([_text(value) for value in one.values()], "td") for one in self.rows)
        return f"<table>{row(list(self), 'th')}{body}</table>"
