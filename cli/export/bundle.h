// SPDX-License-Identifier: Apache-2.0
// A bundle: a folder with which a program launches tuned kernels without gemm-tune and NVRTC.
//
// It holds the exported header of each architecture, gemm_tune_<arch>.h; the compiled kernels that
// the header names, <arch>/<hash>-<config>.cubin; the loader, gemm_tune_bundle.hpp; and the
// kernels' argument, which the loader includes.
#pragma once

#include <filesystem>
#include <string>

#include "choose/export_header.h"

namespace gemm_tune {

// Compiles what is not in the default kernel cache, and writes the folder, which may hold other
// architectures already. All files are written aside first: where that fails or is interrupted, the
// folder stays as it was, or is not made. The header comes last: until then an earlier bundle stays
// whole. Throws UsageError and OutputError where the folder cannot be written, DeviceError where
// NVRTC is missing or refuses a kernel.
void write_bundle(const ExportedKernels& exported, const std::string& arch,
                  const std::filesystem::path& folder, bool quiet);

// The text of cli/export/gemm_tune_bundle.hpp.
extern const char* const kBundleLoaderText;

}  // namespace gemm_tune
