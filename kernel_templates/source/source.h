// SPDX-License-Identifier: Apache-2.0
// The text of a family: its kernel.cuh and every device header that it includes, embedded at build
// time.
//
// A kernel needs no file beside the program; a directory given by the user (--kernel-dir) replaces
// the embedded texts. A user's family (user_families.h) brings its own .cuh files, and includes the
// embedded device texts. The revision decides whether a stored result still belongs to today's
// kernel: the family's own number, or a hash over texts of the user. Device texts are the .cuh
// files and rules.h. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/problem/gemm_call.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

struct KernelSource {
  std::string path;  // KernelFamily::source_path()
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;  // include path -> text, sorted by path
  // The family's, "1", or "user:0123456789abcdef" where the text or a header is not the embedded
  // one, as in every family of a user.
  std::string revision;
};

// Whether texts of the user made it.
bool is_of_users_texts(std::string_view revision);

// kernel_dir is the directory that holds kernel_templates/. Throws UsageError where a file that the
// family needs is missing there, cannot be read or has a name that is not UTF-8; or where a text of
// a user's family includes what is none.
KernelSource kernel_source(const KernelFamily& family,
                           const std::optional<std::filesystem::path>& kernel_dir = std::nullopt);

// The sources of all families, by family. Each file of kernel_dir is read once: one state of a
// folder that somebody edits. A folder that was copied from an earlier release lacks the families
// that came later: a family without its .cuh there is left out where it serves none of the needed
// signatures. Throws as kernel_source().
using KernelSources = std::map<std::string, KernelSource, std::less<>>;
KernelSources kernel_sources(const std::optional<std::filesystem::path>& kernel_dir = std::nullopt,
                             const std::vector<Signature>& needed = {Signature()});

// The value of TUNED_PARAMS, as in "{.NAME=128,.OTHER=0}": the parameters that the config's text
// names.
std::string tuned_params(const KnownConfig& config);

// The value of TUNED_FORM (device/call/call_form.cuh), as in "{.IN_PLACE=1}".
std::string tuned_form(const CallForm& form);

// TUNED_EPILOGUE, the functors, and TUNED_EPILOGUE_1 and so on, their files
// (device/call/epilogue_chain.cuh); nothing for no epilogue.
std::vector<std::string> epilogue_definitions(const Epilogue& epilogue);

// The architecture to compile the config for, on a GPU of `arch`: "sm_90a" for "sm_90" where the
// kernel has instructions that only this architecture has, else `arch`. Throws UsageError where
// `arch` lacks the kernel's instructions.
std::string compile_target(const KnownConfig& config, const std::string& arch);

// The definitions to compile the config's family with: TUNED_PARAMS, TUNED_CLUSTER
// (device/sum/cluster.cuh), as in "TUNED_CLUSTER=1", TUNED_FORM, and for each parameter that adds a
// kernel to the program, TUNED_ before its name; and epilogue_definitions().
std::vector<std::string> compile_definitions(const KnownConfig& config, const CallForm& form = {});

}  // namespace gemm_tune
