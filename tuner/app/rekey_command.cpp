// SPDX-License-Identifier: Apache-2.0
// gemm-tune db rekey: rows of an earlier kernel text count again if the current text compiles to
// the same machine code. Needs no GPU.
#include <spdlog/fmt/fmt.h>

#include <algorithm>
#include <deque>
#include <future>
#include <map>
#include <set>
#include <thread>

#include "core/error.h"
#include "gpu/machine_code.h"
#include "gpu/nvrtc.h"
#include "kernel_templates/registry.h"
#include "kernel_templates/source.h"
#include "tuner/app/commands.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/signals.h"
#include "tuner/app/standard_output.h"
#include "tuner/app/target.h"
#include "tuner/report/report.h"
#include "tuner/report/slow_work.h"
#include "tuner/work/signals_blocked.h"

namespace gemm_tune {
namespace {

struct Rekeying {
  std::int64_t rows = 0, configs = 0;               // that now count for the current kernels
  std::map<std::string, std::int64_t> left;         // rows that stay, by reason
  std::int64_t not_looked_at = 0, not_reached = 0;  // rows
};

std::vector<std::string> definitions_of(const std::string& config) {
  return compile_definitions(check_config(parse_config(config)));
}

// Empty if the text does not compile.
std::string machine_code_of(const std::string& tokens, const OtherKernel::Use& use) {
  const CompileResult result =
      nvrtc_compile({"kernel.cu", tokens, {}}, definitions_of(use.config), use.arch);
  return result.ok ? machine_code(result.cubin) : std::string();
}

// nullptr if there is none.
const KernelText* find_kernel(const std::vector<KernelText>& kernels, const std::string& family) {
  const auto found = std::find_if(kernels.begin(), kernels.end(), [&](const KernelText& kernel) {
    return kernel.family == family;
  });
  return found == kernels.end() ? nullptr : &*found;
}

// Why the rows stay with the other kernel, or nullopt if both texts give the same machine code.
std::optional<std::string> why_different(const OtherKernel& from, const OtherKernel::Use& use,
                                         const KernelText* today,
                                         const std::set<std::string>& archs) {
  if (today == nullptr) return "the program has no such kernel family";
  if (!from.tokens) return "the text of their kernel is not stored";
  if (!archs.contains(use.arch)) return "the compiler at hand does not compile for " + use.arch;
  try {
    definitions_of(use.config);
  } catch (const UsageError&) {
    return "the program has no such config";
  }
  // Tokens are those of kernels without later parameters.
  if (!later_definitions(check_config(parse_config(use.config))).empty()) {
    return "the text of their later parameters is not stored";
  }
  const std::string then = machine_code_of(*from.tokens, use);
  if (then.empty()) return "the text of their kernel does not compile any more";
  const std::string now = machine_code_of(today->tokens, use);
  if (now.empty()) return "today's kernel does not compile for their config";
  if (then != now) return "the machine code differs";
  return std::nullopt;
}

// today: the program's kernel of that family, or nullptr.
struct Comparison {
  const OtherKernel* from;
  const OtherKernel::Use* use;
  const KernelText* today;
};

// The comparisons for the rows that are looked at. not_looked_at: counts the other rows.
std::vector<Comparison> comparisons_of(const std::vector<OtherKernel>& others,
                                       const std::vector<KernelText>& kernels, bool all,
                                       std::int64_t& not_looked_at) {
  std::vector<Comparison> comparisons;
  for (const OtherKernel& from : others) {
    for (const OtherKernel::Use& use : from.uses) {
      if (use.is_rival || all) {
        comparisons.push_back({&from, &use, find_kernel(kernels, from.family)});
      } else {
        not_looked_at += use.rows;
      }
    }
  }
  return comparisons;
}

// NVRTC 13.0's first compilation installs handlers of SIGINT and SIGTERM that end the process with
// exit code 4. Signals are therefore blocked during this first compilation.
void compile_nothing(const std::string& arch) {
  const SignalsBlocked blocked;
  nvrtc_compile({"nothing.cu", "extern \"C\" __global__ void gemm() {}", {}}, {}, arch);
}

// Compares as many configs at a time as there are cores. Each config has its own transaction, so
// that finished configs stay if the work is stopped.
void rekey(Database& database, const std::vector<Comparison>& comparisons, bool built_in,
           const Interruption& interruption, SlowWork& progress, Rekeying& done) {
  const std::vector<std::string> supported = nvrtc_supported_archs();
  const std::set<std::string> archs(supported.begin(), supported.end());
  compile_nothing(supported.front());
  const std::size_t at_a_time = std::max(1U, std::thread::hardware_concurrency());
  std::deque<std::future<std::optional<std::string>>> under_way;
  std::size_t started = 0;
  for (std::size_t i = 0; i < comparisons.size(); ++i) {
    progress.now_at(fmt::format("comparing machine code: {} of {} configs", i, comparisons.size()));
    while (started < comparisons.size() && under_way.size() < at_a_time &&
           !interruption.requested()) {
      const Comparison& next = comparisons[started++];
      under_way.push_back(std::async(std::launch::async, [&next, &archs] {
        return why_different(*next.from, *next.use, next.today, archs);
      }));
    }
    const auto& [from, use, today] = comparisons[i];
    if (under_way.empty()) {
      done.not_reached += use->rows;
      continue;
    }
    const std::optional<std::string> why = under_way.front().get();
    under_way.pop_front();
    if (why) {
      done.left[*why] += use->rows;
    } else {
      database.rekey(*from, *use, *today, built_in);
      done.rows += use->rows;
      ++done.configs;
    }
  }
}

std::string text_of(const Rekeying& done) {
  std::string text = fmt::format("re-keyed: {} of {} {}\n", rows_text(done.rows), done.configs,
                                 done.configs == 1 ? "config" : "configs");
  for (const auto& [why, rows] : done.left) {
    text += fmt::format("of other kernels: {}: {}\n", rows_text(rows), why);
  }
  if (done.not_looked_at > 0) {
    text += fmt::format(
        "not checked: {} that are neither the best of a problem nor of its finals; --all checks "
        "them too\n",
        rows_text(done.not_looked_at));
  }
  if (done.not_reached > 0) {
    text += fmt::format("interrupted before {}: the same command goes on\n",
                        rows_text(done.not_reached));
  }
  return text;
}

}  // namespace

int run_db_rekey(const Options& options) {
  const std::vector<KernelText> kernels = asked_kernels(options);
  // A file of an earlier version is upgraded only if the command will change it.
  const std::vector<OtherKernel> others =
      open_for_reading(options).other_kernels(hashes_of(kernels));
  if (others.empty()) {
    print_text("no row is of another kernel than the program's: nothing to re-key\n");
    return kExitOk;
  }
  const std::filesystem::path path = database_path(options);
  Database database(path, Database::Mode::create_or_open, lock_wait(options, path));
  const Interruption interruption = watch_for_signals();
  Rekeying done;
  const std::vector<Comparison> comparisons =
      comparisons_of(others, kernels, options.all, done.not_looked_at);
  {
    SlowWork progress(options.quiet, "comparing machine code");
    rekey(database, comparisons, options.kernel_dir.empty(), interruption, progress, done);
  }
  print_text(text_of(done));
  return done.not_reached > 0 ? kExitInterrupted : kExitOk;
}

}  // namespace gemm_tune
