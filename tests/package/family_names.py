#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Checks that no source outside a family's folder names the family or one of its parameters.

usage: family_names.py ROOT | --self-test

A family is named by its folder's name as a word with an underscore, in a namespace, or at the
begin of a config's text. A parameter is named by its string, as an argument or compared, or in a
config's text. The list of families is the one exception. Prints a line for each finding; exits 1 if there is one.
"""
import pathlib
import re
import sys
import tempfile

FOLDERS = ["core", "gpu", "kernel_templates", "search", "db", "choose", "runtime", "dispatch", "tuner", "cli", "python"]
SUFFIXES = {".h", ".hpp", ".cpp", ".cuh", ".py", ".js", ".cmake", ".txt"}
LISTS = {"kernel_templates/registry/families.h"}


def families_of(root):
    """Name of each family -> names of its parameters."""
    families = {}
    for path in sorted((root / "kernel_templates").glob("*/family.cpp")):
        text = path.read_text()
        families[path.parent.name] = set(re.findall(r'"([A-Z][A-Z_0-9]*)",\s*&Params::', text))
    return families


def patterns_of(families):
    names = "|".join(families)
    words = [name for name in families if "_" in name]
    params = "|".join(sorted(set().union(*families.values())))
    forms = [rf"\b(?:{names})::", rf'"(?:{names})/', rf"\b(?:{names})/[A-Z]+=", rf'[(=] ?"(?:{params})"',
             rf'"[^"]*\b(?:{params})=[^"]*"']
    return [re.compile(form) for form in forms + ([rf"\b(?:{'|'.join(words)})\b"] if words else [])]


def findings(root):
    families = families_of(root)
    if not families or not all(families.values()):
        return ["kernel_templates/: no families, or one without parameters"]
    patterns, found = patterns_of(families), []
    for folder in FOLDERS:
        for path in sorted((root / folder).rglob("*")):
            name = path.relative_to(root).as_posix()
            if path.suffix not in SUFFIXES or name in LISTS:
                continue
            if name.startswith("kernel_templates/") and path.parts[len(root.parts) + 1] in families:
                continue
            for number, line in enumerate(path.read_text(errors="replace").split("\n"), 1):
                told = next((match.group() for match in (p.search(line) for p in patterns) if match), None)
                if told:
                    found.append(f"{name}:{number}: {told}")
    return found


def self_test():
    with tempfile.TemporaryDirectory() as name:
        root = pathlib.Path(name)
        own = root / "kernel_templates/new_family"
        own.mkdir(parents=True)
        (root / "search").mkdir()
        (own / "family.cpp").write_text('{"BM", &Params::BM, {8}}, // new_family/BM=8\n')
        (root / "search/good.cpp").write_text("// BM rows of a tile\n")
        assert not findings(root), findings(root)
        for line in ('find_param("BM")', "// as new_family does", '"new_family/BM=8"', "new_family::family()",
                     'text + ",BM=4"'):
            (root / "search/bad.cpp").write_text(line)
            assert findings(root), f"does not notice {line}"


if sys.argv[1] == "--self-test":
    self_test()
else:
    lines = findings(pathlib.Path(sys.argv[1]).resolve())
    sys.exit("\n".join(lines) if lines else 0)
