// SPDX-License-Identifier: Apache-2.0
// The kernel texts of earlier releases.
//
// Databases of version 1 name a kernel by the hash of its raw texts. Each line below was found by
// computing both values from the texts of a commit: `kernel_identities DIR` prints them. They also
// store no tokens: earlier/FAMILY-IDENTITY.tokens holds those of each identity below, so that
// `db rekey` can compile the kernel that a row was measured with.
#include "kernel_templates/embedded_texts.h"
#include "kernel_templates/source.h"

namespace gemm_tune {
namespace {

struct EarlierText {
  std::string_view family, hash, identity;
};

constexpr EarlierText kEarlierTexts[] = {
    {"coarsened_1d", "6504143d079a5972", "c4556223ea29b074"},
    {"naive", "892996c7f4efb8d9", "902186727d0ee206"},
    {"skinny", "1815f19fd296dec2", "e0113361a921641d"},
    {"smem_tiled", "9695970b214b974b", "18157738c734e28f"},
    {"tiled_2d", "ac0c9a2b240c48d1", "f79fbe24b22df43a"},
    {"vectorized_2d", "2a4dca03cb974bb3", "e4c52a77427472ba"},
    {"warp_tiled", "a7b2e2aa0ce39372", "8f8aeb69529e0d0f"},
    {"warp_tiled", "d50649a93442e3eb", "8f8aeb69529e0d0f"},
};

}  // namespace

std::optional<std::string> identity_of_version_1(std::string_view family, std::string_view hash) {
  for (const EarlierText& text : kEarlierTexts) {
    if (text.family == family && text.hash == hash) return std::string(text.identity);
  }
  return std::nullopt;
}

std::optional<std::string> earlier_tokens(std::string_view family, std::string_view identity) {
  const std::string path =
      "kernel_templates/earlier/" + std::string(family) + "-" + std::string(identity) + ".tokens";
  const auto found = embedded_texts().find(path);
  if (found == embedded_texts().end()) return std::nullopt;
  return found->second;
}

}  // namespace gemm_tune
