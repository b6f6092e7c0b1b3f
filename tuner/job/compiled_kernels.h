// SPDX-License-Identifier: Apache-2.0
// The kernels that a run has compiled, and those of the user's kernel cache.
//
// Cubins wait for their measurement in a file (tuner/process/scratch_cubins.h). What is published
// goes to the cache under the key that the library looks for. Any thread; an answer stays where it
// is.
#pragma once

#include <filesystem>
#include <map>
#include <mutex>
#include <optional>
#include <string>

#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "runtime/kernel_store.h"
#include "tuner/process/scratch_cubins.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {

class CompiledKernels {
 public:
  // Of one architecture and the user's texts, which must outlive this object, or the program's own.
  // Throws UsageError where no temporary file can be made or the cache is no folder of the
  // user's, and DeviceError where the system gives no descriptor.
  CompiledKernels(std::string arch, const std::optional<KernelSources>& users,
                  const std::optional<std::filesystem::path>& cache);

  // The family's text where it is the user's: a worker has no folder of theirs.
  std::optional<KernelSource> users_source(const KernelFamily& family);

  // The compiler's answer, without its cubin; nullptr where neither this run nor a run that
  // published has compiled the config with this epilogue.
  const CompileReply* find(const KnownConfig& config, const Epilogue& epilogue);

  // Keeps an answer and its cubin, unless there is one already. Throws DeviceError where the
  // temporary folder is full.
  const CompileReply& add(CompileReply reply);

  // The bytes for a worker; none for an algorithm of a library. Precondition: an answer that was ok
  // has this key.
  CompiledConfig with_cubin(CompiledConfig compiled) const;

  // Puts the kernel of an answer that is ok into the cache, where there is one; false where that
  // cannot be written.
  bool publish(const CompileReply& reply) const;

 private:
  const KernelSource& source(const KernelFamily& family);
  std::optional<CompileReply> published(const KnownConfig& config, const Epilogue& epilogue);
  const CompileReply* kept(const std::string& config, const std::string& epilogue) const;

  const std::string arch_;
  const std::optional<KernelSources>& users_;
  ScratchCubins own_;
  std::optional<KernelStore> cache_;
  mutable std::mutex mutex_;   // of what follows
  KernelSources own_sources_;  // the program's, as needed
  // By the texts of config and epilogue, without cubins.
  std::map<std::pair<std::string, std::string>, CompileReply> compiled_;
};

}  // namespace gemm_tune
