// SPDX-License-Identifier: Apache-2.0
// How a kernel family of a user crosses from its plug-in into the program (user_families.h).
//
// A plug-in exports one C function, gemm_tune_plugin(), which gemm_tune_add_family() of the CMake
// package writes. It returns plain data, of which two texts are compared before anything else is
// called: C++ objects cross only between equal versions and equal layouts. No exception crosses:
// the plug-in's functions keep its sentence, and the program asks for it. Any thread.
#pragma once

#include <exception>
#include <functional>
#include <optional>
#include <string>
#include <utility>

#include "core/launch/launch_plan.h"
#include "kernel_templates/family.h"

namespace gemm_tune {

// Members may be added at the end only.
struct PluginInfo {
  const char* version;    // of the gemm-tune whose headers the plug-in was built with
  const char* interface;  // plugin_interface() there
  // Sets the family, or returns a sentence about why there is none.
  const char* (*make)(KernelFamily* family);
  // The sentence of the exception that this thread's last call of one of the family's functions
  // met; nullptr where it met none. A sentence is returned once.
  const char* (*take_failure)();
};

inline constexpr const char* kPluginEntry = "gemm_tune_plugin";
using PluginEntry = const PluginInfo*();

// What two compilations must agree on to exchange objects: the library and the sizes of what
// crosses.
inline const char* plugin_interface() {
#if defined(_GLIBCXX_USE_CXX11_ABI) && _GLIBCXX_USE_CXX11_ABI
#define GT_STANDARD_LIBRARY "libstdc++"
#elif defined(__GLIBCXX__)
#define GT_STANDARD_LIBRARY "libstdc++ with strings of before C++11"
#else
#define GT_STANDARD_LIBRARY "another library than libstdc++"
#endif
  static const std::string text =
      std::string(GT_STANDARD_LIBRARY ", sizes ") + std::to_string(sizeof(KernelFamily)) + " " +
      std::to_string(sizeof(ParamSpec)) + " " + std::to_string(sizeof(Traits)) + " " +
      std::to_string(sizeof(Problem)) + " " + std::to_string(sizeof(LaunchPlan)) + " " +
      std::to_string(sizeof(Step));
#undef GT_STANDARD_LIBRARY
  return text.c_str();
}

// --- In the plug-in -----------------------------------------------------------------------------

inline thread_local std::optional<std::string> plugin_failure;

// Calls the body, and keeps the sentence of an exception.
template <class Body>
auto keeping_failure(const Body& body) -> decltype(body()) {
  try {
    return body();
  } catch (const std::exception& error) {
    plugin_failure = error.what();
  } catch (...) {
    plugin_failure = "an exception that is no std::exception";
  }
  return {};
}

template <class Result, class... Arguments>
void keep_failures(std::function<Result(Arguments...)>& function) {
  if (!function) return;
  function = [inner = std::move(function)](Arguments... arguments) {
    return keeping_failure([&] { return inner(arguments...); });
  };
}

inline const char* take_plugin_failure() {
  static thread_local std::string taken;
  if (!plugin_failure) return nullptr;
  taken = *std::exchange(plugin_failure, std::nullopt);
  return taken.c_str();
}

inline const char* make_plugin_family(KernelFamily* to, KernelFamily (*family)(),
                                      KernelTexts (*texts)()) {
  keeping_failure([&] {
    KernelFamily made = family();
    for (FamilyRule& rule : made.rules) keep_failures(rule.broken);
    keep_failures(made.reject);
    keep_failures(made.traits);
    keep_failures(made.plan);
    keep_failures(made.untuned);
    made.texts = texts();
    *to = std::move(made);
    return true;
  });
  return take_plugin_failure();
}

// The entry of a plug-in. family, texts: functions of it.
#define GT_FAMILY_PLUGIN(family, texts)                                                           \
  extern "C" __attribute__((visibility("default"))) const gemm_tune::PluginInfo*                  \
  gemm_tune_plugin() {                                                                            \
    static const gemm_tune::PluginInfo info = {GT_FAMILY_VERSION, gemm_tune::plugin_interface(),  \
                                               [](gemm_tune::KernelFamily* to) {                  \
                                                 return gemm_tune::make_plugin_family(to, family, \
                                                                                      texts);     \
                                               },                                                 \
                                               &gemm_tune::take_plugin_failure};                  \
    return &info;                                                                                 \
  }

}  // namespace gemm_tune
