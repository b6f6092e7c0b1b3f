// SPDX-License-Identifier: Apache-2.0
#include "tuner/trace/memory_instructions.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <optional>

#include "core/error.h"
#include "core/text/words.h"
#include "gpu/compile/machine_code.h"

namespace gemm_tune::ptx {
namespace {

constexpr std::size_t kInstructionBytes = 16;

std::uint64_t word_at(std::string_view text, std::size_t offset) {
  std::uint64_t word = 0;
  std::memcpy(&word, text.data() + offset, sizeof word);
  return word;
}

std::optional<MemoryInstruction> instruction_of(std::uint64_t low) {
  switch (low & 0x1ff) {  // the bits above say where operands come from
    case 0x181:           // LDG
    case 0x180:           // LD
      return MemoryInstruction::global_load;
    case 0x186:  // STG
    case 0x185:  // ST
      return MemoryInstruction::global_store;
    case 0x184:  // LDS
      return MemoryInstruction::shared_load;
    case 0x188:  // STS
      return MemoryInstruction::shared_store;
    case 0x1ae:  // LDGSTS
      return MemoryInstruction::copy_async;
    case 0x03b:  // LDSM
      return MemoryInstruction::load_matrices;
    default:
      return std::nullopt;
  }
}

bool has_width(MemoryInstruction instruction) {
  return instruction != MemoryInstruction::copy_async &&
         instruction != MemoryInstruction::load_matrices;
}

// Bits 73 to 75: 8 and 16 bits, signed or not, then 32, 64 and 128.
int bytes_of_lane(std::uint64_t high) {
  constexpr int kBytes[] = {1, 1, 2, 2, 4, 8, 16, 16};
  return kBytes[high >> 9 & 7];
}

}  // namespace

std::string_view to_string(MemoryInstruction instruction) {
  using enum MemoryInstruction;
  static constexpr auto kNames = words<MemoryInstruction>({{global_load, "global loads"},
                                                           {global_store, "global stores"},
                                                           {shared_load, "shared loads"},
                                                           {shared_store, "shared stores"},
                                                           {copy_async, "cp.async"},
                                                           {load_matrices, "ldmatrix"}});
  return word_of(kNames, instruction);
}

InstructionCounts memory_instructions(const Kernel& kernel) {
  InstructionCounts counts;
  for (const Instruction& i : kernel.instructions) {
    const int bytes = i.bytes * i.count;
    const bool loads = i.op == Op::load;
    if (i.op == Op::copy_async) ++counts[{MemoryInstruction::copy_async, 0}];
    if (i.op == Op::load_matrices) ++counts[{MemoryInstruction::load_matrices, 0}];
    if (!loads && i.op != Op::store) continue;
    if (i.space == Space::shared) {
      ++counts[{loads ? MemoryInstruction::shared_load : MemoryInstruction::shared_store, bytes}];
    } else if (i.space == Space::global || i.space == Space::generic) {
      ++counts[{loads ? MemoryInstruction::global_load : MemoryInstruction::global_store, bytes}];
    }
  }
  return counts;
}

InstructionCounts memory_instructions(std::string_view cubin, std::string_view function) {
  const std::string_view text = function_code(cubin, function);
  if (text.empty()) throw Error("a cubin has no function " + std::string(function));
  InstructionCounts counts;
  for (std::size_t at = 0; at + kInstructionBytes <= text.size(); at += kInstructionBytes) {
    const std::uint64_t low = word_at(text, at), high = word_at(text, at + 8);
    const auto instruction = instruction_of(low);
    const bool never_runs = (low >> 12 & 0xf) == 0xf;  // behind the predicate !PT
    if (!instruction || never_runs) continue;
    ++counts[{*instruction, has_width(*instruction) ? bytes_of_lane(high) : 0}];
  }
  return counts;
}

std::map<MemoryInstruction, std::string> merged_accesses(const InstructionCounts& ptx,
                                                         const InstructionCounts& machine_code) {
  const auto in = [](const InstructionCounts& counts, const InstructionCounts::key_type& key) {
    const auto found = counts.find(key);
    return found == counts.end() ? 0 : found->second;
  };
  std::map<MemoryInstruction, std::string> merged;
  InstructionCounts all = ptx;
  all.insert(machine_code.begin(), machine_code.end());
  for (const auto& [key, unused] : all) {
    const int there = in(ptx, key), here = in(machine_code, key);
    if (here == there || (there > 0 && here > there)) continue;
    const std::string bytes = key.second > 0 ? " of " + std::to_string(key.second) + " bytes" : "";
    merged.emplace(key.first, std::to_string(there) + bytes + " in the PTX, " +
                                  std::to_string(here) + " in the machine code");
  }
  return merged;
}

}  // namespace gemm_tune::ptx
