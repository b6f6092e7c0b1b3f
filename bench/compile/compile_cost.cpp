// SPDX-License-Identifier: Apache-2.0
// Where a candidate's compilation spends its processor time: front end, NVVM, ptxas.
//
//   compile_cost CONFIGS [ARCH] [--repeats N]
//
// CONFIGS is a file with a config's text on each line; what follows a space on it is ignored, so
// that the output of planning_cost --choices will do. Each config is compiled by NVRTC as the tuner
// does it, to PTX, and by the front end alone, and the least processor time of N (1) of each
// counts. A line for each config, then median and 95th percentile for each family. Needs no GPU.
#include <dlfcn.h>
#include <nvrtc.h>
#include <spdlog/fmt/fmt.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <ctime>
#include <fstream>
#include <map>
#include <string>
#include <vector>

#include "bench/program.h"
#include "core/candidate/compile_options.h"
#include "core/error.h"
#include "core/text/fnv1a.h"
#include "kernel_templates/registry/registry.h"
#include "kernel_templates/source/source.h"
#include "runtime/compile.h"

namespace gemm_tune {
namespace {

double processor_seconds() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// NVRTC itself: the program's own interface compiles to cubins only.
struct Nvrtc {
  void* library = dlopen("libnvrtc.so.13", RTLD_NOW);
  template <typename F>
  F* function(const char* name) const {
    void* const found = library != nullptr ? dlsym(library, name) : nullptr;
    if (found == nullptr) throw Error(std::string("libnvrtc.so.13 has no ") + name);
    return reinterpret_cast<F*>(found);
  }
};

// The processor time of one compilation with these options; throws where it fails.
double seconds_of(const Nvrtc& nvrtc, const KernelSource& source,
                  const std::vector<std::string>& options) {
  std::vector<const char*> names, texts, pointers;
  for (const auto& [name, text] : source.headers) {
    names.push_back(name.c_str());
    texts.push_back(text.c_str());
  }
  for (const std::string& option : options) pointers.push_back(option.c_str());
  nvrtcProgram program = nullptr;
  const double before = processor_seconds();
  nvrtc.function<decltype(nvrtcCreateProgram)>("nvrtcCreateProgram")(
      &program, source.text.c_str(), source.path.c_str(), static_cast<int>(names.size()),
      texts.data(), names.data());
  const nvrtcResult code = nvrtc.function<decltype(nvrtcCompileProgram)>("nvrtcCompileProgram")(
      program, static_cast<int>(pointers.size()), pointers.data());
  const double taken = processor_seconds() - before;
  nvrtc.function<decltype(nvrtcDestroyProgram)>("nvrtcDestroyProgram")(&program);
  if (code != NVRTC_SUCCESS) throw Error(fmt::format("NVRTC failed with {}", int{code}));
  return taken;
}

struct Cost {
  double front = 0, ptx = 0, all = 0;
};

Cost cost_of(const Nvrtc& nvrtc, const KnownConfig& config, const std::string& arch, int repeats) {
  const KernelSource source = kernel_source(*config.family);
  std::vector<std::string> options(std::begin(kCodeOptions), std::end(kCodeOptions));
  options.push_back("--no-cache");
  for (const std::string& one : compile_definitions(config)) options.push_back("-D" + one);
  const std::string number = compile_target(config, arch).substr(3);
  const auto least = [&](const std::vector<std::string>& more) {
    std::vector<std::string> with = options;
    with.insert(with.end(), more.begin(), more.end());
    double least_s = seconds_of(nvrtc, source, with);
    for (int i = 1; i < repeats; ++i) {
      least_s = std::min(least_s, seconds_of(nvrtc, source, with));
    }
    return least_s;
  };
  return {least({"--gpu-architecture=compute_" + number, "--fdevice-syntax-only"}),
          least({"--gpu-architecture=compute_" + number}),
          least({"--gpu-architecture=sm_" + number})};
}

double quantile(std::vector<double> values, double share) {
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

void show(const std::string& family, const std::vector<Cost>& costs) {
  std::vector<double> front, nvvm, ptxas, all;
  for (const Cost& cost : costs) {
    front.push_back(cost.front);
    nvvm.push_back(cost.ptx - cost.front);
    ptxas.push_back(cost.all - cost.ptx);
    all.push_back(cost.all);
  }
  std::string text = fmt::format(
      "{}, {} configs, ms of the processor, median and 95th percentile:", family, costs.size());
  const auto add = [&text](const char* name, const std::vector<double>& values) {
    text += fmt::format(" {} {:.0f} {:.0f};", name, 1000 * quantile(values, 0.5),
                        1000 * quantile(values, 0.95));
  };
  add("all", all);
  add("front end", front);
  add("NVVM", nvvm);
  add("ptxas", ptxas);
  text.back() = '\n';
  fmt::print("{}", text);
}

int run(const std::string& path, const std::string& arch, int repeats) {
  const Nvrtc nvrtc;
  std::map<std::string, std::vector<Cost>> costs;
  std::ifstream lines(path);
  for (std::string line; std::getline(lines, line);) {
    const std::string text = line.substr(0, line.find(' '));
    if (text.find('/') == std::string::npos) continue;
    const KnownConfig config = check_config(parse_config(text));
    if (costs.empty()) cost_of(nvrtc, config, arch, 1);  // what NVRTC does once
    const Cost cost = cost_of(nvrtc, config, arch, repeats);
    fmt::print("{:.0f} {:.0f} {:.0f} {}\n", 1000 * cost.front, 1000 * (cost.ptx - cost.front),
               1000 * (cost.all - cost.ptx), text);
    std::fflush(stdout);
    costs[config.family->name].push_back(cost);
  }
  for (const auto& [family, all] : costs) show(family, all);
  return 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  CLI::App app("Where a compilation spends its processor time");
  std::string path, arch = "sm_90";
  int repeats = 1;
  app.add_option("configs", path)->required()->check(CLI::ExistingFile);
  app.add_option("arch", arch);
  app.add_option("--repeats", repeats)->check(CLI::PositiveNumber);
  parse_or_exit(app, argc, argv);
  return exit_code_of("compile_cost", [&] { return run(path, arch, repeats); });
}
