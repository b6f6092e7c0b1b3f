// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/cublas/real_cublas.h"

#include <dlfcn.h>
#include <link.h>

#include <string>
#include <string_view>

namespace gemm_tune::preload {
namespace {

// What the process has loaded under this name, which then stays loaded; never loads it.
void* loaded(const char* library) { return ::dlopen(library, RTLD_LAZY | RTLD_NOLOAD); }

// The path of the library that was loaded first of those whose files' names begin so; empty where
// there is none.
std::string loaded_file(std::string_view beginning) {
  struct Search {
    std::string_view beginning;
    std::string path;
  } search{beginning, {}};
  const auto visit = [](dl_phdr_info* object, std::size_t, void* data) {
    auto& [wanted, path] = *static_cast<Search*>(data);
    const std::string_view file = object->dlpi_name;
    if (!file.substr(file.rfind('/') + 1).starts_with(wanted)) return 0;
    path = file;
    return 1;
  };
  ::dl_iterate_phdr(visit, &search);
  return search.path;
}

RealFunction<int(Handle, CUstream_st**)> get_stream("cublasGetStream_v2");
RealFunction<int(Handle, int*)> get_pointer_mode("cublasGetPointerMode_v2");
RealFunction<int(Handle, int*)> get_math_mode("cublasGetMathMode");

// Of later versions.
template <class Getter>
bool read_if_present(Getter* getter, Handle handle, int* value) {
  return getter == nullptr || getter(handle, value) == kSuccess;
}

}  // namespace

void* find_real(const char* name) {
  if (void* const next = ::dlsym(RTLD_NEXT, name)) {
    // What opened its library may close it, and others open it again elsewhere.
    Dl_info found{};
    if (::dladdr(next, &found) != 0) loaded(found.dli_fname);
    return next;
  }
  for (const char* const file : {"libcublas.so", "libcublasLt.so"}) {
    const std::string path = loaded_file(file);
    void* const library = path.empty() ? nullptr : loaded(path.c_str());
    if (library != nullptr) return ::dlsym(library, name);
  }
  return nullptr;
}

std::optional<HandleState> state_of(Handle handle) {
  using Getter = int(Handle, int*);
  static auto* const sm_count_target =
      reinterpret_cast<Getter*>(find_real("cublasGetSmCountTarget"));
  static auto* const emulation_strategy =
      reinterpret_cast<Getter*>(find_real("cublasGetEmulationStrategy"));
  HandleState state;
  const bool known = get_stream(handle, &state.stream) == kSuccess &&
                     get_pointer_mode(handle, &state.pointer_mode) == kSuccess &&
                     get_math_mode(handle, &state.math_mode) == kSuccess &&
                     read_if_present(sm_count_target, handle, &state.sm_count_target) &&
                     read_if_present(emulation_strategy, handle, &state.emulation_strategy);
  return known ? std::optional(state) : std::nullopt;
}

}  // namespace gemm_tune::preload
