#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""The binary interface of libgemm_tune.so: symbols with their versions, prototypes, enumerators, sizes of types, offsets and
sizes of members.

usage: abi.py HEADER LIBRARY            prints it, a line for each
       abi.py HEADER LIBRARY RELEASED   fails where a line of the file RELEASED holds no longer: a later library may
                                        have more of everything, and structs that begin with their size may grow

Needs a C compiler (cc) and readelf.
"""
import pathlib
import re
import subprocess
import sys
import tempfile


def declarations(header):
    """The text of gemm_tune.h without comments and preprocessor lines."""
    text = re.sub(r"/\*.*?\*/", " ", header, flags=re.DOTALL)
    text = re.sub(r"//[^\n]*", " ", text)
    return re.sub(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*$", " ", text, flags=re.MULTILINE)


def members(body):
    """Names of a struct's members."""
    for declaration in body.split(";"):
        for part in declaration.split(","):
            name = re.search(r"(\w+)\s*(?:\[[^]]*\])?\s*$", part)
            if name:
                yield name[1]


def layout(text, header):
    """Sizes, offsets and values, as a C compiler has them."""
    lines = []

    def numbers(label, *expressions):
        values = ", ".join(f"(long long)({expression})" for expression in expressions)
        lines.append(f'printf("{label}{" %lld" * len(expressions)}\\n", {values});')

    for body, name in re.findall(r"typedef enum \w+ \{(.*?)\} (\w+);", text, re.DOTALL):
        numbers(f"sizeof {name}", f"sizeof({name})")
        for enumerator in re.findall(r"(\w+)\s*=", body):
            numbers(f"enum {name} {enumerator}", enumerator)
    for body, name in re.findall(r"typedef struct \w+ \{(.*?)\} (\w+);", text, re.DOTALL):
        numbers(f"sizeof {name}", f"sizeof({name})")
        for member in members(body):
            numbers(f"member {name}.{member}", f"offsetof({name}, {member})", f"sizeof((({name}*)0)->{member})")
    for name in re.findall(r"typedef \w+ (\w+);", text):
        numbers(f"sizeof {name}", f"sizeof({name})")
    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "layout.c"
        source.write_text("#include <stddef.h>\n#include <stdio.h>\n" + f'#include "{header.resolve()}"\n'
                          + "int main(void) {\n" + "\n".join(lines) + "\nreturn 0;\n}\n")
        subprocess.run(["cc", "-std=c99", source, "-o", source.with_suffix("")], check=True)
        return subprocess.check_output([source.with_suffix("")], text=True).splitlines()


def prototypes(text):
    for declaration in re.findall(r"^GT_API\s+(.*?);", text, re.MULTILINE | re.DOTALL):
        yield "function " + re.sub(r"\s*([(),*])\s*", r"\1", " ".join(declaration.split()))


def symbols(library):
    table = subprocess.check_output(["readelf", "--wide", "--dyn-syms", library], text=True)
    for line in table.splitlines():
        fields = line.split()
        if len(fields) == 8 and fields[6].isdigit() and "@" in fields[7]:
            yield "symbol " + fields[7].replace("@@", "@")


def soname(library):
    dynamic = subprocess.check_output(["readelf", "--dynamic", library], text=True)
    return "soname " + re.search(r"\(SONAME\).*\[(.*)\]", dynamic)[1]


def interface(header, library):
    text = declarations(header.read_text())
    return [soname(library), *sorted(symbols(library)), *sorted(prototypes(text)), *layout(text, header)]


def broken(released, now):
    """Lines of the released interface that do not hold now."""
    held = set(now)
    grown = {line.rsplit(" ", 1)[0]: int(line.rsplit(" ", 1)[1]) for line in now if line.startswith("sizeof ")}
    may_grow = {line.split()[1].split(".")[0] for line in released if re.fullmatch(r"member \w+\.size 0 8", line)}
    for line in released:
        if line in held:
            continue
        words = line.split()
        grows = words[0] == "sizeof" and words[1] in may_grow
        if not grows or grown.get(f"sizeof {words[1]}", 0) < int(words[2]):
            yield line


def self_test(released):
    """The check notices what it is there for."""
    def without(prefix):
        return [line for line in released if not line.startswith(prefix)]

    for prefix, other in (("symbol gt_gemm@", []), ("function gt_status gt_lookup(", []), ("enum gt_status GT_NO_KERNEL ", []),
                          ("sizeof gt_recipe ", ["sizeof gt_recipe 96"]), ("member gt_gemm_call.beta ", ["member gt_gemm_call.beta 80 8"]),
                          ("sizeof gt_gemm_call ", ["sizeof gt_gemm_call 248"]), ("soname ", ["soname libgemm_tune.so.1"])):
        if not list(broken(released, without(prefix) + other)) or len(without(prefix)) == len(released):
            sys.exit(f"'{prefix}...' changes to {other or 'nothing'}, and nobody notices")
    if list(broken(released, without("sizeof gt_gemm_call ") + ["sizeof gt_gemm_call 264", "symbol gt_new@GEMM_TUNE_0.2"])):
        sys.exit("a struct with a size may not grow")


def main():
    if len(sys.argv) not in (3, 4):
        sys.exit(__doc__)
    now = interface(pathlib.Path(sys.argv[1]), sys.argv[2])
    if len(sys.argv) == 3:
        print("\n".join(now))
        return
    released = pathlib.Path(sys.argv[3]).read_text().splitlines()
    self_test(released)
    if found := list(broken(released, now)):
        sys.exit(f"programs built with the release of {sys.argv[3]} break; there:\n  " + "\n  ".join(found))
    print(f"{len(released)} lines of {sys.argv[3]} hold")


if __name__ == "__main__":
    main()
