// SPDX-License-Identifier: Apache-2.0
#include "core/device/device_spec.h"

#include <algorithm>
#include <cctype>
#include <charconv>
#include <numeric>

#include "core/device/gpu_cards.h"

namespace gemm_tune {
namespace {

constexpr int kKiB = 1024;

// The limits that differ between architectures: CUDA C++ Programming Guide 13.0, "Technical
// Specifications per Compute Capability". The allocation units are those of the toolkit's
// cuda_occupancy.h.
struct ArchLimits {
  const char* arch;
  int cc_major, cc_minor;
  int max_threads_per_sm;
  int max_ctas_per_sm;
  int smem_per_sm_bytes;
  int fp32_lanes_per_sm;
};

DeviceSpec device_spec(const ArchLimits& limits, const GpuCard& card) {
  // Since sm_80 the driver keeps 1 KiB of every CTA's shared memory for itself.
  const int reserved_bytes = limits.cc_major >= 8 ? 1 * kKiB : 0;
  return {.arch = limits.arch,
          .name = card.name,
          .cc_major = limits.cc_major,
          .cc_minor = limits.cc_minor,
          .sm_count = card.sm_count,
          .max_threads_per_sm = limits.max_threads_per_sm,
          .max_ctas_per_sm = limits.max_ctas_per_sm,
          .smem_per_sm_bytes = limits.smem_per_sm_bytes,
          .max_smem_per_cta_bytes = limits.smem_per_sm_bytes - reserved_bytes,
          .smem_reserved_per_cta_bytes = reserved_bytes,
          .smem_allocation_unit_bytes = limits.cc_major >= 8 ? 128 : 256,
          .fp32_lanes_per_sm = limits.fp32_lanes_per_sm,
          .clock_mhz = card.clock_mhz,
          .dram_gb_per_s = card.dram_gb_per_s,
          .l2_bytes = std::int64_t{card.l2_kib} * kKiB,
          .memory_bytes = std::int64_t{card.memory_gib} << 30};
}

// sm_88 is absent, although NVRTC 13 compiles for it: no card with it is known to us.
constexpr ArchLimits kArchs[] = {
    {"sm_75", 7, 5, 1024, 16, 64 * kKiB, 64},     {"sm_80", 8, 0, 2048, 32, 164 * kKiB, 64},
    {"sm_86", 8, 6, 1536, 16, 100 * kKiB, 128},   {"sm_87", 8, 7, 1536, 16, 164 * kKiB, 128},
    {"sm_89", 8, 9, 1536, 24, 100 * kKiB, 128},   {"sm_90", 9, 0, 2048, 32, 228 * kKiB, 128},
    {"sm_100", 10, 0, 2048, 32, 228 * kKiB, 128}, {"sm_103", 10, 3, 2048, 32, 228 * kKiB, 128},
    {"sm_110", 11, 0, 1536, 24, 228 * kKiB, 128}, {"sm_120", 12, 0, 1536, 24, 100 * kKiB, 128},
    {"sm_121", 12, 1, 1536, 24, 100 * kKiB, 128},
};

// All cards, those of an architecture together, the typical one first.
const std::vector<DeviceSpec>& cards() {
  static const std::vector<DeviceSpec> specs = [] {
    std::vector<DeviceSpec> made;
    for (const ArchLimits& limits : kArchs) {
      for (const GpuCard& card : gpu_cards()) {
        if (card.arch == std::string_view(limits.arch)) made.push_back(device_spec(limits, card));
      }
    }
    return made;
  }();
  return specs;
}

// The words of a card's name in small letters, without the maker's and the series' names, which
// people leave out.
std::vector<std::string> words_of(std::string_view name) {
  std::vector<std::string> words(1);
  for (const char c : name) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0) {
      words.back() += static_cast<char>(std::tolower(byte));
    } else if (!words.back().empty()) {
      words.emplace_back();
    }
  }
  std::erase_if(words, [](const std::string& word) {
    return word.empty() || word == "nvidia" || word == "geforce" || word == "tesla";
  });
  return words;
}

std::string joined(std::span<const std::string> words) {
  return std::accumulate(words.begin(), words.end(), std::string());
}

// The word, or several that follow each other, written without the blanks: "RTX3090".
bool has_words(std::span<const std::string> words, std::string_view asked) {
  for (std::size_t begin = 0; begin < words.size(); ++begin) {
    for (std::size_t count = 1; begin + count <= words.size(); ++count) {
      if (joined(words.subspan(begin, count)) == asked) return true;
    }
  }
  return false;
}

}  // namespace

std::span<const DeviceSpec> device_table() {
  static const std::vector<DeviceSpec> typical = [] {
    std::vector<DeviceSpec> first;
    for (const DeviceSpec& card : cards()) {
      if (first.empty() || first.back().arch != card.arch) first.push_back(card);
    }
    return first;
  }();
  return typical;
}

int number_of_arch(std::string_view arch) {
  constexpr std::string_view kStart = "sm_";
  int number = 0;
  if (arch.starts_with(kStart)) {
    std::from_chars(arch.data() + kStart.size(), arch.data() + arch.size(), number);
  }
  return number;
}

std::optional<DeviceSpec> find_device_spec(std::string_view arch) {
  for (const DeviceSpec& spec : device_table()) {
    if (spec.arch == arch) return spec;
  }
  return std::nullopt;
}

std::vector<DeviceSpec> find_cards(std::string_view name) {
  const std::vector<std::string> asked = words_of(name);
  std::vector<DeviceSpec> found;
  if (asked.empty()) return found;
  for (const DeviceSpec& card : cards()) {
    const std::vector<std::string> has = words_of(card.name);
    if (joined(has) == joined(asked)) return {card};
    const bool has_all = std::all_of(asked.begin(), asked.end(),
                                     [&](const std::string& word) { return has_words(has, word); });
    if (has_all) found.push_back(card);
  }
  return found;
}

}  // namespace gemm_tune
