// SPDX-License-Identifier: Apache-2.0
#include "core/files/own_binary.h"

#include <dlfcn.h>
#include <link.h>
#include <sys/auxv.h>

#include <string_view>
#include <system_error>

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;

std::optional<fs::path> without_links(const fs::path& file) {
  std::error_code error;
  fs::path found = fs::canonical(file, error);
  return error ? std::nullopt : std::optional(std::move(found));
}

}  // namespace

std::optional<fs::path> own_program(const fs::path& link) {
  if (auto program = without_links(link)) return program;
  const auto* const started = reinterpret_cast<const char*>(::getauxval(AT_EXECFN));
  return started == nullptr ? std::nullopt : without_links(started);
}

std::optional<fs::path> own_binary() {
  static const char kHere = 0;
  ::Dl_info info{};
  void* loaded = nullptr;
  if (::dladdr1(&kHere, &info, &loaded, RTLD_DL_LINKMAP) == 0 || loaded == nullptr) {
    return std::nullopt;
  }
  const std::string_view name = static_cast<const link_map*>(loaded)->l_name;
  return name.empty() ? own_program() : without_links(name);
}

}  // namespace gemm_tune
