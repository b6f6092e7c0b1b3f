// SPDX-License-Identifier: Apache-2.0
// The entry function of a kernel's PTX, decoded so that trace.h can execute its integer part.
//
// Decodes what NVRTC writes for the kernel families: the memory accesses, and all integers,
// predicates and branches, on which addresses depend. Arithmetic on floating-point values has no
// influence on an address and becomes Op::none. PTX ISA 9.0, section "Instruction Set". Pure; any
// thread.
#pragma once

#include <array>
#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace gemm_tune::ptx {

enum class Op {
  none,
  mov,
  add,
  sub,
  mul_lo,
  mul_hi,
  mul_wide,
  mad_lo,
  mad_hi,
  mad_wide,
  div,
  rem,
  min,
  max,
  neg,
  abs,
  bit_and,
  bit_or,
  bit_xor,
  bit_not,
  shl,
  shr,
  setp,
  selp,
  cvt,
  bfe,
  branch,
  exit,
  barrier,
  vote_barrier,
  load,
  store,
  copy_async,
  load_matrices,
  atomic_add
};

enum class Compare { eq, ne, lt, le, gt, ge };

// With what a setp combines its comparison.
enum class Combine { none, with_and, with_or, with_xor };

enum class Space { param, global, shared, cluster, generic, local };

struct Type {
  int bits = 32;
  bool is_signed = false;
  bool is_float = false;
};

struct Operand {
  enum class Kind { none, reg, value, special };
  Kind kind = Kind::none;
  int reg = 0;              // an index, or a Special
  std::int64_t value = 0;   // of the operand, or added to a register's
  bool is_negated = false;  // of a predicate
};

enum class Special {
  tid_x,
  ntid_x,
  ctaid_x,
  ctaid_y,
  ctaid_z,
  nctaid_x,
  nctaid_y,
  nctaid_z,
  laneid,
  cluster_ctarank,
  zero
};

struct Instruction {
  Op op = Op::none;
  Type type, from;  // from: of a cvt's source
  Compare compare = Compare::eq;
  Combine combine = Combine::none;
  Operand guard;  // a predicate, or none
  std::array<Operand, 4> in{};
  std::array<int, 4> out = {-1, -1, -1, -1};  // registers, -1 for none
  int target = 0;                             // of a branch
  // Of a memory access: `count` values of `bytes` each at the address in[0]. copy_async: from the
  // global address in[1], where in[2] is not 0.
  Space space = Space::param;
  int bytes = 0, count = 1;
};

struct Kernel {
  std::vector<Instruction> instructions;
  int registers = 0;
  int static_smem_bytes = 0;
};

// Throws Error, naming the instruction, where the text has one that no kernel family is known to
// need.
Kernel parse(std::string_view text, std::string_view entry = "gemm");

}  // namespace gemm_tune::ptx
