// SPDX-License-Identifier: Apache-2.0
// The text of a family: its .cuh and every device header that it includes, embedded at build time.
//
// A kernel needs no file beside the program; a directory given by the user (--kernel-dir) replaces
// the embedded texts. The identity of a kernel is the hash over the tokens that reach the compiler
// and over the compile options: it alone decides whether a stored result still belongs to today's
// kernel. A config adds nothing but the values of compile_definitions(), and every row names its
// config. Device texts are the .cuh files and rules.h; a family's other includes are for the host
// and no part of its kernel. Any thread.
#pragma once

#include <filesystem>
#include <functional>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/gemm_call.h"
#include "kernel_templates/registry.h"

namespace gemm_tune {

struct KernelSource {
  std::string path;  // as an include: "kernel_templates/naive.cuh"
  std::string text;
  std::vector<std::pair<std::string, std::string>> headers;  // include path -> text, sorted by path
  std::string tokens;  // of text and headers, see token_text.h: compiles by itself
  std::string hash;    // identity_of(tokens)
};

// 16 hex digits: 64-bit FNV-1a over tokens and kCodeOptions, each string followed by a zero byte.
std::string identity_of(std::string_view tokens);

// Those of other texts that the source's kernels may be compiled from: of the tokens with
// TUNED_EPILOGUE, of those with the macros of all later parameters beside it, and of
// device/repack.cuh, empty where the headers lack it.
std::string epilogue_identity(const KernelSource& source);
std::string later_params_identity(const KernelSource& source);
std::string repack_identity(const KernelSource& source);

// kernel_dir is the directory that holds kernel_templates/. Throws UsageError where a file that the
// family needs is missing there, cannot be read or has a name that is not UTF-8.
KernelSource kernel_source(const KernelFamily& family,
                           const std::optional<std::filesystem::path>& kernel_dir = std::nullopt);

// The sources of all families, by family. Each file of kernel_dir is read once: one state of a
// folder that somebody edits. A folder that was copied from an earlier release lacks the families
// that came later: a family without its .cuh there is left out where it serves none of the needed
// signatures. Throws as kernel_source().
using KernelSources = std::map<std::string, KernelSource, std::less<>>;
KernelSources kernel_sources(const std::optional<std::filesystem::path>& kernel_dir = std::nullopt,
                             const std::vector<Signature>& needed = {Signature()});

// What databases of version 1 hold in place of the identity: 64-bit FNV-1a over path, text and the
// headers' paths and texts, each string followed by a zero byte.
std::string version_1_hash(const KernelSource& source);

// The identity of the kernel text that a database of version 1 names by its hash, where the text of
// that release has been compared: one whose tokens are those of the identity.
std::optional<std::string> identity_of_version_1(std::string_view family, std::string_view hash);

// KernelSource::tokens of an earlier release's kernel, where the program knows them.
std::optional<std::string> earlier_tokens(std::string_view family, std::string_view identity);

// The value of TUNED_PARAMS, as in "{.BM=128,.BN=128}": the parameters that the kernel knows.
std::string tuned_params(const KnownConfig& config);

// The architecture to compile the config for, on a GPU of `arch`: "sm_90a" for "sm_90" where the
// kernel has instructions that only this architecture has, else `arch`. Throws UsageError where
// `arch` lacks the kernel's instructions.
std::string compile_target(const KnownConfig& config, const std::string& arch);

// A definition for each parameter of add_later_param() that is not 0, as in "TUNED_KEEP=6".
std::vector<std::string> later_definitions(const KnownConfig& config);

// The definitions to compile the config's family with: TUNED_PARAMS, TUNED_CLUSTER
// (device/cluster.cuh), as in "TUNED_CLUSTER=1", for an in-place product TUNED_IN_PLACE
// (device/gemm_args.cuh), for one with an epilogue TUNED_EPILOGUE (device/bias.cuh), with REPACK
// TUNED_REPACK (device/repack.cuh), which adds a second kernel, and later_definitions().
std::vector<std::string> compile_definitions(const KnownConfig& config, const CallForm& form = {});

}  // namespace gemm_tune
