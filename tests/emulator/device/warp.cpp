// SPDX-License-Identifier: Apache-2.0
#include "tests/emulator/device/warp.h"

#include <cstring>

#include "tests/emulator/device/emulator.h"

namespace gemm_tune::emulator {
namespace {

using Lanes = std::array<WarpWork*, kWarp>;

void check_agreement(const Lanes& lanes) {
  const auto same = [](const WarpWork& one, const WarpWork& other) {
    if (one.kind != other.kind) return false;
    switch (one.kind) {
      case WarpWork::Kind::shuffle:
        return true;
      case WarpWork::Kind::load_matrices:
      case WarpWork::Kind::store_matrices:
        return one.matrices == other.matrices && one.transposed == other.transposed;
      case WarpWork::Kind::multiply_add:
        return one.operands.k == other.operands.k && one.operands.format == other.operands.format &&
               one.operands.sums_in_f16 == other.operands.sums_in_f16;
    }
    return false;
  };
  for (const WarpWork* lane : lanes) {
    if (!same(*lane, *lanes[0])) throw ExecutionError("comes with another instruction than others");
  }
}

void shuffle(const Lanes& lanes) {
  for (std::size_t i = 0; i < kWarp; ++i) {
    lanes[i]->received = lanes[i ^ static_cast<std::size_t>(lanes[i]->lane_mask)]->offer;
  }
}

// PTX ISA 9.0, section "Warp-level matrix load instruction: ldmatrix": lane l receives of each
// matrix the elements 2 (l % 4) and the next one of row l / 4; of column l / 4 where transposed.
void load_matrices(const Lanes& lanes) {
  for (std::size_t l = 0; l < kWarp; ++l) {
    for (std::size_t m = 0; m < static_cast<std::size_t>(lanes[l]->matrices); ++m) {
      const auto element = [&](std::size_t i) -> unsigned {
        const std::size_t across = l / 4, along = l % 4 * 2 + i;
        return lanes[l]->transposed ? lanes[m * 8 + along]->row[across]
                                    : lanes[m * 8 + across]->row[along];
      };
      lanes[l]->fragments[m] = element(0) | element(1) << 16;
    }
  }
}

// PTX ISA 9.0, section "Warp-level matrix store instruction: stmatrix": as ldmatrix, backwards.
void store_matrices(const Lanes& lanes) {
  for (std::size_t l = 0; l < kWarp; ++l) {
    for (std::size_t m = 0; m < static_cast<std::size_t>(lanes[l]->matrices); ++m) {
      for (std::size_t i = 0; i < 2; ++i) {
        const std::size_t across = l / 4, along = l % 4 * 2 + i;
        const auto element = static_cast<std::uint16_t>(lanes[l]->fragments[m] >> (16 * i));
        if (lanes[l]->transposed) {
          lanes[m * 8 + along]->row[across] = element;
        } else {
          lanes[m * 8 + across]->row[along] = element;
        }
      }
    }
  }
}

void multiply_add(const TensorCore& core, const Lanes& lanes) {
  std::array<MmaOperands, kWarp> operands;
  std::array<float*, kWarp> sums{};
  for (std::size_t i = 0; i < kWarp; ++i) {
    operands[i] = lanes[i]->operands;
    sums[i] = lanes[i]->sums;
  }
  multiply_add(core, operands, sums);
}

}  // namespace

std::array<std::uint16_t, 8> load_matrix_row(const void* address) {
  if (reinterpret_cast<std::uintptr_t>(address) % 16 != 0) {
    throw ExecutionError("loads a matrix row from an address that is not aligned to 16 bytes");
  }
  std::array<std::uint16_t, 8> row;
  std::memcpy(row.data(), address, sizeof(row));
  return row;
}

void work_together(const TensorCore& core, const Lanes& lanes) {
  check_agreement(lanes);
  switch (lanes[0]->kind) {
    case WarpWork::Kind::shuffle:
      return shuffle(lanes);
    case WarpWork::Kind::load_matrices:
      return load_matrices(lanes);
    case WarpWork::Kind::store_matrices:
      return store_matrices(lanes);
    case WarpWork::Kind::multiply_add:
      return multiply_add(core, lanes);
  }
}

}  // namespace gemm_tune::emulator
