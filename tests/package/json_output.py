#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds docs/json-output.schema.json against what the program prints with --json.

usage: json_output.py PROGRAM PRINT_SAMPLE_REPORTS

Each command runs without a GPU, in a folder of its own. Of measured reports, PRINT_SAMPLE_REPORTS prints made-up ones.
Beyond the schema, a field that the schema does not describe is an error here: whoever adds one describes it. What is
printed also is as the schemas of released versions (tests/released) say, but for fields that they do not know, unless
format_version has risen since.
"""
import json
import os
import pathlib
import re
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parents[2]
SCHEMA = json.loads((ROOT / "docs/json-output.schema.json").read_text())
RELEASED = {file.relative_to(ROOT).as_posix(): json.loads(file.read_text())
            for file in sorted((ROOT / "tests/released").glob("*/json-output.schema.json"))}
RELEASED = {file: schema for file, schema in RELEASED.items()
            if schema["$defs"]["format_version"]["const"] == SCHEMA["$defs"]["format_version"]["const"]}
NAIVE = "naive/BM=16,BN=16,COALESCED=1,PRED=0"
TYPES = {"object": dict, "array": list, "string": str, "boolean": bool, "null": type(None)}
KNOWN = {"$ref", "type", "description", "required", "properties", "additionalProperties", "items", "enum", "const",
         "pattern", "minimum", "minItems", "maxItems"}


def is_of(value, kind):
    if kind == "integer":
        return isinstance(value, int) and not isinstance(value, bool)
    if kind == "number":
        return isinstance(value, (int, float)) and not isinstance(value, bool)
    return isinstance(value, TYPES[kind])


def problems_with(value, schema, where, whole=SCHEMA):
    """Yields what is wrong with the value, by the part of JSON Schema 2020-12 that SCHEMA uses; whole: SCHEMA or one of RELEASED."""
    unknown = set(schema) - KNOWN
    if unknown:
        sys.exit(f"the schema uses {unknown}, which this check does not know")
    if "$ref" in schema:
        yield from problems_with(value, whole["$defs"][schema["$ref"].removeprefix("#/$defs/")], where, whole)
    kinds = schema.get("type", [])
    kinds = [kinds] if isinstance(kinds, str) else kinds
    if kinds and not any(is_of(value, kind) for kind in kinds):
        yield f"{where}: {value!r} is not of type {kinds}"
        return
    if "enum" in schema and value not in schema["enum"]:
        yield f"{where}: {value!r} is none of {schema['enum']}"
    if "const" in schema and value != schema["const"]:
        yield f"{where}: {value!r} is not {schema['const']!r}"
    if "pattern" in schema and not re.search(schema["pattern"], value):
        yield f"{where}: {value!r} does not match {schema['pattern']}"
    if "minimum" in schema and value < schema["minimum"]:
        yield f"{where}: {value!r} is below {schema['minimum']}"
    if isinstance(value, dict):
        for name in schema.get("required", []):
            if name not in value:
                yield f"{where}: has no {name}"
        described, others = schema.get("properties"), schema.get("additionalProperties")
        for name, one in value.items():
            if described and name in described:
                yield from problems_with(one, described[name], f"{where}.{name}", whole)
            elif others:
                yield from problems_with(one, others, f"{where}.{name}", whole)
            elif described and whole is SCHEMA:
                yield f"{where}: {name} is not described"
    if isinstance(value, list):
        if not schema.get("minItems", 0) <= len(value) <= schema.get("maxItems", len(value)):
            yield f"{where}: has {len(value)} items"
        for index, one in enumerate(value):
            if "items" in schema:
                yield from problems_with(one, schema["items"], f"{where}[{index}]", whole)


def check(name, value, definition):
    for file, schema in {"": SCHEMA, **RELEASED}.items():
        if file and definition not in schema["$defs"]:
            continue  # a command that is younger
        found = list(problems_with(value, {"$ref": f"#/$defs/{definition}"}, definition, schema))
        if found:
            sys.exit(f"{name}, by {file or 'the schema'}: " + "\n  ".join(found))
    print(f"{name}: as {definition} says", flush=True)


def check_the_check():
    """It notices what it is there for."""
    good = {"name": "a", "time_us": 1, "cold_us": None, "error": 2e-7, "error_ratio": None, "speedup": 1, "cold_speedup": None}
    for change in ({"time_us": "1"}, {"more": 1}, {"name": None}):
        if not list(problems_with([dict(good, **change)], {"$ref": "#/$defs/baselines"}, "")):
            sys.exit(f"the check takes {change}")
    if list(problems_with([good], {"$ref": "#/$defs/baselines"}, "")):
        sys.exit("the check refuses a baseline")
    if not list(problems_with([{}], {"$ref": "#/$defs/baselines"}, "")):
        sys.exit("the check takes a baseline without fields")
    for schema in RELEASED.values():
        if list(problems_with([dict(good, more=1)], {"$ref": "#/$defs/baselines"}, "", schema)):
            sys.exit("a released version's readers are thought to refuse new fields")
        if not list(problems_with([dict(good, time_us="1")], {"$ref": "#/$defs/baselines"}, "", schema)):
            sys.exit("a field of another type is thought to suit a released version's readers")


def main(program, print_sample_reports):
    check_the_check()
    for report in json.loads(subprocess.check_output([print_sample_reports])):
        check("a measured report", report, "problem_report")
    check("measured rows of bench", json.loads(subprocess.check_output([print_sample_reports, "bench"])), "bench")
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, GEMM_TUNE_DB=folder + "/t.db", XDG_CACHE_HOME=folder, CUDA_VISIBLE_DEVICES="")
        spills = "vectorized_2d/BM=256,BN=256,BK=8,TM=16,TN=8,VEC=1,PAD=0,INTERLEAVE=0,PRED=0"
        for definition, arguments in (
                ("tune", "--arch sm_86 --sizes 64,100,256 --config " + NAIVE + " --config " + spills),
                ("tune", "--arch sm_86 --sizes 64x64x64:type=bf16 --budget 2 --seed 1"),
                ("tune", "--arch sm_86 --m-range 1:16 --sizes 96x64 --budget 4 --config tiled_2d"),
                ("dry_run", "--arch sm_86 --m-range 1:16 --sizes 96x64 --dry-run --config tiled_2d"),
                ("dry_run", "--arch sm_86 --sizes 64,64x64x64:type=bf16 --dry-run"),
                ("best", "best --arch sm_86 --sizes 64,65,64x64x64:type=bf16/bf16/f32/f32"),
                ("best", "best --arch sm_90 --sizes 64"),
                ("best", "best --arch sm_90 --sizes 64:batch=2:pointers,64:epilogue=bias_column+relu"),
                ("best", "best --arch sm_90 --sizes 64 --accuracy fp32_f16x3"),
                ("explain", "explain --arch sm_86 --sizes 64,100,64x64x64:layout=nt " + NAIVE),
                ("explain", "explain --arch sm_86 --sizes 256 " + spills),
                ("explain", "explain --arch sm_90 --sizes 64 " + NAIVE + " --db " + folder + "/none.db"),
                ("ladder", "ladder --arch sm_86 --sizes 64"),
                ("db_info", "db info"),
                ("tune", f"--arch sm_86 --sizes 64 --config {NAIVE} --db {folder}/other.db"),
                ("db_diff", f"db diff {folder}/other.db {folder}/t.db")):
            run = subprocess.run([program, *arguments.split(), "--json", "-q"], env=environment, text=True,
                                 capture_output=True)
            if run.returncode not in (0, 4):
                sys.exit(f"{arguments}: exit code {run.returncode}\n{run.stderr}")
            check(arguments, json.loads(run.stdout), definition)


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    main(*sys.argv[1:])
