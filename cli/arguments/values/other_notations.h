// SPDX-License-Identifier: Apache-2.0
// Products as PyTorch and cuBLAS write them: recognised, so that a refusal can spell the size.
// Pure.
#pragma once

#include <optional>
#include <string>
#include <string_view>

namespace gemm_tune {

// For "[1024, 512] @ [512, 2048]", "torch.Size([..])", "-m 1024 -n 512 -k 256", "m1024n512k256",
// "nn_1024_512_256" and the like: a sentence that says how to write the product here, as far as the
// text tells. nullopt for any other text.
std::optional<std::string> other_notation(std::string_view text);

}  // namespace gemm_tune
