#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Holds README.md against what is there.

usage: readme.py commands PROGRAM CLIENT
                                    every `./run gemm-tune ...` and `gemm-tune ...` of the README and of
                                    docs/five_minutes.md does what EXPECTED says; CLIENT multiplies by cuBLAS for its train.py
       readme.py options PROGRAM... every option that README.md, those of examples/, bench/, packaging/ and research/, and docs/
                                    name is one of a PROGRAM, or of one of FOREIGN_OPTIONS
       readme.py links              what README.md, CONTRIBUTING.md, CHANGELOG.md, SECURITY.md, the README.md of examples/,
                                    bench/, packaging/ and research/, and the pages of docs/ link to, or name as `folder/file`, exists
       readme.py snippets           the C++ of the README stands in the programs that it names
       readme.py variables          SECURITY.md names each environment variable that the sources read
       readme.py picture            docs/results.svg is of the tables in docs/results.md
       readme.py points PROGRAM     docs/search.md has the numbers of raw and of valid points that PROGRAM counts at 1024 on an H100
       readme.py figures            the means of the README's table stand in docs/results.md, and it counts the lines of
                                    examples/family/my_tiles as docs/family.md does

commands runs PROGRAM in place of ./run, in a folder of its own with a database of its own, in the
README's order: later commands use what earlier ones stored. What needs a GPU has to say so. It leaves
`./run tests` out, which is the run that this test is part of. A command that EXPECTED lacks, or has
and the README lacks, fails.
"""
import json
import os
import pathlib
import re
import shlex
import shutil
import subprocess
import sys
import tempfile

from man_and_completion import of_help

ROOT = pathlib.Path(__file__).resolve().parents[2]
README = (ROOT / "README.md").read_text()
FIVE_MINUTES = (ROOT / "docs/five_minutes.md").read_text()
READMES = [ROOT / folder / "README.md" for folder in (".", "examples", "bench", "packaging", "research")]

# A command of the README or of docs/five_minutes.md, without its comment -> patterns that its output has to show, runs of
# spaces counting as one. {scratch} is the folder that it runs in.
EXPECTED = {
    "./run gemm-tune --arch sm_86 --sizes 1024,4096": [
        r"1024x1024x1024 on NVIDIA RTX A6000 \(sm_86, 84 SMs\)",
        r"4096x4096x4096 on NVIDIA RTX A6000 \(sm_86, 84 SMs\)",
        r"tried 3 of [\d,]+ candidates, budget 3: .*\d predicted",
        r"rejected [\d.]+ M: .*; .*; .* prior static model",
        r"winner \w+/\w+=\d+.* us, .* TFLOP/s \(predicted, not timed\)",
        r"2 problems on .* predicted, not timed problem family us TFLOP/s",
        r"stored in {scratch}/gemm-tune\.db every reason .* --why .*predicted, not timed: .* run on a machine with an sm_86 GPU:",
    ],
    "./run gemm-tune --arch sm_86 --sizes 256,1000x1000x1000 --budget 4": [
        r"256x256x256 on .* 1000x1000x1000 on ",
        r"tried 4 of [\d,]+ candidates, budget 4: .*tried 4 of [\d,]+ candidates, budget 4: ",
        r"winner .*\(predicted, not timed\).*winner .*PRED=1 .*\(predicted, not timed\)",
    ],
    "./run gemm-tune --arch sm_86 --sizes 256 --budget 32 --target 0.98": [
        r"prior static model ",
        r"tried \d+ of [\d,]+ candidates, budget 32: \d+ predicted",
        r"winner .*\(predicted, not timed\)",
    ],
    "./run gemm-tune --arch sm_86 --sizes 4096 --dry-run": [
        r"4096x4096x4096 on .*[\d,]+ enumerated, .* [\d,]+ left, (\d+ known from earlier runs, )?\d+ would be tried",
        r"nothing was compiled",
    ],
    "./run gemm-tune --arch sm_86 --m-range 1:64 --sizes 512x256": [
        r"1x512x256 .* 48x512x256 .* 64x512x256 ",
        r"1:64x512x256: \d+ configs? for all M, within 5 % of the best of \d+ at each of the 12 M that were tried \(predicted, not timed\)",
        r" M of the best config 1 to \d+ 0\.\d+ \w+/\w+=",
    ],
    "./run gemm-tune best --arch sm_86 --sizes 256,300x200x100": [
        r"256x256x256 exact \w+/\w+=.* the winner for this problem on NVIDIA RTX A6000",
        r"300x200x100 nearest \w+/\w+=.*PRED=1 .* the nearest tuned size, 256x256x256 on ",
    ],
    "./run gemm-tune explain --arch sm_86 --sizes 256 naive/BM=16,BN=16,COALESCED=1,PRED=0": [
        r"naive/BM=16,BN=16,COALESCED=1,PRED=0 at 256x256x256 on NVIDIA RTX A6000",
        r"registers a thread \d+ \d+ compiler spills a thread 0 B 0 B compiler",
        r"model's time .* us \(predicted, not timed\)",
    ],
    "./run gemm-tune ladder --arch sm_86 --sizes 256": [
        r"256x256x256 on .* predicted, not timed",
        r"naive, uncoalesced .* TFLOP/s .* naive/BM=",
        r"vectorised, padded, interleaved .* TFLOP/s .* vectorized_2d/BM=",
    ],
    "./run gemm-tune export --arch sm_86 --format header -o build/gemm_tune_sm_86.h": [
        r"^gemm-tune: build/gemm_tune_sm_86\.h is written$",
    ],
    "./run gemm-tune bench --sizes 256,1000x1000x1000": [
        r"^gemm-tune: bench times kernels on a GPU and cannot: ",
    ],
    "./run gemm-tune report -o build/report.html": [
        r"^gemm-tune: build/report\.html is written$",
    ],
    "./run gemm-tune db info": [
        r"{scratch}/gemm-tune\.db: .* bytes, schema 1, journal mode wal",
        r"NVIDIA RTX A6000 \(sm_86, 84 SMs\) .* 256x256x256 \d+ ok \(predicted, not timed\)",
        r"\d+ exact",
    ],
    "./run gemm-tune db check": [
        r"{scratch}/gemm-tune\.db is sound",
    ],
    "./run gemm-tune db merge all.db mine.db theirs.db": [
        r"all\.db: \d+ rows, \d+ of them new",
    ],
    "gemm-tune speed-up -- python3 train.py": [
        r"^gemm-tune: 1 of 3: python3 train\.py runs as it is",
        r"2 calls of cuBLAS with 2 products to tune",
        r"1 of 2 64x96x64: .* us \(predicted, not timed\) 2 of 2 64x64x64: ",
        r"wall time [\d.]+ m?s [\d.]+ m?s [\d.]+ ",
        r"served 0 of 2 calls of cuBLAS.* nothing was served: the program is as it was$",
    ],
    "gemm-tune capture -o calls.txt -- python3 train.py": [
        r"^cublas cublas$",
    ],
    "gemm-tune --from-capture calls.txt": [
        r"64x96x64 on .* 64x64x64 on .* winner .*\(predicted, not timed\)",
    ],
    "gemm-tune run -- python3 train.py": [
        r"^cublas cublas$",
    ],
    "gemm-tune --from-capture calls.txt --time 15:00": [
        r"64x96x64 on .* 64x64x64 on .* winner .*\(predicted, not timed\)",
    ],
    "gemm-tune --sizes 4096x512x1024 --time 5:00": [
        r"4096x512x1024 on NVIDIA RTX A6000 .* winner .*\(predicted, not timed\)",
    ],
    "gemm-tune best --sizes 4096x512x1024": [
        r"4096x512x1024 exact \w+/",
    ],
}
# At its default budget the first compiles for two minutes on 2 cores. What is under test, that the
# command is accepted, tunes both sizes and stores a winner for each, takes 3 candidates. The second
# one tunes the GPU at hand, which need not be there.
ADDED = {
    "./run gemm-tune --arch sm_86 --sizes 1024,4096": ["--budget", "3"],
    "./run gemm-tune --arch sm_86 --m-range 1:64 --sizes 512x256": ["--budget", "8"],
    "gemm-tune --from-capture calls.txt": ["--arch", "sm_86", "--budget", "2"],
    "gemm-tune speed-up -- python3 train.py": ["--arch", "sm_86", "--budget", "2"],
    "gemm-tune --from-capture calls.txt --time 15:00": ["--arch", "sm_86", "--budget", "2"],
    "gemm-tune --sizes 4096x512x1024 --time 5:00": ["--arch", "sm_86", "--budget", "2"],
}
# Those that tell on standard error: standard output is another program's.
TELL_ON_STDERR = {"gemm-tune speed-up -- python3 train.py",
                  "./run gemm-tune export --arch sm_86 --format header -o build/gemm_tune_sm_86.h",
                  "./run gemm-tune report -o build/report.html"}

# Those that end so without a GPU, and say why on standard error.
EXIT_CODES = {"./run gemm-tune bench --sizes 256,1000x1000x1000": 3}

DATED_PAGES = ("results.md",)  # name the options of their day, and of scripts; so do those of docs/notes/
# Of cmake, pkg-config, NVRTC, mpirun and sbatch; of scripts of bench/.
FOREIGN_OPTIONS = {"--array", "--bind-to", "--build", "--cflags", "--component", "--ftz", "--gpus-per-task",
                   "--install", "--libs", "--map-by", "--npernode",
                   "--prefix", "--prepare", "--preset", "--refine-ms", "--require", "--sample", "--target",
                   "--use_fast_math", "--with-ft"}


def code_blocks(text):
    """Pairs of a block's language ('' for an indented one) and its lines."""
    language, fenced, indented = None, [], []
    for line in text.splitlines():
        if line.startswith("```"):
            if language is None:
                language, fenced = line[3:].strip(), []
            else:
                yield language, fenced
                language = None
        elif language is not None:
            fenced.append(line)
        elif line.startswith("    "):
            indented.append(line.strip())
        elif indented:
            yield "", indented
            indented = []
    if indented:
        yield "", indented


def commands():
    """The pages' commands in order, each once."""
    found = {}
    for language, lines in [*code_blocks(README), *code_blocks(FIVE_MINUTES)]:
        for line in lines:
            if language in ("", "sh") and line.startswith(("./run gemm-tune", "gemm-tune ")):
                found[line.split("  #")[0].rstrip()] = None
    return list(found)


def check_commands(program, client):
    found = commands()
    if set(found) != set(EXPECTED):
        sys.exit("The commands of the README and docs/five_minutes.md and EXPECTED differ by: "
                 + "; ".join(sorted(set(found) ^ set(EXPECTED))))
    with tempfile.TemporaryDirectory() as folder:
        scratch = pathlib.Path(folder).resolve()
        scratch_pattern = re.escape(str(scratch))
        (scratch / "build").mkdir()  # as ./run makes it
        (scratch / "train.py").write_text(f"import subprocess\nsubprocess.run([{client!r}, '64', '96'])\n")
        # No GPU, whatever the machine has: what the README shows has to hold everywhere.
        environment = dict(os.environ, GEMM_TUNE_DB=str(scratch / "gemm-tune.db"),
                           XDG_CACHE_HOME=str(scratch / "cache"),
                           CUDA_VISIBLE_DEVICES="")
        for command in found:
            print(command, flush=True)
            if "mine.db theirs.db" in command:
                for name in ("mine.db", "theirs.db"):
                    shutil.copyfile(scratch / "gemm-tune.db", scratch / name)
            arguments, dashes, application = command.removeprefix("./run ").partition(" -- ")
            arguments = shlex.split(arguments)[1:] + ADDED.get(command, [])
            arguments += ["--", *shlex.split(application)] if dashes else []
            run = subprocess.run([program, *arguments], cwd=scratch, env=environment,
                                 stdin=subprocess.DEVNULL, capture_output=True, text=True)
            expected_code = EXIT_CODES.get(command, 0)
            if run.returncode != expected_code:
                sys.exit(f"exit code {run.returncode}\n{run.stdout}{run.stderr}")
            is_on_stderr = expected_code or command in TELL_ON_STDERR
            output = " ".join((run.stderr if is_on_stderr else run.stdout).split())
            for pattern in EXPECTED[command]:
                pattern = pattern.replace("{scratch}", scratch_pattern)
                if not re.search(pattern, output):
                    sys.exit(f"does not print '{pattern}' but\n{run.stdout}{run.stderr}")
        header = (scratch / "build/gemm_tune_sm_86.h").read_text()
        for text in ("namespace gemm_tune_sm_86 {", "{1024, 1024, 1024, ", "{1000, 1000, 1000, "):
            if text not in header:
                sys.exit(f"the exported header has no '{text}'")


def links(text):
    return re.findall(r"\]\(([^)#\s]+)", text)


def named_paths(text):
    """What stands in backticks and begins with one of the folders: `search/`, `tuner/measure/verify.cpp`."""
    folders = {path.name for path in ROOT.iterdir() if path.is_dir()} - {"build"}
    return [name for name in re.findall(r"`([\w.-]+/[\w./-]*)`", text) if name.split("/")[0] in folders]


def check_links():
    pages = [*READMES, ROOT / "CONTRIBUTING.md", ROOT / "CHANGELOG.md", ROOT / "SECURITY.md", *sorted((ROOT / "docs").rglob("*.md"))]
    checked, dead = 0, []
    for page in pages:
        text = page.read_text()
        targets = [page.parent / link for link in links(text) if "://" not in link]
        targets += [ROOT / name for name in named_paths(text)]
        checked += len(targets)
        dead += [f"{page.relative_to(ROOT)}: {target} does not exist"
                 for target in targets if not target.exists()]
    if not checked or dead:
        sys.exit("\n".join(dead) or "no relative link was found")
    print(f"{checked} links and paths")


def check_options(*programs):
    known = {option for program in programs for _, option in of_help(program)} | {"--help", "--help-all"} | FOREIGN_OPTIONS
    unknown = []
    for page in (*READMES, *sorted((ROOT / "docs").glob("*.md"))):
        if page.name in DATED_PAGES:
            continue
        named = set(re.findall(r"(?<![\w-])--[a-z][\w-]*", page.read_text()))
        unknown += [f"{page.relative_to(ROOT)}: {option}" for option in sorted(named - known)]
    if unknown:
        sys.exit("these options are none of the program:\n" + "\n".join(unknown))


def squashed(code):
    """Without comments and white space: clang-format may break the program's lines elsewhere."""
    return re.sub(r"\s+", "", re.sub(r"//[^\n]*", "", code))


def check_snippets():
    parts = re.split(r"^```cpp$", README, flags=re.MULTILINE)
    if len(parts) < 3:
        sys.exit("the README has fewer than two C++ snippets")
    for before, after in zip(parts, parts[1:]):
        programs = [link for link in links(before) if link.startswith("examples/")]
        if not programs:
            sys.exit("a C++ snippet of the README has no program of examples linked before it")
        program = squashed((ROOT / programs[-1]).read_text())
        lines = [line for line in after.split("```")[0].splitlines() if squashed(line)]
        for line in lines:
            if squashed(line) not in program:
                sys.exit(f"{programs[-1]} does not hold the README's line\n{line}")
        print(f"{programs[-1]}: {len(lines)} lines")


def check_variables():
    read = set()
    for folder in ("cli", "core", "db", "dispatch", "gpu", "runtime", "tuner"):
        for path in (ROOT / folder).rglob("*.cpp"):
            text = path.read_text()
            read |= set(re.findall(r'\b(?:secure_getenv|getenv|get|variable)\(\s*"([A-Z_]+)"\)', text))
            for names in re.findall(r'variable : \{((?:"[A-Z_]+",? ?)+)\}', text):
                read |= set(re.findall(r"[A-Z_]+", names))
    named = set(re.findall(r"`([A-Z_]+)`", (ROOT / "SECURITY.md").read_text()))
    if not read or read - named:
        sys.exit("SECURITY.md does not say whether these are trusted: " + ", ".join(sorted(read - named)))
    print(f"{len(read)} environment variables")


def check_picture():
    drawn = subprocess.run([sys.executable, ROOT / "bench/results/draw_results.py", ROOT / "docs/results.md"], check=True,
                           capture_output=True, text=True).stdout
    if drawn != (ROOT / "docs/results.svg").read_text():
        sys.exit("docs/results.svg is not of the tables: bench/results/draw_results.py docs/results.md > docs/results.svg draws it anew")


def check_figures():
    lines = (ROOT / "docs/results.md").read_text().splitlines()
    results = "\n".join(line for line in lines if not line.startswith("|") or line.startswith("| geometric mean"))
    means = re.findall(r"\| (\d\.\d{3}) (?=\|)", README)
    missing = [mean for mean in means if not re.search(rf"(?<!\d)0?{re.escape(mean.lstrip('0'))}(?!\d)", results)]
    if not means or missing:
        sys.exit("docs/results.md does not have these means of the README: " + ", ".join(missing))
    example = "".join(path.read_text() for path in (ROOT / "examples/family/my_tiles").iterdir())
    lines = sum(1 for line in example.splitlines() if line.strip())
    for page in (README, (ROOT / "docs/family.md").read_text()):
        if f" {lines} lines." not in page:
            sys.exit(f"examples/family/my_tiles has {lines} lines: so should say the README and docs/family.md")
    print(f"{len(means)} means")


def check_points(program):
    with tempfile.TemporaryDirectory() as folder:
        environment = dict(os.environ, GEMM_TUNE_DB=folder + "/gemm-tune.db", CUDA_VISIBLE_DEVICES="")
        run = subprocess.run([program, "--gpu", "H100 80GB HBM3", "--sizes", "1024", "--dry-run", "--json"], check=True,
                             env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True)
    counted = json.loads(run.stdout)["problems"][0]
    text = f"{counted['left']:,} of {counted['enumerated']:,} raw points at 1024 on an H100"
    if text not in " ".join((ROOT / "docs/search.md").read_text().split()):
        sys.exit(f"docs/search.md should say: {text}")
    print(text)


if __name__ == "__main__":
    if len(sys.argv) == 4 and sys.argv[1] == "commands":
        check_commands(*sys.argv[2:])
    elif len(sys.argv) > 2 and sys.argv[1] == "options":
        check_options(*sys.argv[2:])
    elif len(sys.argv) == 3 and sys.argv[1] == "points":
        check_points(sys.argv[2])
    elif sys.argv[1:] == ["links"]:
        check_links()
    elif sys.argv[1:] == ["figures"]:
        check_figures()
    elif sys.argv[1:] == ["snippets"]:
        check_snippets()
    elif sys.argv[1:] == ["variables"]:
        check_variables()
    elif sys.argv[1:] == ["picture"]:
        check_picture()
    else:
        sys.exit(__doc__)
