#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the man page and the completions, which the program writes, against its --help.

usage: man_and_completion.py man PROGRAM         names the commands and options of --help, and no others;
                                                 groff and mandoc, where they are, warn of nothing
       man_and_completion.py completion PROGRAM  bash completes commands, options, values and files;
                                                 zsh and fish, where they are, read their scripts
"""
import os
import re
import shutil
import subprocess
import sys
import tempfile


def output(*command, text=None):
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    if run.returncode != 0 or run.stderr:
        sys.exit(f"{command} ends with {run.returncode}: {run.stdout}{run.stderr}")
    return run.stdout


def of_help(program, path=()):
    """Pairs of a command's path and one of its options, of this command and those within."""
    text = output(program, *path, "--help")
    pairs = {(" ".join(path), "")}
    for line in re.findall(r"^  (-[^ ].*)$", text, re.MULTILINE):
        for name in re.match(r"-[\w-]+(,-[\w-]+)*", line)[0].split(","):
            pairs.add((" ".join(path), name))
    for command in re.findall(r"^  (\w+)", text.partition("Subcommands:\n")[2].partition("\n\n")[0],
                              re.MULTILINE):
        pairs |= of_help(program, (*path, command))
    return pairs


def of_man(page):
    pairs, path, lines = {("", "")}, "", page.replace("\\-", "-").splitlines()
    for before, line in zip(lines, lines[1:]):
        if line.startswith(".SS "):
            path = line[4:]
            pairs.add((path, ""))
        elif before == ".TP":
            pairs |= {(path, name) for name in re.findall(r"\\fB(-[\w-]+)\\fR", line)}
    return pairs


def check_man(program):
    page = output(program, "man")
    expected = of_help(program)
    named = of_man(page)
    # --help is described once; the options of tune, the default command, not a second time without it.
    named |= {(path, name) for path, _ in expected for name in ("-h", "--help")}
    named |= {("", name) for path, name in named if path == "tune"}
    if len(expected) < 100 or named != expected:
        sys.exit(f"the man page and --help differ by {sorted(named ^ expected)} of {len(expected)}")
    if shutil.which("groff"):
        output("groff", "-man", "-ww", "-z", text=page)
    if shutil.which("mandoc"):
        lint = subprocess.run(["mandoc", "-Tlint", "-W", "warning"], input=page, capture_output=True, text=True)
        # No date: the same sources give the same page on any day.
        warnings = [line for line in lint.stdout.splitlines() if "missing date" not in line]
        if warnings:
            sys.exit("\n".join(warnings))


# What is typed, the last word unfinished -> all that bash offers.
COMPLETED = {
    "gemm-tune lad": ["ladder"],
    "gemm-tune --siz": ["--sizes"],
    "gemm-tune db pr": ["prune"],
    "gemm-tune db merge --": ["--help", "--quiet"],
    "gemm-tune --db report best --obj": ["--objective"],
    "gemm-tune --db = report best --obj": ["--objective"],
    "gemm-tune best --objective ": ["cold", "hot"],
    "gemm-tune best --objective = c": ["cold"],
    "gemm-tune best --objective =": ["cold", "hot"],
    "gemm-tune completion z": ["zsh"],
    "gemm-tune best --db tu": [],  # files
    "gemm-tune run -- db ": [],
}


def check_completion(program):
    with tempfile.TemporaryDirectory() as folder:
        scripts = {}
        for shell in ("bash", "zsh", "fish"):
            scripts[shell] = os.path.join(folder, shell)
            with open(scripts[shell], "w") as file:
                file.write(output(program, "completion", shell))
            if shutil.which(shell):
                output(shell, "-n", scripts[shell])
        for typed, expected in COMPLETED.items():
            words = typed.split(" ")
            offered = output("bash", "-c", 'source "$1"; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); '
                             '_gemm_tune; ((${#COMPREPLY[@]} == 0)) || printf "%s\\n" "${COMPREPLY[@]}"',
                             "bash", scripts["bash"], *words).split()
            if sorted(offered) != expected:
                sys.exit(f"'{typed}' is completed by {offered}, not by {expected}")
        if output("bash", "-c", 'source "$1"; complete -p gemm-tune', "bash", scripts["bash"]) != \
                "complete -o default -F _gemm_tune gemm-tune\n":
            sys.exit("bash does not complete gemm-tune")
        if shutil.which("fish"):
            offered = output("fish", "-c", f"source {scripts['fish']}; complete -C 'gemm-tune db pr'")
            if offered.split("\t")[0] != "prune":
                sys.exit(f"fish offers {offered}")
    script = output(program, "completion", "bash")
    for path, name in of_help(program):
        offered = re.search(rf"^    '{path}'\) words='(.*)' ;;$", script, re.MULTILINE)[1].split()
        if name.startswith("--") and name not in offered:
            sys.exit(f"bash does not offer {name} of '{path}'")



if __name__ == "__main__":
    checks = {"man": check_man, "completion": check_completion}
    if len(sys.argv) != 3 or sys.argv[1] not in checks:
        sys.exit(__doc__)
    checks[sys.argv[1]](sys.argv[2])
