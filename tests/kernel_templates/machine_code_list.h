// SPDX-License-Identifier: Apache-2.0
// The lists of machine code: what kernels compile to, by config, form of the call and target.
//
// A list is a text file. Its first line says which NVRTC compiled; every other line is "ARCH FORM
// REVISION HASH CONFIG". FORM is i for in-place products or s for a separate C, and behind a colon
// the epilogue. Made by renew_machine_code.
#pragma once

#include <filesystem>
#include <fstream>
#include <sstream>
#include <stdexcept>
#include <string>
#include <vector>

#include "core/text/fnv1a.h"
#include "gpu/compile/machine_code.h"
#include "gpu/compile/nvrtc.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"

namespace gemm_tune {

struct ListedCode {
  std::string arch, form;
  int revision = 0;
  std::string hash;  // of the machine code, 16 hex digits
  std::string config;
};

struct MachineCodeList {
  std::string nvrtc;  // "13.0"
  std::vector<ListedCode> kernels;
};

constexpr const char* kListHead = "# Machine code by NVRTC ";

inline MachineCodeList read_list(const std::filesystem::path& path) {
  std::ifstream file(path);
  MachineCodeList list;
  std::string line;
  std::getline(file, line);
  if (!line.starts_with(kListHead)) throw std::runtime_error(path.string() + " is no list");
  list.nvrtc = line.substr(std::string(kListHead).size());
  while (std::getline(file, line)) {
    std::istringstream words(line);
    ListedCode code;
    if (!(words >> code.arch >> code.form >> code.revision >> code.hash >> code.config)) {
      throw std::runtime_error(path.string() + ": cannot read '" + line + "'");
    }
    list.kernels.push_back(std::move(code));
  }
  return list;
}

inline CallForm form_of(const ListedCode& code) {
  const std::size_t colon = code.form.find(':');
  const Epilogue epilogue =
      colon == code.form.npos ? Epilogue() : parse_epilogue(code.form.substr(colon + 1));
  return {code.form.starts_with('i') ? COperand::in_place : COperand::separate, epilogue};
}

// Of what the config is compiled to from this source; the compiler's log where it is not.
inline std::string hash_of_code(const KernelSource& source, const KnownConfig& config,
                                const CallForm& form, const std::string& arch) {
  const CompileResult result =
      nvrtc_compile({source.path, source.text, source.headers}, compile_definitions(config, form),
                    compile_target(config, arch));
  if (!result.ok) return result.log;
  Fnv1a hash;
  hash.add_bytes(machine_code(result.cubin));
  return hash.hex();
}

inline std::string hash_of_code(const ListedCode& code) {
  const KnownConfig config = check_config(parse_config(code.config));
  return hash_of_code(kernel_source(*config.family), config, form_of(code), code.arch);
}

}  // namespace gemm_tune
