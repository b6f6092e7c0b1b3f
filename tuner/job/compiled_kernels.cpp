// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/compiled_kernels.h"

#include <utility>

#include "gpu/compile/nvrtc.h"
#include "runtime/compile.h"

namespace gemm_tune {
namespace {

// Where the cache keeps the compiler's account of a kernel, which the cubin does not tell.
std::string resources_key(const std::string& cubin_key) { return cubin_key + " resources"; }

// Nothing where the text is that of another version.
std::optional<Resources> resources_in(const std::string& text) {
  try {
    return nlohmann::json::parse(text).get<Resources>();
  } catch (const nlohmann::json::exception&) {
    return std::nullopt;
  }
}

// What is to be measured under this NVRTC is compiled by it.
std::optional<KeptKernel> kept_by_this_nvrtc(const KernelStore& cache, const std::string& key) {
  std::optional<KeptKernel> kept = load_kernel(cache, key);
  return kept && kept->nvrtc_version == nvrtc_version() ? std::move(kept) : std::nullopt;
}

}  // namespace

CompiledKernels::CompiledKernels(std::string arch, const std::optional<KernelSources>& users,
                                 const std::optional<std::filesystem::path>& cache)
    : arch_(std::move(arch)), users_(users) {
  if (cache) cache_.emplace(*cache);
}

std::optional<KernelSource> CompiledKernels::users_source(const KernelFamily& family) {
  return users_ ? std::optional(source(family)) : std::nullopt;
}

const CompileReply* CompiledKernels::find(const KnownConfig& config, const Epilogue& epilogue) {
  if (const CompileReply* const known = kept(to_string(config.config()), to_string(epilogue))) {
    return known;
  }
  std::optional<CompileReply> reply = published(config, epilogue);
  return reply ? &add(*std::move(reply)) : nullptr;
}

const CompileReply* CompiledKernels::kept(const std::string& config,
                                          const std::string& epilogue) const {
  const std::lock_guard lock(mutex_);
  const auto known = compiled_.find({config, epilogue});
  return known != compiled_.end() ? &known->second : nullptr;
}

std::optional<CompileReply> CompiledKernels::published(const KnownConfig& config,
                                                       const Epilogue& epilogue) {
  if (!cache_) return std::nullopt;
  CompileReply reply;
  reply.cubin_key =
      kernel_key(source(*config.family), config, {COperand::in_place, epilogue}, arch_);
  std::optional<KeptKernel> cubin = kept_by_this_nvrtc(*cache_, reply.cubin_key);
  const auto account = kept_by_this_nvrtc(*cache_, resources_key(reply.cubin_key));
  const std::optional<Resources> resources = account ? resources_in(account->bytes) : std::nullopt;
  if (!cubin || !resources) return std::nullopt;
  reply.config = to_string(config.config());
  reply.epilogue = to_string(epilogue);
  reply.ok = true;
  reply.cubin = std::move(cubin->bytes);
  reply.resources = *resources;
  return reply;
}

const CompileReply& CompiledKernels::add(CompileReply reply) {
  if (reply.ok) own_.store(reply.cubin_key, reply.cubin);
  reply.cubin = {};
  const std::lock_guard lock(mutex_);
  std::pair key(reply.config, reply.epilogue);
  return compiled_.try_emplace(std::move(key), std::move(reply)).first->second;
}

CompiledConfig CompiledKernels::with_cubin(CompiledConfig compiled) const {
  if (!compiled.cubin_key.empty()) compiled.cubin = own_.load(compiled.cubin_key);
  return compiled;
}

bool CompiledKernels::publish(const CompileReply& reply) const {
  if (!cache_) return true;
  const std::string resources = resources_key(reply.cubin_key), version = nvrtc_version();
  if (kept_by_this_nvrtc(*cache_, reply.cubin_key) && kept_by_this_nvrtc(*cache_, resources)) {
    return true;
  }
  const std::string account = nlohmann::json(reply.resources).dump();
  return store_kernel(*cache_, reply.cubin_key, {version, own_.load(reply.cubin_key)}) &&
         store_kernel(*cache_, resources, {version, account});
}

const KernelSource& CompiledKernels::source(const KernelFamily& family) {
  if (users_) return users_->at(family.name);
  const std::lock_guard lock(mutex_);
  const auto found = own_sources_.find(family.name);
  if (found != own_sources_.end()) return found->second;
  return own_sources_.emplace(family.name, kernel_source(family)).first->second;
}

}  // namespace gemm_tune
