// SPDX-License-Identifier: Apache-2.0
// How the slices of an operand are dealt out where the threads and the units of a line divide one
// another in neither direction (device/slice_map.cuh): to as many of the threads as do.
//
// A tile of 96 or 192 columns is such a one for 128 or 256 threads. The other threads copy nothing.
// Plain constexpr functions: the host rejects configs with the very mapping that the kernel uses.
#pragma once

#include "kernel_templates/device/slice_map.cuh"
#include "kernel_templates/rules.h"

namespace gemm_tune {

// Units (vectors, or patches of a warp) that one pass copies: whole lines, as many as share a slice
// evenly, or an even part of a line.
constexpr int units_at_once(int edge, int bk, int threads, int vec, bool along_k) {
  const int line = units_per_line(edge, vec, along_k), most = units_per_pass(threads, along_k);
  if (most < line) {
    int part = most;
    while (line % part != 0) --part;
    return part;
  }
  const int lines = along_k ? bk / kPatchK : bk, passes = (lines - 1) / (most / line) + 1;
  return line * ((lines - 1) / passes + 1);
}

constexpr int uneven_passes(int edge, int bk, int threads, int vec, bool along_k) {
  const int lines = along_k ? bk / kPatchK : bk;
  const int units = lines * units_per_line(edge, vec, along_k);
  return (units - 1) / units_at_once(edge, bk, threads, vec, along_k) + 1;
}

// Whether the last pass has a part for each of the threads that copy.
constexpr bool is_last_uneven_pass_full(int edge, int bk, int threads, int vec, bool along_k) {
  const int lines = along_k ? bk / kPatchK : bk;
  return lines * units_per_line(edge, vec, along_k) %
             units_at_once(edge, bk, threads, vec, along_k) ==
         0;
}

// Whether every vector lies in one line, so that the functions above tell where it belongs.
constexpr bool is_dealt(int edge, int bk, int vec, bool along_k) {
  return edge % (along_k ? 4 * vec : vec) == 0 && (!along_k || bk % kPatchK == 0);
}

// By how much a later pass moves a thread's vector.
constexpr SlicePlace uneven_offset(int edge, int bk, int threads, int vec, bool along_k, int pass) {
  const int line = units_per_line(edge, vec, along_k);
  const int unit_edge = along_k ? 4 * vec : vec, unit_k = along_k ? kPatchK : 1;
  const int unit = pass * units_at_once(edge, bk, threads, vec, along_k);
  return {unit % line * unit_edge, unit / line * unit_k};
}

}  // namespace gemm_tune
