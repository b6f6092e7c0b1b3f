#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Counts the instructions in a kernel's main loop, and checks the counts against demands.

usage: check_sass.py [--no-local] [--min-ffma-share S] [--max-conflict-share S] [--need ACCESS]... [--json]
                     [--nvdisasm PROGRAM] CUBIN_OR_FOLDER_OR_LISTING...

A cubin comes from `gemm-tune explain --arch A --sizes S CONFIG --cubin FILE` or `ffma_ceiling --arch A --cubins
FOLDER`; a folder stands for its *.cubin. A text (*.sass) is read as a listing of nvdisasm -c or cuobjdump -sass;
cubins need one of these programs (from CUDA, or from NVIDIA's packages nvidia-cuda-nvdisasm and
nvidia-cuda-cuobjdump).

The main loop is the innermost loop with the most FFMAs. A loop is the code between a backward branch and its target,
so code that the compiler moved out of line is not counted. ACCESS is an instruction with its width, as LDS.128,
LDG.128, LDGSTS.128, STS.32: it must be in the main loop or in a loop around it.

Bank conflicts are an estimate. From sm_70 on registers lie in two banks, even and odd numbers, and an FFMA that reads
three of one bank takes a cycle more (Jia et al., Dissecting the NVIDIA Volta GPU Architecture via Microbenchmarking,
2018, section 3.1). A register that the instruction before kept with .reuse in the same operand is not read again; the
estimate ignores that the scheduler may switch warps in between. FFMAs that read two registers of one bank are counted
too: if an SM issues an FFMA in every cycle (128 lanes), a bank that serves one register per cycle would delay them. The
order in which bench/kernels/ffma_ceiling writes its FFMAs changes only that count.

Exit code: 0; 1 if a demand is not met; 2 if a file cannot be read; 3 if there is no disassembler.
"""
import argparse
import collections
import json
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

INSTRUCTION = re.compile(r"^\s*/\*([0-9a-f]{4,})\*/\s+(?:(@!?U?P[0-9T]+)\s+)?([A-Z][A-Z0-9_.]*)\s*([^;]*);")
LABEL = re.compile(r"^(\.L[\w.$]*):")
FUNCTION = re.compile(r"^\s*(?:Function : (\S+)|\.text\.(\S+):)\s*$")
TARGET = re.compile(r"`\((\.L[\w.$]*)\)|\b0x([0-9a-f]+)\b")
REGISTER = re.compile(r"^[-|~]*R(\d+)(\.reuse)?")
MEMORY = ("LDS", "LDG", "LDGSTS", "STS", "STG", "LDL", "STL", "LDSM")
FFMA = ("FFMA", "FFMA2")

Instruction = collections.namedtuple("Instruction", "address predicate opcode operands")


class Kernel:
    """A function's instructions in order, and where its labels stand."""

    def __init__(self, name):
        self.name, self.instructions, self.labels = name, [], {}


def parse(listing):
    """The kernels of a listing by nvdisasm -c or cuobjdump -sass."""
    kernels, waiting = [], []
    for line in listing.splitlines():
        if match := FUNCTION.match(line):
            kernels.append(Kernel(match[1] or match[2]))
            waiting = []
        elif match := LABEL.match(line):
            waiting.append(match[1])
        elif kernels and (match := INSTRUCTION.match(line)):
            address = int(match[1], 16)
            for label in waiting:
                kernels[-1].labels[label] = address
            waiting = []
            operands = [operand.strip() for operand in match[4].split(",")]
            kernels[-1].instructions.append(Instruction(address, match[2], match[3], operands))
    return [kernel for kernel in kernels if kernel.instructions]


def base(instruction):
    return instruction.opcode.split(".")[0]


def is_void(instruction):
    """Issued, never executed: what the compiler writes as a pause."""
    return instruction.predicate == "@!PT"


def kind(instruction):
    """'FFMA', 'LDS.128', 'IADD3': an instruction without what does not matter here."""
    name = base(instruction)
    if is_void(instruction):
        return name + " (void)"
    if name not in MEMORY:
        return name
    widths = re.findall(r"\.[US]?(8|16|64|128)\b", instruction.opcode)
    return name + "." + (widths[-1] if widths else "32")


def loops(kernel):
    """(target, address of the branch) of every branch back."""
    found = []
    for at in kernel.instructions:
        if base(at) != "BRA":
            continue
        match = TARGET.search(",".join(at.operands))
        if match is None:
            continue
        target = kernel.labels.get(match[1]) if match[1] else int(match[2], 16)
        if target is not None and target < at.address:
            found.append((target, at.address))
    return found


def body(kernel, loop):
    return [at for at in kernel.instructions if loop[0] <= at.address <= loop[1]]


def ffmas(instructions):
    return sum(base(at) in FFMA for at in instructions)


def holds(outer, inner):
    return outer != inner and outer[0] <= inner[0] and inner[1] <= outer[1]


def main_loop(kernel):
    """The loop, or None."""
    having = [loop for loop in loops(kernel) if ffmas(body(kernel, loop)) > 0]
    innermost = [loop for loop in having if not any(holds(loop, other) for other in having)]
    return max(innermost, key=lambda loop: ffmas(body(kernel, loop)), default=None)


def around(kernel, loop):
    """The outermost loop that holds it, or itself."""
    return max([loop] + [other for other in loops(kernel) if holds(other, loop)], key=lambda at: at[1] - at[0])


def sources(instruction):
    """(number, is kept) of the register in each source operand; None where it holds none."""
    found = []
    for operand in instruction.operands[1:]:
        match = REGISTER.match(operand)
        found.append((int(match[1]), match[2] is not None) if match else None)
    return found


def bank_reads(instructions):
    """How many FFMAs read how many registers of the bank of which they read most."""
    counts, kept = collections.Counter(), {}
    for at in instructions:
        registers = sources(at)
        if base(at) in FFMA:
            read = {one[0] for slot, one in enumerate(registers) if one and kept.get(slot) != one[0]}
            counts[max(sum(number % 2 == bank for number in read) for bank in (0, 1))] += 1
        kept = {slot: one[0] for slot, one in enumerate(registers) if one and one[1]}
    return counts


def examine(kernel):
    """What there is to say of a kernel, as plain values."""
    everything = collections.Counter(kind(at) for at in kernel.instructions)
    facts = {"kernel": kernel.name, "instructions": len(kernel.instructions),
             "local": sum(base(at) in ("LDL", "STL") for at in kernel.instructions), "loop": None,
             "kinds": dict(everything)}
    loop = main_loop(kernel)
    if loop is None:
        return facts
    inside = body(kernel, loop)
    count, reads = ffmas(inside), bank_reads(inside)
    facts["loop"] = {
        "from": loop[0], "to": loop[1], "instructions": len(inside), "ffma": count,
        "ffma_share": count / len(inside),
        "ffma_with_reuse": sum(base(at) in FFMA and any(one and one[1] for one in sources(at)) for at in inside),
        "bank_conflicts": reads[3], "two_of_one_bank": reads[2],
        "kinds": dict(collections.Counter(kind(at) for at in inside)),
        "kinds_with_loops_around": dict(collections.Counter(kind(at) for at in body(kernel, around(kernel, loop)))),
    }
    return facts


def complaints(facts, demands):
    """Which of the demands a kernel does not meet, in words."""
    said = []
    if demands.no_local and facts["local"] > 0:
        said.append(f"{facts['local']} accesses of local memory")
    loop = facts["loop"]
    if loop is None:
        if demands.min_ffma_share is not None or demands.max_conflict_share is not None or demands.need:
            said.append("no loop with FFMAs")
        return said
    if demands.min_ffma_share is not None and loop["ffma_share"] < demands.min_ffma_share:
        said.append(f"FFMAs are {loop['ffma_share']:.3f} of the main loop, not {demands.min_ffma_share}")
    conflict_share = loop["bank_conflicts"] / loop["ffma"]
    if demands.max_conflict_share is not None and conflict_share > demands.max_conflict_share:
        said.append(f"{conflict_share:.3f} of the FFMAs conflict, more than {demands.max_conflict_share}")
    for need in demands.need:
        if need not in loop["kinds_with_loops_around"]:
            said.append(f"no {need} in the main loop or around it")
    return said


def listed(kinds, chosen):
    names = sorted((name for name in kinds if chosen(name)), key=lambda name: (-kinds[name], name))
    return ", ".join(f"{kinds[name]} {name}" for name in names) or "none"


def text_of(facts):
    def is_access(name):
        return name.split(".")[0].split(" ")[0] in MEMORY and "void" not in name

    loop = facts["loop"]
    lines = [f"  {facts['instructions']} instructions, {facts['local']} of local memory"]
    if loop is None:
        return "\n".join(lines + ["  no loop with FFMAs"])
    rest = {name: count for name, count in loop["kinds_with_loops_around"].items()
            if count > loop["kinds"].get(name, 0) and is_access(name)}
    lines += [
        f"  main loop 0x{loop['from']:x} to 0x{loop['to']:x}: {loop['instructions']} instructions, {loop['ffma']} FFMA, "
        f"share {loop['ffma_share']:.3f}",
        "  accesses    " + listed(loop["kinds"], is_access),
        "  others      " + listed(loop["kinds"], lambda name: not is_access(name) and name not in FFMA),
        f"  registers   {loop['ffma_with_reuse']} FFMA with .reuse, {loop['bank_conflicts']} read three of one bank, "
        f"{loop['two_of_one_bank']} two",
    ]
    if rest:
        lines.append("  with loops around it   " + listed(rest, lambda name: True))
    return "\n".join(lines)


def stop(text, code=2):
    print(f"check_sass.py: {text}", file=sys.stderr)
    sys.exit(code)


def disassembler(named):
    """The command to which a cubin's path is appended, or None."""
    if named:
        return [named, "-c"]
    for folder in (None, "/usr/local/cuda/bin"):
        # cuobjdump calls nvdisasm in today's CUDA; it comes second.
        for program, option in (("nvdisasm", "-c"), ("cuobjdump", "-sass")):
            if found := shutil.which(program, path=folder):
                return [found, option]
    return None


def disassemble(command, path):
    """The listing of a cubin, which may be an entry of gemm-tune's kernel cache, where a header comes first."""
    data = path.read_bytes()
    start = data.find(b"\x7fELF")
    if start < 0:
        stop(f"{path} is no cubin")
    with tempfile.NamedTemporaryFile(suffix=".cubin") as plain:
        plain.write(data[start:])
        plain.flush()
        done = subprocess.run(command + [plain.name], capture_output=True, text=True)
    if done.returncode != 0:
        stop(f"{command[0]} cannot read {path}: {done.stderr.strip()}")
    return done.stdout


def files(paths):
    for path in map(pathlib.Path, paths):
        if path.is_dir():
            yield from sorted(path.glob("*.cubin"))
        else:
            yield path


def parse_arguments():
    parser = argparse.ArgumentParser(description="What a kernel's main loop consists of, from its machine code.")
    parser.add_argument("--no-local", action="store_true", help="demand that nothing is in local memory")
    parser.add_argument("--min-ffma-share", type=float, help="demand so many FFMAs among the main loop's instructions")
    parser.add_argument("--max-conflict-share", type=float, help="demand no more bank conflicts per FFMA")
    parser.add_argument("--need", action="append", default=[], help="demand an access, as LDS.128")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--nvdisasm", help="the program, where it is not on the PATH")
    parser.add_argument("paths", nargs="+")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    command = disassembler(arguments.nvdisasm)
    found, failed = [], False
    for path in files(arguments.paths):
        if not path.is_file():
            stop(f"there is no file {path}")
        if path.suffix == ".sass":
            listing = path.read_text()
        elif command is None:
            stop("neither nvdisasm nor cuobjdump is there: put one on the PATH, or name it", 3)
        else:
            listing = disassemble(command, path)
        for kernel in parse(listing):
            facts = {"file": str(path), **examine(kernel)}
            facts["complaints"] = complaints(facts, arguments)
            failed = failed or bool(facts["complaints"])
            found.append(facts)
            if not arguments.json:
                print(f"{path} {kernel.name}\n{text_of(facts)}")
                for complaint in facts["complaints"]:
                    print(f"  FAILED: {complaint}")
    if not found:
        stop("there is no kernel to look at")
    if arguments.json:
        print(json.dumps(found, indent=2))
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
