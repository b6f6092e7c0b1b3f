#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Shows that the emulator's tests would notice: breaks each kernel in small ways and runs them.

usage: mutants.py --root DIR --run EMULATOR_RUN [--family NAME] [--every N] -- COMPILER FLAGS...

A mutant is one place of a family's kernel, or of a device header that it includes, changed as
MUTATIONS says. It is killed where a case fails on some config of a family that has it, and no mutant
at all where the compiler makes the very same code of it in all of them (the place is not in those
kernels, or cannot be reached). Exits nonzero where a mutant survives that ALLOWED does not list,
where a listed one dies or is gone, and where a mutant does not compile.

To extend: a family gets a line in FAMILIES, of few and small configs, the fastest first, that
together reach every place of its text; what is new in it gets a line in MUTATIONS, or in
MUTATIONS_OF where other families' texts look alike.
"""
import argparse
import collections
import concurrent.futures
import itertools
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import threading

CALL = r"\((?:[^()]|\([^()]*\))*\)"  # arguments, with one level of parentheses inside
# What is changed where: a name, a pattern, what takes its place.
MUTATIONS = [
    ("barrier removed", r"__syncthreads\(\);", ";"),
    ("barrier with vote removed", r"__syncthreads_or\(", "("),
    ("warp barrier removed", r"__syncwarp\(\);", ";"),
    ("shuffle left out", r"__shfl_xor_sync\([^,]*, ([^,]*), [^,()]*\)", r"(\1)"),
    ("wait for copies removed", r"wait_copies<[^>]*>\(\);", ";"),
    ("wait for copies weakened", r"wait_copies<([^>]*)>\(\)", r"wait_copies<(\1) + 1>()"),
    ("copies not committed", r"commit_copies\(\);", ";"),
    ("edge not repeated", r"edge = edge_left - [^;]*;", ";"),
    ("past the edge by one", r"edge_left - (\(.*\));", r"edge_left - \1 + 1;"),
    ("edge predicate always true", r"(?<!bool )\bin_bounds" + CALL, "true"),
    ("edge fill is not zero", r": 0\.0f", ': __builtin_nanf("")'),
    ("sum does not start at zero", r" = \{(\{0\.0f\})?\};", ";"),
    ("beta = 0 is not special", r"args\.beta == 0\.0f", "false"),
    ("alpha = 0 is not special", r"args\.alpha == 0\.0f", "false"),
    ("surplus threads load too", r"index >= kVecs", "false"),
    ("offsets in 32 bits", r"\blong long ld\b", "int ld"),
    ("another operand's ld", r"\bargs\.ld([ab])\b(?! =)", r"(args.ld\1 ^ args.lda ^ args.ldb)"),
    ("another operand's ld", r"\bargs\.ldc\b", "args.ldb"),
    ("C read where D is", r"\bc = args\.C\b", "c = args.D"),
    ("D written where C is", r"\bargs\.D(?= \+ row)", "const_cast<float*>(args.C)"),
    ("another operand's stride", r"\bargs\.stride_a\b", "args.stride_b"),
    ("another operand's stride", r"\bargs\.stride_b\b", "args.stride_c"),
    ("another operand's stride", r"\bargs\.stride_c\b", "args.stride_a"),
    ("row in shared memory too long", r"\b([ab]_ld)\(kP\)", r"(\1(kP) + 1)"),
    ("cluster: not arrived", r"cluster_arrive(_stored)?\(\);", ";"),
    ("cluster: not waited", r"cluster_wait\(\);", ";"),
    ("cluster: barrier removed", r"cluster_arrive_stored\(\);\s*cluster_wait\(\);", ";"),
    ("cluster: last barrier removed", r"cluster_arrive\(\);([^#]*#pragma[^#]*)cluster_wait\(\);",
     r";\1;"),
    ("cluster: one's own sums only", r"\(share \+ turn\) % SHARES", "share"),
    ("cluster: part of another one", r"\bshare \* kPart", "(SHARES - 1 - share) * kPart + 1"),
    ("cluster: past its part", r"< kPart\b", "< 2 * kPart"),
    ("cluster: past the last unit", r"unit_of\(share, pass\) < kUnits", "true"),
    ("counter left as it is", r"\*counter = 0;", ";"),
    ("shares from one's own on", r"slot_of\(first \+ i\)",
     "slot_of(first + (share + i) % in_group)"),
    ("groups from one's own on", r"slot_of\(i \* group\)",
     "slot_of((share / group + i) % groups * group)"),
    ("one group short of a last share", r"first \+ group <= shares", "true"),
]

# Adds a bias, that of column 0, to a share's first sum.
BIAS_OF_A_SHARE = r"""
  [&](const auto& args) {
    if constexpr (kHasEpilogue) %s = %s + %s;
  }(args);
  \g<0>"""

# The same for single texts, by file.
MUTATIONS_OF = {
    "kernel_templates/mma/kernel.cuh": [
        ("slice past the last one", r"k_left_ > 0", "true"),
        ("K not counted down", r"k_left_ -= kP\.BK;", ";"),
        ("stage not left", r"(read|write)_ = next\(\1_\);", ";"),
        ("stage past the last one", r"stage \+ 1 == kP\.STAGES", "stage == kP.STAGES"),
        ("a copy less under way", r"stage < kP\.STAGES - 1", "stage < kP.STAGES - 2"),
        ("copy into the stage that is read", r"\+ write_ \*", "+ read_ *"),
        ("another stage read", r", read_ \* stage_([ab])", r", write_ * stage_\1"),
        ("the same k step again", r"STEP \+ 1\);", "STEP);"),
        ("the same blocks multiplied again", r"multiply\(of\[STEP % 2\]\)", "multiply(of[0])"),
        ("blocks of the step before", r"of\[0\] = of\[1\];", ";"),
        ("blocks loaded ahead of the barrier", r"synchronise\(\);(\s*)load\(of\[kSteps % 2\], 0\);",
         r"load(of[kSteps % 2], 0);\1synchronise();"),
        ("the same block again", r"\b[ij], step\)", "0, step)"),
        ("another warp's block", r"_places_\(place\.(row|col)\)", "_places_(0)"),
        ("chunks copied whole that an edge cuts", r"is_whole && ", ""),
        ("another lane's half of a quad", r"\(lane & bit\) != 0", "false"),
        ("sums given twice", r"upper \? taken : x\[part\]\[i\]", "x[part][i]"),
        ("a quad's sums not kept", r"upper \? x\[part \+ bit\]\[i\] : taken", "taken"),
        ("the first part again", r"\[j \+ part\]", "[j]"),
        ("pair of the first part", r"part = index / 4", "part = 0"),
        ("pair of the upper rows", r"index / 2 % 2", "0"),
        ("pair of the first row of parts", r"part / \(2 \* kBlocksN\)", "0"),
        ("another block's product", r"b\[j / 2\]", "b[0]"),
        ("another half's product", r"b\[j / 2\], j % 2", "b[j / 2], 0"),
        ("a share from the first k on", r"\+ k\.begin(?= \*|\n)", "+ 0"),
        ("edge of the matrix as of the tile", r"args\.M - origin\.row|args\.N - origin\.col", "1 << 20"),
        ("lane's row", r"lane / 4", "lane % 8"),
        ("lane's column", r"lane % 4 \* 2", "lane % 4"),
        ("lower half stored above", r"half \* 8", "0"),
        ("upper sums stored below", r"half \* 2\]", "0]"),
        ("upper sums stored below", r"half \* 2 \+ 1\]", "1]"),
        ("part's column", r"j \* 8", "j * 4"),
        ("counters of another tile", r"number \* \(kP\.SPLIT_K \+ 1\)", "number"),
        ("tile of the batch's first", r"gridDim\.x \* blockIdx\.z\) \+ tile", "gridDim.x * 0) + tile"),
        ("the batch's first operand", r"blockIdx\.z \* stride", "0 * stride"),
        ("bias of each share", r"if \(!Shares::add\(",
         BIAS_OF_A_SHARE % ("sums.x[0][0][0]", "sums.x[0][0][0]",
                            "static_cast<const Element<kP.CD>*>(args.operands[0])[0].value()")),
    ],
    "kernel_templates/warp_tiled/store_gathered.cuh": [
        ("gathered: rows of another warp", r"buffer \+ thread / 32 \*", "buffer + 0 *"),
        ("gathered: rows of another lane", r"i \* lanes_m\(P\) \+ place\.lane_m", "i * lanes_m(P)"),
        ("gathered: another row", r"i \* lanes_m\(P\) \+ pass", "pass"),
        ("gathered: the first pass again", r"pass \* kAtOnce", "0"),
        ("gathered: the first columns again", r"j \* kLanes", "0"),
        ("gathered: the first rows again", r"sums\.x\[begin \+ i\]", "sums.x[i]"),
        ("gathered: rows of the first ones", r"first \+ begin \+ i", "first + i"),
    ],
    "kernel_templates/warp_tiled/config.cuh": [
        ("A copied as widely as C is stored", r"kVecA = kWidths\.a", "kVecA = kWidths.cd"),
        ("B copied as widely as C is stored", r"kVecB = kWidths\.b", "kVecB = kWidths.cd"),
        ("C stored as widely as A is copied", r"kVecD = kWidths\.cd", "kVecD = kWidths.a"),
    ],
    "kernel_templates/warp_tiled/segment.cuh": [
        ("stage not left", r"write_ = read_;|write_ \+= kStage;", ";"),
        ("stage past the last one", r"\(kP\.STAGES - 1\) \* kStage", "kP.STAGES * kStage"),
        ("another stage read", r"(\+ [ab]_read_), read_", r"\1, write_"),
        ("copy into the stage that is read", r"(begin|finish)\(stage_([ab])\(write_\)", r"\1(stage_\2(read_)"),
    ],
    "kernel_templates/warp_tiled/reduce.cuh": [
        ("reduce: the first tiles", r"tile \+= \(\(args[^;]*;", ";"),
        ("reduce: shares of the first tile", r"args\.partials, cut \* shares, shares", "args.partials, 0, shares"),
        ("reduce: tile of the batch's first", r"gridDim\.y \* blockIdx\.z \+", ""),
        ("reduce: a share left out", r"cut \* shares, shares", "cut * shares, shares - 1"),
        ("reduce: a share too many", r"args\.piece_k \+ 1", "args.piece_k + 2"),
        ("reduce: the first part again", r"first_of\(unit\) \+ i", "first_of(unit)"),
        ("reduce: the first part's sums again", r"sums\.x\[i \+ j\]", "sums.x[j]"),
    ],
    "kernel_templates/warp_tiled/kernel.cuh": [
        ("shares in one slot", r"piece\.cut \* piece\.shares \+ piece\.share\)", "piece.cut * piece.shares)"),
        ("bias of each share, reduced", r"if \(piece\.shares > 1\) \{",
         BIAS_OF_A_SHARE % ("own.x[0][0]", "own.x[0][0]", "static_cast<const float*>(args.operands[0])[0]")),
        ("bias of each share", r"if \(piece\.shares > 1 &&",
         BIAS_OF_A_SHARE % ("own.x[0][0]", "own.x[0][0]", "static_cast<const float*>(args.operands[0])[0]")),
    ],
    "kernel_templates/skinny/kernel.cuh": [
        ("group not fetched that is kept", r"stream\.fetch<KEPT>\(u\);", "if (!KEPT) stream.fetch<KEPT>(u);"),
        ("first group not fetched that is kept", r"stream\.fetch<true>\(u\);", ";"),
        ("first slice neither first nor later", r"load_slice\([^;]*;\s*end_step\(\);", ";"),
    ],
    "kernel_templates/device/copy/narrow_copy.cuh": [
        ("surplus columns copied", r"inside && is_column_\[[^;]*;", "inside;"),
        ("column of another place", r"is_column_\[place_of\(PASS\)\]", "is_column_[0]"),
        ("place of another pass", r"place\.edge \+ i \* kEdgeStep", "place.edge"),
        ("k past the first slice", r"in_bounds\(k_ \+ kBy\.k, k_count\)", "in_bounds(k_, k_count)"),
        ("the first slice again", r"at_ \+= k_count;|src_\[0\] \+= k_count \* ld_;", ";"),
        ("a whole first slice", r"advance\(k_count\);", "advance(BK);"),
        ("row of another pass", r"src_\[0\] \+ offset\(i \* kEdges\)\.k", "src_[0] + offset(i).k"),
        ("neighbour of another pass", r"row\[kRow\] \+ kFrom", "row[kRow]"),
        ("slice past the last one", r"else if \(is_wanted\)", "else if (true)"),
        ("first slice not cleared", r"share_\[pass\] = 0\.0f;", 'share_[pass] = __builtin_nanf("");'),
    ],
    "kernel_templates/device/copy/slice_copy.cuh": [
        ("the first slice again", r"at_ \+= k_count;|src_\[i\] \+= k_count \* ld_;", ";"),
        ("a whole first slice", r"advance\(k_count\);", "advance(BK);"),
    ],
    "kernel_templates/device/tile/line_store.cuh": [
        ("C read where D is", r"(?<!\*) c = args\.C ", " c = args.D "),
        ("alpha left out", r"args\.alpha \* sum", "sum"),
        ("beta left out", r"args\.beta \* c", "c"),
        ("rows past the edge", r"in_bounds\(row \+ m \* row_step, args\.M\)", "true"),
        ("columns past the edge", r"in_bounds\(col \+ j \* col_step, args\.N\)", "true"),
        ("the first row again", r"\bd\[m \* step", "d[0 * step"),
        ("the first column again", r"\bd\[m \* step \+ j \* col_step\]", "d[m * step]"),
        ("C of the first row", r"\bc\[m \* step", "c[0 * step"),
        ("epilogue of another column", r"col \+ j \* col_step\);", "col + j);"),
        ("epilogue of the first columns", r"col \+ j \* col_step\);", "j * col_step);"),
    ],
    "kernel_templates/device/epilogue/bias_column.cuh": [
        ("bias left out", r"value \+ bias", "value"),
    ],
    "kernel_templates/device/epilogue/relu.cuh": [
        ("ReLU left out", r"value < T\(0\)", "false"),
    ],
    "kernel_templates/device/call/epilogue_chain.cuh": [
        ("operand of a neighbour", r": at\.col \+ i;", ": at.col;"),
        ("operand of the first columns", r": at\.col \+ i;", ": i;"),
    ],
    "kernel_templates/device/copy/repack.cuh": [
        ("the other matrix", r"is_of_a \? args\.a : args\.b", "args.a"),
        ("chunks of both", r": chunk - chunks_a", ": chunk"),
        ("the next matrix's first chunk", r"chunk < chunks_a", "chunk <= chunks_a"),
        ("chunks past the last", r"own >= repack_chunks\([^;]*\)\) return;", "false) return;"),
        ("the same chunk of each block", r"\* kRepackThreads \+", "* 0 +"),
        ("the other element size", r"element_bytes == 2", "element_bytes != 2"),
        ("rows without their distance", r"\+ row \* matrix\.from_ld", "+ row * matrix.to_ld"),
        ("the first row again", r"\+ row \* matrix\.from_ld", ""),
        ("a chunk's row", r"matrix\.to_ld / Chunk", "matrix.from_length / Chunk"),
        ("the first column again", r"from\[first \+ i\]", "from[i]"),
        ("rows past the last", r"row < matrix\.from_rows \?", "true ?"),
        ("elements past a row's end", r"i < inside", "true"),
        ("an element too few", r"i < inside", "i + 1 < inside"),
    ],
    "kernel_templates/device/sum/share_reduce.cuh": [
        ("sums of another thread", r"place\(first, thread_of\(unit\)\)", "place(first, 0)"),
        ("the first sums again", r"unit / THREADS \* kReduceSums", "0"),
        ("a sum left out", r"i < SUMS", "i < SUMS - 1"),
        ("shares past the last", r"shares >= COUNT", "shares > 0"),
        ("the last shares left out", r"if constexpr \(COUNT > 1\)", "if constexpr (COUNT > 2)"),
        ("the first shares again", r"from \+= COUNT \* SUMS \* THREADS;", ";"),
        ("the same share again", r"s \* SUMS \+ i", "i"),
        ("another slot", r"\(slot\) \* SUMS", "(slot) * (SUMS + 1)"),
    ],
    "kernel_templates/device/call/epilogue.cuh": [
        ("epilogue of a neighbour", r"args, row, col \+ i\);", "args, row, col);"),
    ],
    "kernel_templates/device/tile/mma_block.cuh": [
        ("ldmatrix: edge half", r"lane / 8 % 2 \* 8", "lane / 16 * 8"),
        ("ldmatrix: the other half", r"other = lane / 16 \* 8", "other = 0"),
        ("ldmatrix: row of a matrix", r"row \+ lane % 8", "row + lane / 4"),
        ("ldmatrix: transposed or not", r"load_matrices<!ALONG_K>", "load_matrices<ALONG_K>"),
        ("ldmatrix: not exchanged", r"chunk_offset\(([^,]*), \(col \+ i \* kBlock\) / kChunk, kChunks\)",
         r"((\1) * kChunks + (col + i * kBlock) / kChunk) * kChunk"),
        ("ldmatrix: chunks exchanged as the first block's", r"place \^ exchanged \* kBlock",
         "place + exchanged * kBlock"),
        ("ldmatrix: place of the first block", r"exchanged % kPlaces", "0"),
        ("ldmatrix: blocks of one row", r"across \* kRowOfBlocks", "0"),
        ("ldmatrix: blocks past those exchanged", r"along_row / kExchanged \* kExchanged", "0"),
        ("ldmatrix: first block of any number", r"ALONG_K \|\| kBlocks % kExchanged == 0 \|\|[^;]*;", "true;"),
        ("mma: another type", r"mma_k16<TYPE>", "mma_k16<3 - TYPE>"),
        ("mma: first k half again", r"2 \* half \+ 1\]", "2 * half]"),
        ("mma: first k half again", r"a\.x\[2\], a\.x\[3\]", "a.x[0], a.x[1]"),
        ("mma: other half of B", r"b\.x\[2 \* half", "b.x[2 - 2 * half"),
    ],
    "kernel_templates/device/copy/chunk_copy.cuh": [
        ("chunk not exchanged", r"chunk_offset\(row, chunk, kChunks\)",
         "(row * kChunks + chunk) * kChunk"),
        ("surplus threads copy too", r"row >= kRows", "false"),
        ("the same slice again", r"src_ \+= [^;]*;", ";"),
        ("rows of the slice before", r"src_ -= [^;]*;", ";"),
        ("slices along the other direction", r"\(ALONG_K \? 0 : BK\)", "(ALONG_K ? BK : 0)"),
        ("a chunk cut in two", r"edge_left_ % kChunk == 0", "true"),
        ("chunks exchanged as the first row's", r"kIsEven && kRowsOfPass % 8 == 0", "kIsEven"),
        ("edge of the other direction", r"ALONG_K \? row : col", "ALONG_K ? col : row"),
        ("another chunk's elements", r"\+ chunk \* kChunk;", ";"),
        ("edge of the first chunk", r" - col;", ";"),
        ("edges exchanged", r"ALONG_K \? edge_left_ : k_left", "ALONG_K ? k_left : edge_left_"),
        ("edges exchanged", r"ALONG_K \? k_left : edge_left_", "ALONG_K ? edge_left_ : k_left"),
        ("rows past the edge", r"\) return 0;", ") return kChunk;"),
        ("bytes below none", r"left < 0 \? 0 :", ""),
        ("bytes past the edge", r"left < VEC \? left : VEC", "VEC"),
        ("a piece's edge", r"inside - first", "inside"),
        ("pieces in one place", r"to \+ first", "to"),
        ("pieces from one place", r"from \+ first", "from"),
        ("element past the edge", r": 0u", ": 0x7fffu"),
        ("neighbours exchanged", r"i % 2 == 0 \? element", "i % 2 != 0 ? element"),
    ],
    "kernel_templates/device/call/element_store.cuh": [
        ("C read where D is", r"\(args\.C, ", "(args.D, "),
        ("D written where C is", r"\(args\.D, ", "(args.C, "),
        ("the batch's first C", r"blockIdx\.z \* args", "0 * args"),
        ("alpha left out", r"args\.alpha \*", "1 *"),
        ("the second stored twice", r"sums \+ i", "sums + 1"),
        ("epilogue of another column", r"values, args, row, col\);", "values, args, row, 0);"),
    ],
    "kernel_templates/device/call/pointer_batch.cuh": [
        ("the first matrix", r"\[blockIdx\.z\]", "[0]"),
        ("A's alignment passed over", r"divides\(VEC_A \* [^,]*, args\.A\)", "true"),
        ("B's alignment passed over", r"divides\(VEC_B \* [^,]*, args\.B\)", "true"),
        ("D's alignment passed over", r"divides\(VEC_CD \* [^,]*, args\.D\)", "true"),
        ("elements of the first CTA alone", r"cta \* blockDim\.x", "0"),
        ("elements twice", r"i \+= threads\)", "i += blockDim.x)"),
        ("the first k again", r"\[k \* args\.ld", "[0 * args.ld"),
        ("a k left out", r"k < K; \+\+k", "k + 1 < K; ++k"),
    ],
    "kernel_templates/wgmma/kernel.cuh": [
        ("start: not met", r"\bmeet\(kStart, threads\(kP\)\);", ";"),
        ("start: not announced", r"announce\(kStart, threads\(kP\)\);", ";"),
        ("cluster: start not met", r"meet_cluster\(\);(?=  // no CTA)", ";"),
        ("cluster: end not met", r"meet_cluster\(\);(?=  // a peer)", ";"),
        ("cluster: producers do not meet", r"meet_cluster\(\);(?=\n)", ";"),
        ("earlier launches not waited for", r"await_earlier_launch\(\);", ";"),
        ("stores not waited for", r"wait_stores_read\(\);", ";"),
    ],
    "kernel_templates/wgmma/pipeline.cuh": [
        ("barriers not published", r"publish_barriers\(\);", ";"),
        ("one arrival too many", r"kReaders \* kReceivers\)", "kReaders * kReceivers + 1)"),
        ("one producer too many", r"init_barrier\(full \+ i, 1\)", "init_barrier(full + i, 2)"),
        ("parity kept", r"parity \^= 1;", ";"),
        ("parity kept", r"parity \^= to[^;]*;", ";"),
        ("stages not passed over", r"stage = to % kStages;", ";"),
        ("bytes of sums too few", r"exchange_bytes\(kP\)\);", "exchange_bytes(kP) - 16);"),
        ("bytes of sums too many", r"exchange_bytes\(kP\)\);", "exchange_bytes(kP) + 16);"),
    ],
    "kernel_templates/wgmma/producer.cuh": [
        ("full stage loaded", r"wait\(buffers\.empty[^;]*;", ";"),
        ("another parity", r"at\.parity \^ 1", "at.parity"),
        ("too few bytes", r"stage_bytes\(kP\)\);", "stage_bytes(kP) - 16);"),
        ("too many bytes", r"stage_bytes\(kP\)\);", "stage_bytes(kP) + 16);"),
        ("stage not left", r"at\.advance\(\);", ";"),
        ("the same k again", r"k \* kBlockK, ", "0, "),
        ("the batch's first", r"unit\.batch\)", "0)"),
        ("parts in one place", r"\bpart_ \* kRows \* Layout::kRowBytes", "0"),
        ("parts from one place", r"first \+ part_ \* kRows", "first"),
        ("parts from one place", r"k \+ part_ \* kRows", "k"),
        ("blocks in one place", r"col / Layout::kWidth \* Layout::kBlockBytes", "0"),
        ("a part for few", r"load_box_for\(ctas_", "load_box_for(1"),
    ],
    "kernel_templates/wgmma/main_loop.cuh": [
        ("stage not waited for", r"wait\(buffers_\.full[^;]*;", ";"),
        ("another parity", r"at_\.parity\)", "at_.parity ^ 1)"),
        ("no fence", r"begin_multiply\(\);", ";"),
        ("products not committed", r"commit_multiply\(\);", ";"),
        ("products not waited for", r"wait_multiplied<\d>\(\);", ";"),
        ("wait for products weakened", r"wait_multiplied<(\d)>", r"wait_multiplied<\1 + 1>"),
        ("stage handed back early", r"unit\.k_begin\) hand_back\(last_\)", "unit.k_begin) hand_back(at_.stage)"),
        ("first stage handed back twice", r"if \(k > unit\.k_begin\)", "if (true)"),
        ("last stage not handed back", r"if \(unit\.k_begin < unit\.k_end\) hand_back\(last_\);", ";"),
        ("the same k step again", r" \+ step \* (Left|Right)Tile::kStep", ""),
        ("the same rows again", r"row_ \+ i \* kMmaM", "row_"),
        ("another consumer's rows", r"row_ \+ i \* kMmaM", "i * kMmaM"),
        ("sums without a begin", r"adds \| \(step - FIRST\)", "1"),
        ("sums of the last block", r"k - unit\.k_begin\)", "0)"),
        ("another major order", r"!k(Left|Right)AlongK", r"k\1AlongK"),
        ("sums not promoted", r"promote<0>\(sums, fresh\);",
         "issue<0, kSteps>(sums, k - unit.k_begin); wait_multiplied<0>(); hand_back(at_.stage);"),
        ("sums promoted twice", r"issue<FIRST, kEnd>\(fresh, 0\)", "issue<FIRST, kEnd>(fresh, FIRST)"),
        ("a promotion left out", r"if constexpr \(kEnd < kSteps\)", "if constexpr (false)"),
        ("a peer's peer", r"\+\+row;", ";"),
        ("arrival at the CTA's own", r"arrive_at_peer\(buffers_\.empty \+ stage, peer_\)", "arrive(buffers_.empty + stage)"),
    ],
    "kernel_templates/wgmma/descriptor.cuh": [
        ("descriptor: another stride", r"8 \* kRowBytes", "16 * kRowBytes"),
        ("descriptor: another leading distance", r": kBlockBytes", ": 2 * kBlockBytes"),
        ("descriptor: another swizzle", r"\? 1 : ", "? 2 : "),
        ("descriptor: another swizzle", r"\? 2 : 3", "? 3 : 2"),
        ("descriptor: another k step", r"kMmaBytes :", "kMmaBytes / 2 :"),
        ("descriptor: another k step", r"kMmaK \* kRowBytes", "8 * kRowBytes"),
        ("descriptor: the first rows", r"first \* kRowBytes", "0"),
        ("descriptor: the first columns", r"first / kWidth \* kBlockBytes", "0"),
    ],
    "kernel_templates/wgmma/consumer.cuh": [
        ("turn not awaited", r"meet\(kTurn \+ group_, 2 \* kGroup\);", ";"),
        ("turn not handed on", r"announce\(kTurn \+ 1 - group_, 2 \* kGroup\);", ";"),
        ("the other's stages not passed over", r"loop_\.skip\(others\);", ";"),
        ("products not ended", r"loop_\.end\(unit\);", ";"),
        ("cluster: stages not free", r"meet_cluster\(\);", ";"),
        ("sums not brought", r"bring<0>\(\);", ";"),
        ("part stored as a tile", r"unit\.slot != kWholeTile", "false"),
    ],
    "kernel_templates/wgmma/schedule.cuh": [
        ("parts in one slot", r"\* args_\.parts \+ part;", "* args_.parts;"),
        ("tiles in one slot", r"cut \* kClusterCtas \+ place_\.rank", "0"),
        ("the same part again", r"part = number / args_\.cut_tiles", "part = 0"),
        ("parts of one tile", r"cut = number % args_\.cut_tiles", "cut = 0"),
        ("no tile is cut", r"whole_ = units_ - args\.cut_tiles;", "whole_ = units_;"),
    ],
    "kernel_templates/wgmma/pack.cuh": [
        ("pack: not rounded", r"to\[at\] = rounded\(chunks\[i\]\)", "to[at] = chunks[i]"),
        ("pack: lines past the last", r"line >= matrix\.lines", "false"),
        ("pack: lines of the first CTA", r"group \* kLines \+", ""),
        ("pack: the first round again", r"first \+ i \* kSide", "first"),
        ("pack: the first chunks again", r"blockIdx\.y\) \*", "blockIdx.y) * 0 *"),
        ("pack: chunks past a line's end", r"at < args\.chunks", "true"),
        ("pack: elements past K", r"k \+ i < K", "true"),
        ("pack: whole chunks past K", r"k \+ kElements <= K", "true"),
        ("pack: unaligned chunks read at once", r"is_aligned &&", ""),
        ("pack: the first k again", r"line \+ k \* step", "line"),
        ("pack: the same element again", r"from \+= step;", ";"),
        ("pack: the batch's first", r"batch \* matrix\.stride", "0 * matrix.stride"),
        ("pack: over the batch's first", r"1LL \* batch \* matrix\.lines", "0LL"),
        ("pack: the other order", r"pack_lines<([ab])_along_k", r"pack_lines<!\1_along_k"),
        ("pack: the other operand", r"cta < args\.ctas_a", "true"),
    ],
    "kernel_templates/wgmma/reduce.cuh": [
        ("another tile", r"tiles_of\(args\) - args\.cut_tiles \+", ""),
        ("sums of the first tile", r"cta \* args\.parts,", "0,"),
        ("earlier launches not waited for", r"await_earlier_launch\(\);", ";"),
        ("a part left out", r"args\.parts, unit\)", "args.parts - 1, unit)"),
        ("another block", r"block = first / \(kP\.BN / 2\)", "block = 0"),
        ("other columns", r"/ kReduceSums \* 8", "/ kReduceSums * 4"),
        ("rows of the first consumer", r"holder / kGroup \* group_rows\(kP\)", "0"),
        ("the upper rows", r"row_of_sums\(holder, block, half\)", "row_of_sums(holder, block, 0)"),
        ("rows past the edge", r"row >= args\.rows \|\|", ""),
        ("C past the edge", r"&& col \+ i < args\.cols", ""),
    ],
    "kernel_templates/wgmma/elements.cuh": [
        ("columns past the edge", r"col \+ 1 < args\.cols", "true"),
        ("unaligned pairs stored at once", r"return !has_own_alignment_of_d\(kP\) \|\|[^;]*;", "return true;"),
        ("unaligned pairs: the first twice", r"both >> 16", "both"),
        ("alpha left out", r"factor \* sum", "sum"),
        ("sums that are none", r"factor == 0\.0f \? 0\.0f :", ""),
        ("the batch's first", r"batch \* args\.stride_d", "0 * args.stride_d"),
    ],
    "kernel_templates/wgmma/partial_sums.cuh": [
        ("cluster: brought sums not awaited", r"wait\(brought_, 0\);", ";"),
        ("cluster: other columns brought", r"TO \* kColumns / 2 \+", ""),
        ("cluster: own sums added again", r"from == OF\) continue", "false) continue"),
        ("cluster: own sums brought", r"TO == place_\.k\) return", "false) return"),
    ],
    "kernel_templates/wgmma/store.cuh": [
        ("store: earlier one not waited for", r"if \(thread_ == 0\) wait_stores_read\(\);", ";"),
        ("store: not met", r"meet\(barrier_, kGroup\);", ";"),
        ("store: not published", r"publish_to_copies\(\);", ";"),
        ("store: not committed", r"if \(thread_ == 0\) commit_stores\(\);", ";"),
        ("store: not exchanged", r"chunk \^ row % 8|chunk \^ row / 2 % 4", "chunk"),
        ("store: past a row's end", r"end > args_\.N && args_\.N % 8 != 0", "false"),
        ("store: another box", r"buffer_ \+ box \* box_bytes\(kP, kColumns\)", "buffer_"),
        ("store: rows past the edge", r"row >= args_\.rows", "false"),
        ("store: beta = 0 is not special", r"args_\.beta != 0\.0f", "true"),
        ("store: the batch's first", r"unit\.batch \* args_\.stride_d", "0 * args_.stride_d"),
    ],
    "kernel_templates/wgmma_f16x3/consumer.cuh": [
        ("a cross term twice, the other dropped", r"1 - is_second, is_second", "1, 0"),
        ("low parts count as high ones", r"1 / kLowScale", "1"),
        ("sums not promoted", r"(kHighSteps \+ step, )step(\);(?:.|\n)*?)add_up\(sums_, high\)",
         r"\1k | i | step\2if (k + 1 == k_blocks && i + 1 == kPromotions) add_up(sums_, high)"),
        ("products not waited for", r"wgmma::wait_multiplied<0>\(\);", ";"),
        ("stage not handed back", r"(if \(i == 0 && k > 0\) )?hand_back\(previous\);", ";"),
        ("stage handed back early", r"(wgmma::wait_multiplied<1>\(\);\s*)if \(i == 0 && k > 0\) hand_back\(previous\);", r"if (i == 0 && k > 0) hand_back(previous);\n\1"),
        ("exact sums changed", r"return may_be_exact \? sum :", "return"),
    ],
    "kernel_templates/wgmma_f16x3/output.cuh": [
        ("edge tiles are usual ones", r"row_end <= args_\.M &&\s*col_end <= args_\.N", "true"),
        ("beta left out", r"args_\.beta == 0\.0f && has_factors", "has_factors"),
        ("another block", r"known != block", "known != 0"),
        ("odd rows stored in pairs", r"bits % 2 == 0", "true"),
    ],
    "kernel_templates/wgmma_f16x3/fp32_product.cuh": [
        ("another row", r"known != i", "known != 0"),
    ],
    "kernel_templates/wgmma_f16x3/split.cuh": [
        ("another scale", r"-scale_exponent\(largest\)", "1 - scale_exponent(largest)"),
        ("losses not told", r"if \(loses_\)", "if (false)"),
        ("low parts lost", r"\* kLowScale;", "* 1;"),
        ("largest of one warp", r"if \(is_short\) return value", "return value"),
        ("largest of another line", r"warp \* kStrip \+ own", "warp * kStrip"),
        ("largest of all lines", r"largest_of_lanes\(value, kStrip\)", "largest_of_lanes(value, 1)"),
        ("the first chunk again", r"share\.first \+ i \* share\.step", "share.first"),
    ],
    "kernel_templates/wgmma_f16x3/kernel.cuh": [
        ("flag not read", r"__ldcg\(flags\) != 0", "false"),
        ("flag not lowered", r"flags\[0\] = 0;", ";"),
        ("earlier launches not waited for", r"wgmma::await_earlier_launch\(\);", ";"),
    ],
    "kernel_templates/device/copy/chunk_map.cuh": [
        ("chunks of another row", r"pass \* \(threads / chunks\)", "0"),
        ("chunks of another pass", r"pass \* threads \+", ""),
        ("a pass too few", r"threads \+ 1;", "threads;"),
    ],
}

# Predicated and small; for each place that a family reaches, one of its configs does.
FAMILIES = {
    "naive": ["BM=8,BN=32,COALESCED=1,PRED=1", "BM=8,BN=32,COALESCED=1,PRED=1 EPILOGUE=bias_column"],
    "smem_tiled": ["BM=8,BN=32,BK=16,UNROLL=0,PRED=1"],
    "coarsened_1d": ["BM=32,BN=32,BK=8,TM=4,PRED=1", "BM=64,BN=32,BK=8,TM=4,PRED=1"],
    "tiled_2d": ["BM=32,BN=32,BK=8,TM=4,TN=4,PRED=1", "BM=32,BN=64,BK=8,TM=2,TN=2,PRED=1"],
    "vectorized_2d": ["BM=32,BN=32,BK=8,TM=4,TN=4,VEC=4,PAD=1,INTERLEAVE=0,PRED=1",
                      "BM=32,BN=32,BK=8,TM=4,TN=4,VEC=4,PAD=1,INTERLEAVE=0,PRED=1 EPILOGUE=bias_column",
                      "BM=32,BN=32,BK=8,TM=4,TN=4,VEC=4,PAD=1,INTERLEAVE=0,PRED=1,REPACK=1",
                      "BM=32,BN=32,BK=8,TM=4,TN=4,VEC=1,PAD=0,INTERLEAVE=0,PRED=1"],
    "warp_tiled": [
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,"
        "TAIL=0,TA=1,TB=0,PRED=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=4,TN=8,WARPS_K=2,STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=2,RASTER=8,CTAS=1,SPLIT_K=1,"
        "TAIL=0,TA=0,TB=1,PRED=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=4,TN=8,WARPS_K=1,STAGES=3,ASYNC=2,FRAGMENTS=1,VEC=2,RASTER=8,CTAS=1,SPLIT_K=11,"
        "TAIL=0,TA=1,TB=1,PRED=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=4,TN=8,WARPS_K=1,STAGES=3,ASYNC=2,FRAGMENTS=1,VEC=2,RASTER=8,CTAS=1,SPLIT_K=11,"
        "TAIL=0,TA=1,TB=1,PRED=1 EPILOGUE=bias_column+relu",
        "CLUSTER=1,BM=32,BN=32,BK=16,WM=32,WN=32,TM=4,TN=8,WARPS_K=4,STAGES=2,ASYNC=0,FRAGMENTS=1,VEC=4,RASTER=8,"
        "CTAS=1,SPLIT_K=3,TAIL=0,TA=1,TB=0,PRED=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=4,TN=8,WARPS_K=1,STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,"
        "TAIL=0,TA=0,TB=0,PRED=1,REPACK=1",
        "CLUSTER=0,BM=64,BN=64,BK=8,WM=32,WN=64,TM=8,TN=8,WARPS_K=1,STAGES=1,ASYNC=0,FRAGMENTS=1,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,"
        "TAIL=0,TA=0,TB=0,PRED=1,LINES=1 EPILOGUE=bias_column",
        "CLUSTER=0,BM=64,BN=32,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=2,STAGES=3,ASYNC=1,FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=2,"
        "TAIL=0,TA=1,TB=1,PRED=1,LINES=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,"
        "TAIL=0,TA=0,TB=0,PRED=1,LINES=1,VECS=421,STEPPED=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=3,ASYNC=2,FRAGMENTS=1,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,"
        "TAIL=0,TA=1,TB=1,PRED=1,VECS=124,STEPPED=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=4,TN=8,WARPS_K=2,STAGES=2,ASYNC=0,FRAGMENTS=1,VEC=2,RASTER=8,CTAS=1,SPLIT_K=13,"
        "TAIL=0,TA=0,TB=1,PRED=1,REDUCE=1 EPILOGUE=bias_column",
        "CLUSTER=0,BM=32,BN=64,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,"
        "TAIL=2,TA=1,TB=0,PRED=1,REDUCE=1",
        "CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=4,TN=8,WARPS_K=2,STAGES=2,ASYNC=0,FRAGMENTS=1,VEC=2,RASTER=8,CTAS=1,SPLIT_K=2,"
        "TAIL=0,TA=1,TB=0,PRED=1,REDUCE=1,POINTERS=1"],
    "skinny": ["CLUSTER=0,BS=4,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=11,SKINNY_N=0,TA=0,TB=0,PRED=1",
               "CLUSTER=0,BS=2,TL=2,WARPS=4,LANES_K=8,UNROLL=2,VEC=2,SPLIT_K=1,SKINNY_N=1,TA=0,TB=0,PRED=1",
               "CLUSTER=1,BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=3,SKINNY_N=0,TA=0,TB=0,PRED=1",
               "CLUSTER=0,BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=1,SKINNY_N=0,TA=0,TB=0,PRED=1,KEEP=8,STAGED_FIRST=1"],
    "mma": ["AB=2,CD=2,BM=32,BN=48,BK=32,WM=16,WN=48,MMA_K=16,STAGES=3,ASYNC=1,VEC=4,RASTER=8,SPLIT_K=2,TA=0,TB=0,PRED=1",
            "AB=2,CD=2,BM=32,BN=48,BK=32,WM=16,WN=48,MMA_K=16,STAGES=3,ASYNC=1,VEC=4,RASTER=8,SPLIT_K=2,TA=0,TB=0,PRED=1 EPILOGUE=bias_column+relu",
            "AB=2,CD=0,BM=32,BN=32,BK=32,WM=16,WN=32,MMA_K=16,STAGES=2,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=1,PRED=1,REPACK=1",
            "AB=1,CD=0,BM=32,BN=48,BK=16,WM=32,WN=16,MMA_K=8,STAGES=2,ASYNC=0,VEC=2,RASTER=8,SPLIT_K=11,TA=1,TB=1,PRED=1",
            "AB=2,CD=2,BM=32,BN=48,BK=16,WM=32,WN=16,MMA_K=16,STAGES=2,ASYNC=0,VEC=2,RASTER=8,SPLIT_K=1,TA=0,TB=1,PRED=1,POINTERS=1",
            "AB=2,CD=2,BM=64,BN=32,BK=32,WM=64,WN=32,MMA_K=16,STAGES=2,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=1,TB=0,PRED=1",
            "AB=2,CD=0,BM=16,BN=96,BK=32,WM=16,WN=48,MMA_K=16,STAGES=2,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=0",
            "AB=2,CD=2,BM=32,BN=32,BK=32,WM=32,WN=16,MMA_K=16,STAGES=3,ASYNC=1,VEC=1,RASTER=8,SPLIT_K=2,TA=0,TB=1,PRED=1,VECS=881,CLUSTER=1"],
    # Those of wide tiles have few stages, so that each is loaded again.
    "wgmma": ["AB=2,CD=2,BM=64,BN=160,GROUPS=1,PINGPONG=0,TA=0,TB=1",
              "AB=1,CD=1,BM=64,BN=192,GROUPS=2,PINGPONG=1,CLUSTER_M=2,TA=1,TB=0",
              "AB=2,CD=2,BM=64,BN=32,GROUPS=1,PINGPONG=0,SPLIT_K=2,TA=1,TB=0",
              "AB=1,CD=0,BM=256,BN=16,GROUPS=2,PINGPONG=0,REDUCE=1,TA=1,TB=1",
              "AB=2,CD=2,BM=256,BN=32,GROUPS=2,PINGPONG=0,CLUSTER_N=2,SWAP=1,TA=1,TB=1",
              "AB=2,CD=0,BM=64,BN=208,GROUPS=2,PINGPONG=1,TA=1,TB=0",
              "AB=0,CD=0,BM=64,BN=16,GROUPS=1,PINGPONG=0,TA=0,TB=0",
              "AB=0,CD=0,BM=64,BN=16,GROUPS=1,PINGPONG=0,TA=1,TB=1",
              "AB=3,CD=2,BM=64,BN=16,GROUPS=1,PINGPONG=0,TA=0,TB=1",
              "AB=2,CD=2,BM=64,BN=16,GROUPS=1,PINGPONG=0,DIRECT=1,TA=0,TB=1",
              "AB=3,CD=0,BM=64,BN=16,GROUPS=1,PINGPONG=0,PROMOTE=64,TA=0,TB=0"],
    "wgmma_f16x3": ["BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=0"],
}

# What configs of a family have beside the product, where a pattern is in their parameters.
FURTHER_KERNELS = {"wgmma_f16x3": ("", "split"), "wgmma": ("^AB=0,|^AB=3,.*(REPACK=1|TA=1|TB=0)", "pack")}

# Survivors that are right to survive: (file, mutation, line) -> why.
ALLOWED = {
    ("kernel_templates/mma/kernel.cuh", "slice past the last one", "if (k_left_ > 0) {"):
        "in finish_copy(): stores into a stage that nobody reads any more",
    ("kernel_templates/wgmma/kernel.cuh", "warp barrier removed", "__syncwarp();"):
        "an aligned instruction follows, for which the emulator needs no lanes in lockstep",
    ("kernel_templates/wgmma/schedule.cuh", "alpha = 0 is not special",
     "if (args.alpha == 0.0f || args.K == 0) return 0;"):
        "A and B are read, but their product is not used",
    ("kernel_templates/wgmma/pack.cuh", "pack: chunks past a line's end", "if (at < args.chunks) {"):
        "spares loads: behind K all elements are zeros",
    ("kernel_templates/wgmma_f16x3/output.cuh", "sum does not start at zero",
     "float of_block[4] = {};"):
        "all of it is assigned; compilers do not see that",
    ("kernel_templates/wgmma_f16x3/fp32_product.cuh", "sum does not start at zero",
     "float of_row[kEdge] = {};"):
        "all of it is assigned; compilers do not see that",
    ("kernel_templates/wgmma_f16x3/fp32_product.cuh", "offsets in 32 bits",
     "__device__ void load(float* to, const float* from, long long ld, int first, int lines,"):
        "rows are of 64 bits: only an ld of 2^31 would tell",
}

Mutant = collections.namedtuple("Mutant", "families file line mutation text source")


def texts_of(root, family):
    """Include path -> text of the family and of every header that its kernel includes."""
    texts, wanted = {}, [f"kernel_templates/{family}/kernel.cuh"]
    while wanted:
        path = wanted.pop()
        if path not in texts:
            texts[path] = (root / path).read_text()
            wanted += re.findall(r'^#include "([^"]+)"', texts[path], re.M)
    return texts


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
        pattern, further_kernel = FURTHER_KERNELS.get(family, ("$^", ""))
        if re.search(pattern, params):
            kernels.append(further_kernel.upper())
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
        try:
            done = subprocess.run([self.run_program, folder / "kernel.so",
                                   f"{family}/{params.split(' ')[0]}"],
                                  capture_output=True, text=True, timeout=120, env=environment)
        except subprocess.TimeoutExpired:
            return "does not end"
        if done.returncode == 0:
            return None
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
        named = {name for name, _, _ in itertools.chain(MUTATIONS, *MUTATIONS_OF.values())}
        unused = named - {mutant.mutation for mutant in mutants}
        print("mutations without a place: " + (", ".join(sorted(unused)) or "none"))
    print(f"{len(mutants)} places: " + ", ".join(f"{n} {v}" for v, n in sorted(counts.items())))
    print("\n".join(wrong), end="\n" if wrong else "")
    return 1 if wrong or counts["killed"] == 0 else 0


if __name__ == "__main__":
    sys.exit(main())
