#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/schema.md against db/schema/schema.sql: the same tables and views, in each the same columns in the
same order, of tables also the types and which columns may be NULL. --self-test shows that it notices.
"""
import pathlib
import re
import sqlite3
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]


def of_database(sql):
    """Heading of a table or view -> its columns, each with what the page says of it."""
    database = sqlite3.connect(":memory:")
    database.executescript(sql)
    found = {}
    for kind, name in database.execute("SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view')").fetchall():
        columns = database.execute("SELECT name, type, \"notnull\" OR pk FROM pragma_table_info(?)", (name,)).fetchall()
        if kind == "view":
            found[f"{name} (view)"] = [(column,) for column, _, _ in columns]
        else:
            found[name] = [(column, kind, "" if set_always else "yes") for column, kind, set_always in columns]
    return found, database.execute("PRAGMA user_version").fetchone()[0]


def of_page(text):
    found = {}
    for section in re.split(r"^## ", text, flags=re.MULTILINE)[1:]:
        heading, _, body = section.partition("\n")
        rows = [[cell.strip() for cell in line.strip("|").split("|")] for line in body.splitlines() if line.startswith("|")]
        kept = 1 if heading.endswith("(view)") else 3
        found[heading] = [tuple(row[:kept]) for row in rows[2:]]
        for row in rows[2:]:
            if len(row) != len(rows[0]) or (not row[-1] and row[0] != "id"):
                sys.exit(f"docs/schema.md: {heading}.{row[0]} has no meaning, or a cell too many")
    return found


def differences(sql, page):
    database, version = of_database(sql)
    described = of_page(page)
    found = [f"'{name}' is in one of them only" for name in sorted(set(database) ^ set(described))]
    for name in sorted(set(database) & set(described)):
        if database[name] != described[name]:
            found.append(f"{name}: {sorted(set(database[name]) ^ set(described[name])) or 'another order'}")
    if f"now {version}." not in page:
        found.append(f"the version of the schema is {version}")
    return found


def main():
    sql = (ROOT / "db/schema/schema.sql").read_text()
    page = (ROOT / "docs/schema.md").read_text()
    if sys.argv[1:] == ["--self-test"]:
        for old, new in (("  cold_us      REAL", "  warm_us REAL, cold_us REAL"), ("  host           TEXT,", ""),
                         ("  seed           TEXT NOT NULL", "  seed TEXT"), ("CREATE VIEW outcomes", "CREATE VIEW results"),
                         ("user_version = ", "user_version = 1"), ("       m.reason,\n", "")):
            if old not in sql:
                sys.exit(f"db/schema/schema.sql has no '{old}'")
            if not differences(sql.replace(old, new, 1), page):
                sys.exit(f"'{new}' in place of '{old}' is not noticed")
    elif found := differences(sql, page):
        sys.exit("db/schema/schema.sql and docs/schema.md differ:\n" + "\n".join(found))


if __name__ == "__main__":
    main()
