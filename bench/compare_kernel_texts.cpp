// SPDX-License-Identifier: Apache-2.0
// Compares the machine code of two versions of the kernel texts, config by config.
//
// usage: compare_kernel_texts DIR CONFIGS ARCH...
//   DIR: a folder that holds another commit's kernel_templates/. CONFIGS: a file whose lines end in
//   a config, as every_feature.txt. Compiles both texts of each config for each architecture, and
//   lists the cubins that differ with their registers and spilled bytes, DIR's first. Exit code 1
//   where a config spills more, or its registers grow by more than 2. Needs no GPU.
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>

#include "core/error.h"
#include "gpu/machine_code.h"
#include "gpu/nvrtc.h"
#include "kernel_templates/registry.h"
#include "kernel_templates/source.h"

namespace {

using namespace gemm_tune;

CompileResult compiled(const KernelSource& source, const KnownConfig& config,
                       const std::string& arch) {
  return nvrtc_compile({source.path, source.text, source.headers}, compile_definitions(config),
                       arch);
}

struct Counts {
  int equal = 0, different = 0, worse = 0, neither = 0;
};

void compare(const std::filesystem::path& dir, const std::string& text, const std::string& arch,
             Counts& counts) {
  const KnownConfig config = check_config(parse_config(text));
  const CompileResult before = compiled(kernel_source(*config.family, dir), config, arch);
  const CompileResult now = compiled(kernel_source(*config.family), config, arch);
  if (!before.ok && !now.ok) {
    ++counts.neither;
  } else if (before.ok && now.ok && machine_code(before.cubin) == machine_code(now.cubin)) {
    ++counts.equal;
  } else {
    const bool worse =
        !now.ok || (before.ok && (now.resources.spill_bytes > before.resources.spill_bytes ||
                                  now.resources.registers > before.resources.registers + 2));
    ++(worse ? counts.worse : counts.different);
    std::printf("%s %s: registers %d to %d, spilled bytes %d to %d\n", arch.c_str(), text.c_str(),
                before.resources.registers, now.resources.registers, before.resources.spill_bytes,
                now.resources.spill_bytes);
    std::fflush(stdout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  if (argc < 4) {
    std::fprintf(stderr, "usage: compare_kernel_texts DIR CONFIGS ARCH...\n");
    return 2;
  }
  try {
    std::ifstream configs(argv[2]);
    if (!configs) throw UsageError(std::string("'") + argv[2] + "' cannot be read");
    Counts counts;
    for (std::string line; std::getline(configs, line);) {
      if (line.empty() || line.front() == '#') continue;
      const std::string config = line.substr(line.find_last_of(' ') + 1);
      for (int i = 3; i < argc; ++i) compare(argv[1], config, argv[i], counts);
    }
    std::printf(
        "equal %d, different %d, with more registers or spills %d, compiled by neither %d\n",
        counts.equal, counts.different, counts.worse, counts.neither);
    return counts.worse == 0 ? 0 : 1;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "compare_kernel_texts: %s\n", error.what());
    return 2;
  }
}
