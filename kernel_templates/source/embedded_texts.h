// SPDX-License-Identifier: Apache-2.0
// The device texts as they stood when the program was built, by include path.
//
// Defined in a file that the build writes (embed_texts.cmake); source.h is the way to them.
// Immutable; any thread.
#pragma once

#include <functional>
#include <map>
#include <string>

namespace gemm_tune {

// "kernel_templates/<family>/kernel.cuh" -> its text, for every .cuh and for rules.h.
const std::map<std::string, std::string, std::less<>>& embedded_texts();

}  // namespace gemm_tune
