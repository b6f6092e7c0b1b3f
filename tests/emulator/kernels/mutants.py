#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the emulator's tests would notice: breaks each kernel in small ways and runs them.

usage: mutants.py --root DIR --run EMULATOR_RUN [--family NAME] [--every N] -- COMPILER FLAGS...

A mutant is one place of a family's kernel, or of a device header that it includes, changed as
MUTATIONS of mutations.py says. It is killed where a case fails on some config of a family that has
it, and no mutant at all where the compiler makes the very same code of it in all of them (the place
is not in those kernels, or cannot be reached). Exits nonzero where a mutant survives that ALLOWED does not list,
where a listed one dies or is gone, and where a mutant does not compile.
"""
import argparse
import collections
import concurrent.futures
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import threading

from mutations import ALLOWED, FAMILIES, FURTHER_KERNELS, MUTATIONS, MUTATIONS_OF

Mutant = collections.namedtuple("Mutant", "families file line mutation text source")


def texts_of(root, family):
    """Include path -> text of the family and of every header that its kernel includes, the functors of its configs too."""
    texts, wanted = {}, [f"kernel_templates/{family}/kernel.cuh"]
    functors = {functor for params in FAMILIES[family] for functor in params.partition(" EPILOGUE=")[2].split("+") if functor}
    wanted += [f"kernel_templates/device/epilogue/{functor}.cuh" for functor in functors]
    while wanted:
        path = wanted.pop()
        if path not in texts:
            texts[path] = (root / path).read_text()
            wanted += re.findall(r'^#include "([^"]+)"', texts[path], re.M)
    return texts


def mutations_without_a_place(root):
    """Of all files, whatever families run: a text that has changed must not leave one behind without a word."""
    texts = [path.read_text() for path in sorted((root / "kernel_templates").rglob("*.cuh"))]
    of_all = [f"any text, {name}" for name, pattern, _ in MUTATIONS if not any(re.search(pattern, text) for text in texts)]
    return of_all + [f"{path}, {name}" for path, mutations in MUTATIONS_OF.items() for name, pattern, _ in mutations
                     if not re.search(pattern, (root / path).read_text(), re.M)]


def mutants_of(root, families):
    """A header's mutants once, for all families that include it."""
    texts, readers = {}, collections.defaultdict(list)
    for family in families:
        for path, text in texts_of(root, family).items():
            texts[path] = text
            readers[path].append(family)
    for path, text in sorted(texts.items()):
        for mutation, pattern, substitute in MUTATIONS + MUTATIONS_OF.get(path, []):
            for match in re.finditer(pattern, text):
                line_start = text.rfind("\n", 0, match.start()) + 1
                line = text[line_start:].split("\n", 1)[0]
                if "//" in text[line_start:match.start()]:
                    continue
                changed = text[:match.start()] + match.expand(substitute) + text[match.end():]
                number = text.count("\n", 0, match.start()) + 1
                yield Mutant(readers[path], path, number, mutation, line.strip(), changed)


def configs_of(families):
    return [(family, params) for family in families for params in FAMILIES[family]]


class Once:
    """A function of any threads that is called once for each list of arguments."""

    def __init__(self, function):
        self.function, self.lock, self.results = function, threading.Lock(), {}

    def __call__(self, *arguments):
        with self.lock:
            is_first = arguments not in self.results
            result = self.results.setdefault(arguments, concurrent.futures.Future())
        if is_first:
            try:
                result.set_result(self.function(*arguments))
            except BaseException as error:
                result.set_exception(error)
        return result.result()


class Workshop:
    """Compiles and runs kernels, each in a folder of its own."""

    def __init__(self, root, run, compiler):
        self.root, self.run_program, self.compiler = root, run, compiler
        # Where TUNED_X is defined, a text has the kernel x beside the product.
        texts = [path.read_text() for path in sorted((root / "kernel_templates").rglob("*.cuh"))]
        self.further_kernels = sorted({kernel for text in texts for kernel in re.findall(r"^#ifdef TUNED_([A-Z_]+)$", text, re.M)})
        self.original_code, self.require_sound = Once(self.original_code), Once(self.require_sound)

    def prepare(self, folder, mutant=None):
        shutil.copytree(self.root / "core", folder / "core")
        shutil.copytree(self.root / "kernel_templates", folder / "kernel_templates")
        shutil.copytree(self.root / "tests/emulator", folder / "tests/emulator")
        if mutant:
            (folder / mutant.file).write_text(mutant.source)

    def compile(self, folder, family, params, flags, output):
        """The compiler's complaints, or None. Paths are relative, so that code can be compared."""
        values, *epilogue = params.split(" ")
        name = epilogue[0].removeprefix("EPILOGUE=") if epilogue else "none"
        functors = name.split("+") if epilogue else []
        fields = ",".join("." + param for param in values.split(","))
        kernels = [kernel for kernel in self.further_kernels if f"{kernel}=1" in values.split(",")]
        pattern, further_kernels = FURTHER_KERNELS.get(family, ("$^", ()))
        if re.search(pattern, params):
            kernels += [kernel.upper() for kernel in further_kernels]
        entries = "".join(f"GT_ENTRY({kernel.lower()})" for kernel in kernels)
        further = [f"-DTUNED_{kernel}" for kernel in kernels] + [f"-DGT_FAMILY={family}", f"-DGT_ENTRIES={entries}"]
        further.append(f'-DGT_EPILOGUE_TEXT="{name}"')
        if functors:
            structs = ",".join("".join(word.capitalize() for word in functor.split("_")) for functor in functors)
            further.append(f"-DTUNED_EPILOGUE={structs}")
        further += [f'-DTUNED_EPILOGUE_{i}="kernel_templates/device/epilogue/{functor}.cuh"'
                    for i, functor in enumerate(functors, 1)]
        command = flags + ["-w", "-I.", f'-DGT_KERNEL_TEXT="kernel_templates/{family}/kernel.cuh"',
                           f"-DTUNED_PARAMS={{{fields}}}", "-DTUNED_FORM={.IN_PLACE=0}", *further,
                           "tests/emulator/kernels/kernel_object.cpp", "-o", output]
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True)
        return done.stderr if done.returncode else None

    def code(self, folder, family, params):
        """The kernel as assembly, without sanitizers: they would record columns of the text."""
        flags = [flag for flag in self.compiler
                 if not re.match(r"-f(no-)?sanitize|-g|-shared", flag)] + ["-O2", "-S"]
        complaint = self.compile(folder, family, params, flags, "kernel.s")
        return complaint, None if complaint else (folder / "kernel.s").read_text()

    def failure(self, folder, family, params):
        """What the emulator's cases say of the kernel, in a line; None if they all pass."""
        complaint = self.compile(folder, family, params, self.compiler, "kernel.so")
        if complaint:
            raise RuntimeError(complaint)
        environment = dict(os.environ, ASAN_OPTIONS="detect_leaks=0:symbolize=0")
        # Processor seconds: a loaded machine takes none of them.
        done = subprocess.run(["prlimit", "--cpu=120:180", self.run_program, folder / "kernel.so",
                               f"{family}/{params.split(' ')[0]}"],
                              capture_output=True, text=True, env=environment)
        if done.returncode == 0:
            return None
        if done.returncode == -signal.SIGXCPU:
            return "does not end"
        told = re.search(r"(AddressSanitizer: \S+|runtime error: .*)", done.stderr)
        return told.group(1) if told else done.stdout.strip() or f"exit {done.returncode}"

    def judge(self, mutant):
        """(verdict, evidence): killed, survived, same code or invalid."""
        verdict = ("same code", "not part of the kernel in any config of FAMILIES")
        with tempfile.TemporaryDirectory(prefix="gt_mutant_") as name:
            folder = pathlib.Path(name)
            self.prepare(folder, mutant)
            for family, params in configs_of(mutant.families):
                complaint, code = self.code(folder, family, params)
                if complaint:
                    return "invalid", complaint.strip().split("\n")[0]
                if code == self.original_code(family, params):
                    continue
                failure = self.failure(folder, family, params)
                if failure:
                    self.require_sound(family, params)
                    return "killed", failure
                verdict = ("survived", f"{family}/{params}")
        return verdict

    def of_the_original(self, act, family, params):
        with tempfile.TemporaryDirectory(prefix="gt_mutant_") as name:
            self.prepare(pathlib.Path(name))
            return act(pathlib.Path(name), family, params)

    def original_code(self, family, params):
        complaint, code = self.of_the_original(self.code, family, params)
        if complaint:
            sys.exit(f"{family}/{params} does not compile before it is changed: {complaint}")
        return code

    def require_sound(self, family, params):
        """A mutant is killed only where the unchanged kernel passes every case."""
        failure = self.of_the_original(self.failure, family, params)
        if failure:
            sys.exit(f"{family}/{params} fails before it is changed: {failure}")


def parse_arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--root", type=lambda path: pathlib.Path(path).resolve(), required=True)
    parser.add_argument("--run", required=True, help="the program emulator_run")
    parser.add_argument("--family", choices=sorted(FAMILIES), help="only this one")
    parser.add_argument("--file", metavar="TEXT", help="only in this text, as in device/copy/repack.cuh")
    parser.add_argument("--every", type=int, default=1, metavar="N",
                        help="only every N-th mutant, for a quick look")
    parser.add_argument("compiler", nargs="+")
    return parser.parse_args()


def main():
    arguments = parse_arguments()
    present = {path.parent.name for path in (arguments.root / "kernel_templates").glob("*/family.cpp")}
    if present != set(FAMILIES):
        sys.exit(f"FAMILIES and kernel_templates/ differ in: {sorted(present ^ set(FAMILIES))}")
    if placeless := mutations_without_a_place(arguments.root):
        sys.exit("mutations without a place: " + "; ".join(placeless))
    families = [arguments.family] if arguments.family else list(FAMILIES)
    workshop = Workshop(arguments.root, arguments.run, arguments.compiler)
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        mutants = [mutant for mutant in mutants_of(arguments.root, families)
                   if not arguments.file or mutant.file.endswith("/" + arguments.file)][::arguments.every]
        verdicts = list(pool.map(workshop.judge, mutants))

    counts, wrong, listed = collections.Counter(), [], set()
    for mutant, (verdict, evidence) in zip(mutants, verdicts):
        key = (mutant.file, mutant.mutation, mutant.text)
        if key in ALLOWED and verdict == "survived":
            verdict, evidence = "survived as listed", ALLOWED[key]
            listed.add(key)
        where = f"{mutant.file.removeprefix('kernel_templates/')}:{mutant.line}"
        print(f"{where:26} {mutant.mutation:29} {verdict:10} {evidence[:110]}")
        counts[verdict] += 1
        if verdict in ("survived", "invalid"):
            wrong.append(f"{verdict}: {where}, {mutant.mutation}: {mutant.text}")
    if families == list(FAMILIES) and arguments.every == 1 and not arguments.file:
        wrong += [f"listed as a survivor, but is none: {key}" for key in ALLOWED
                  if key not in listed]
    print(f"{len(mutants)} places: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong or counts["killed"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
