#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds the help, the man page and the completions, which the program writes, against each other.

usage: man_and_completion.py help PROGRAM         no line of any command's help is over the columns of the
                                                  reader; the short help of the program fits a screen
       man_and_completion.py man PROGRAM          names the commands and options of --help-all, and no others;
                                                  groff and mandoc, where they are, warn of nothing
       man_and_completion.py completion PROGRAM   bash's script offers commands, options, values and files
       man_and_completion.py typed SHELL PROGRAM  what is typed in the shell, on a terminal, is completed by the
                                                  tabulator; 77 where the shell is not installed
"""
import os
import pty
import re
import signal
import shutil
import subprocess
import sys
import tempfile


def output(*command, text=None):
    run = subprocess.run(command, input=text, capture_output=True, text=True)
    if run.returncode != 0 or run.stderr:
        sys.exit(f"{command} ends with {run.returncode}: {run.stdout}{run.stderr}")
    return run.stdout


def all_help(program, path=()):
    return output(program, *path, "--help-all" if os.path.basename(program) == "gemm-tune" else "--help")


def commands_within(text):
    if not re.search(r"^(?:C|Subc)ommands:$", text, re.MULTILINE):
        return []
    return re.findall(r"^  ([a-z][\w-]*)", re.split(r"^(?:C|Subc)ommands:\n", text, flags=re.MULTILINE)[1:][0].partition("\n\n")[0], re.MULTILINE)


def of_help(program, path=()):
    """Pairs of a command's path and one of its options, of this command and those within."""
    text = all_help(program, path)
    pairs = {(" ".join(path), "")}
    for line in re.findall(r"^  (-[^ ].*)$", text, re.MULTILINE):
        for name in re.match(r"-[\w-]+(, ?-[\w-]+)*", line)[0].replace(" ", "").split(","):
            pairs.add((" ".join(path), name))
    for command in commands_within(text):
        pairs |= of_help(program, (*path, command))
    return pairs


def check_help(program):
    for path in sorted({path for path, _ in of_help(program)}):
        for columns in (60, 80, 100):
            for option in ("--help", "--help-all"):
                text = output("env", f"COLUMNS={columns}", program, *path.split(), option)
                for line in text.splitlines():
                    # Examples stay whole, to be copied.
                    if len(line) > (80 if line.startswith("  gemm-tune ") else columns):
                        sys.exit(f"a line of 'gemm-tune {path} {option}' is over {columns} columns:\n{line}")
                if not text.startswith("Usage: ") and "\nUsage: " not in text:
                    sys.exit(f"'gemm-tune {path} {option}' has no usage")
        piped = output("env", "-u", "COLUMNS", program, *path.split(), "--help-all")
        if any(len(line) > 80 for line in piped.splitlines()):
            sys.exit(f"'gemm-tune {path} --help-all' is wider than 80 columns in a pipe")
    short = output(program, "--help")
    options = re.findall(r"^  -", short, re.MULTILINE)
    examples = re.findall(r"^  gemm-tune ", short, re.MULTILINE)
    if len(options) > 10 or len(examples) != 3 or short.count("\n") > 50 or "--help-all" not in short:
        sys.exit(f"the short help is not short: {len(options)} options, {len(examples)} examples\n{short}")


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
    named |= {(path, name) for path, _ in expected for name in ("-h", "--help", "--help-all")}
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
    "gemm-tune db merge --": ["--family", "--help", "--help-all", "--quiet"],
    "gemm-tune spe": ["speed-up"],
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
    script = output(program, "completion", "bash")
    for path, name in of_help(program):
        offered = re.search(rf"^    '{path}'\) words='(.*)' ;;$", script, re.MULTILINE)[1].split()
        if name.startswith("--") and name not in offered:
            sys.exit(f"bash does not offer {name} of '{path}'")


# What is typed, with <TAB> for the tabulator -> the words that the program gets.
TYPED = {
    "gemm-tune lad<TAB>": "ladder",
    "gemm-tune spee<TAB>": "speed-up",
    "gemm-tune db pru<TAB>": "db prune",
    "gemm-tune best --objec<TAB> co<TAB>": "best --objective cold",
    "gemm-tune completion z<TAB>": "completion zsh",
    "gemm-tune --from-ca<TAB> call<TAB>": "--from-capture calls.txt",
    "gemm-tune db merge all.db --qui<TAB>": "db merge all.db --quiet",
}
# The shell, how it is started, and its lines before the first that is typed: `gemm-tune` tells its words.
SHELLS = {
    "bash": (["--norc", "--noprofile", "-i"],
             ["gemm-tune() { echo \"words<$*>\"; }", "source '{script}'"]),
    "zsh": (["-f", "-i"],
            ["gemm-tune() { print -r -- \"words<$*>\"; }", "autoload -U compinit && compinit -u -D", "source '{script}'"]),
    "fish": (["--no-config", "-i"],
             ["function gemm-tune; echo \"words<$argv>\"; end", "source '{script}'"]),
}


class Terminal:
    """A shell on a terminal, in a folder."""

    def __init__(self, command, folder):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(folder)
            os.environ.update(TERM="dumb", HOME=folder, XDG_CONFIG_HOME=folder, XDG_DATA_HOME=folder)
            os.environ.pop("COLUMNS", None)
            os.execvp(command[0], command)
        self.said = ""

    def type(self, text):
        os.write(self.fd, text.encode())

    def wait_for(self, pattern):
        """The match behind all that was matched before. ctest's limit ends a test whose shell does not say it."""
        while not (found := re.search(pattern, self.said)):
            try:
                more = os.read(self.fd, 65536).decode(errors="replace")
                print(repr(more), flush=True)
                self.said += more
            except OSError:
                sys.exit(f"the shell has ended:\n{self.said!r}")
        self.said = self.said[found.end():]
        return found

    def close(self):
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        os.close(self.fd)


def check_typed(shell, program):
    if not shutil.which(shell):
        print(f"{shell} is not installed: ./run tests installs it")
        sys.exit(77)
    options, begin = SHELLS[shell]
    with tempfile.TemporaryDirectory() as folder:
        script = os.path.join(folder, "script")
        with open(script, "w") as file:
            file.write(output(program, "completion", shell))
        open(os.path.join(folder, "calls.txt"), "w").close()
        output(shell, "-n", script)
        terminal = Terminal([shell, *options], folder)
        for line in begin:
            terminal.type(line.replace("{script}", script) + "\r")
        terminal.type("gemm-tune ready\r")
        terminal.wait_for(r"words<ready>")
        for typed, expected in TYPED.items():
            for part in re.split("(<TAB>)", typed):
                terminal.type("\t" if part == "<TAB>" else part.lstrip() if part.startswith(" ") else part)
            terminal.type("\r")
            words = terminal.wait_for(r"words<([^>\r\n]*)>")[1]
            if words.replace("=", " ").split() != expected.split():  # zsh puts "=" before a value
                sys.exit(f"{shell} completes '{typed}' to '{words}', not to '{expected}'")
            print(f"{shell}: {typed}: {words}")
        terminal.close()
        if shell == "fish":  # where a command is due no file is offered, and where a file may be, it is
            for typed, expected in {"gemm-tune ca": ["capture"], "gemm-tune run -- ca": ["calls.txt"]}.items():
                offered = subprocess.run(["fish", "--no-config", "-c", f"source {script}; complete -C '{typed}'"], cwd=folder,
                                         check=True, capture_output=True, text=True).stdout
                if [line.split("\t")[0] for line in offered.splitlines()] != expected:
                    sys.exit(f"fish offers {offered!r} for '{typed}', not {expected}")


if __name__ == "__main__":
    checks = {"help": check_help, "man": check_man, "completion": check_completion}
    if len(sys.argv) == 4 and sys.argv[1] == "typed" and sys.argv[2] in SHELLS:
        check_typed(*sys.argv[2:])
    elif len(sys.argv) == 3 and sys.argv[1] in checks:
        checks[sys.argv[1]](sys.argv[2])
    else:
        sys.exit(__doc__)
