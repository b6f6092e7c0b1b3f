// SPDX-License-Identifier: Apache-2.0
// Checks random calls of gt_gemm against fp64 on the GPU.
//
//   random_calls DATABASE CALLS [SEED [KERNEL_CACHE]] [--seconds S] [--sample]
//   random_calls DATABASE CALLS SEED KERNEL_CACHE --prepare sm_90 [--jobs 16]
//
// The calls vary: types, epilogue, C in D or apart, order, transposes, sizes from 0, leading
// dimensions, addresses and strides of each alignment, batches with and without gaps, alpha and
// beta with their special values, NaN in a C that beta 0 must not read, NULL operands that alpha 0
// must not read, eager calls and calls captured into a graph. NaN guards lie around and between all
// matrices: a guard of A or B that is read shows in the result, and overwritten guards of D are
// counted, as are changes of A, B, C and the bias. Half of the calls have whole numbers, whose
// results must be exact; the others must stay within the bound of core/types/error_bound.h. The
// kernels that check are first checked themselves: against products of the host.
//
// SEED (default: 1) and the number of a call determine the call. --prepare compiles what the calls
// will launch into KERNEL_CACHE, on a machine without a GPU too, for the architecture's typical
// card. --seconds: stop then. --sample, for compute-sanitizer: smaller calls, each buffer allocated
// by itself and without a margin, so that any access outside is seen. Needs a GPU. Exit codes: 0; 1
// a call is wrong; 2 usage; 3 no GPU, no usable database.
#include <spdlog/fmt/fmt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <set>

#include "bench/program.h"
#include "core/error.h"
#include "core/types/error_bound.h"
#include "gpu/device.h"
#include "gpu/launch/launch_graph.h"
#include "gpu/launch/stream.h"
#include "kernel_templates/registry/registry.h"
#include "runtime/jit.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/dispatch/random_calls/check_the_checks.h"
#include "tests/dispatch/random_calls/gemm_checks.h"
#include "tests/dispatch/random_calls/random_call.h"

namespace gemm_tune {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::size_t kArenaBytes = std::size_t{2} << 30;
constexpr std::size_t kAddressMultiple = 256;  // as cudaMalloc has it

struct Options {
  std::string database, cache, arch;
  std::uint64_t calls = 0, seed = 1;
  double seconds = 0;  // 0: no limit
  int jobs = 2;
  bool sample = false;
};

Options parse(int argc, char** argv) {
  Options o;
  CLI::App app("Random calls of the library against fp64.", "random_calls");
  app.add_option("DATABASE", o.database, "Of winners")->required()->check(CLI::ExistingFile);
  app.add_option("CALLS", o.calls, "How many")
      ->required()
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1} << 40));
  app.add_option("SEED", o.seed, "Of the calls; default: 1");
  CLI::Option* const cache =
      app.add_option("KERNEL_CACHE", o.cache, "Folder of compiled kernels; default: none");
  app.add_option("--prepare", o.arch, "Compile for it, as in sm_90, and make no call")
      ->needs(cache);
  app.add_option("--jobs", o.jobs, "Processes of --prepare")->check(CLI::Range(1, 256));
  app.add_option("--seconds", o.seconds, "Stop then")->check(CLI::Range(0.1, 1e6));
  app.add_flag("--sample", o.sample, "For compute-sanitizer: small calls, exact allocations");
  parse_or_exit(app, argc, argv);
  return o;
}

DrawingRule rule_of(const Options& o) {
  return o.sample ? DrawingRule{o.seed, 1e6, 0} : DrawingRule{o.seed};
}

gt_handle* opened(const Options& o) {
  gt_handle* handle = nullptr;
  const char* const cache = o.cache.empty() ? nullptr : o.cache.c_str();
  if (open_kernels(o.database.c_str(), cache, &handle) != GT_OK) throw Error(gt_last_error());
  return handle;
}

// --- what the calls will launch -------------------------------------------------------------

// The kernels that the calls launch: config, and the form that it is compiled for.
std::set<std::pair<std::string, CallForm>> kernels_of(const Options& o) {
  const std::optional<DeviceSpec> spec = find_device_spec(o.arch);
  if (!spec) throw UsageError("--prepare: '" + o.arch + "' is not an architecture known here");
  const gt_device device = {spec->arch.c_str(), spec->name.c_str(), spec->sm_count};
  // Only their alignment counts.
  const auto place = [](std::uintptr_t i) { return reinterpret_cast<void*>(i << 40); };
  const Buffers buffers = {place(1), place(2), place(3), place(4), place(5)};
  gt_handle* const handle = opened(o);
  std::set<std::pair<std::string, CallForm>> kernels;
  for (std::uint64_t i = 0; i < o.calls; ++i) {
    const RandomCall call = random_call(rule_of(o), i);
    if (call.is_empty()) continue;
    const gt_gemm_call asked = gemm_call_of(call, buffers);
    gt_recipe recipe{};
    const gt_status status = gt_lookup(handle, &device, &asked, &recipe);
    if (status != GT_OK) throw Error(text_of(call) + ": " + gt_last_error());
    if (recipe.config[0] == '\0') continue;
    GemmCall form;
    form.beta = asked.beta;
    form.C = asked.C;
    form.D = asked.D;
    // Kernels are row-major.
    form.problem.epilogue =
        call.order == GT_ROW_MAJOR ? call.epilogue() : call.epilogue().transposed();
    kernels.emplace(recipe.config, form_of(form));
  }
  gt_close(handle);
  return kernels;
}

// NVRTC's calls contend inside one process.
int prepare(const Options& o) {
  const auto kernels = kernels_of(o);
  const KernelStore store(o.cache);
  fmt::print("{} kernels for {} calls on {}\n", kernels.size(), o.calls, o.arch);
  std::fflush(stdout);
  std::vector<pid_t> children;
  for (int job = 0; job < o.jobs; ++job) {
    const pid_t child = ::fork();
    if (child < 0) throw Error("no process can be started");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    int number = 0, code = 0;
    try {
      const CompileResult checks = compile_gemm_checks(o.arch);
      if (!checks.ok)
        throw Error("tests/dispatch/random_calls/gemm_checks.cuh does not compile: " + checks.log);
      for (const auto& [config, form] : kernels) {
        if (number++ % o.jobs != job) continue;
        jit_cubin(check_config(parse_config(config)), form, o.arch, &store);
      }
    } catch (const std::exception& error) {
      std::fprintf(stderr, "random_calls: %s\n", error.what());
      code = 3;
    }
    ::_exit(code);
  }
  bool good = true;
  for (const pid_t child : children) {
    int status = 0;
    ::waitpid(child, &status, 0);
    good = good && WIFEXITED(status) && WEXITSTATUS(status) == 0;
  }
  return good ? 0 : 3;
}

// --- calls, checked --------------------------------------------------------------------------

// Device memory for one call at a time.
class CallMemory {
 public:
  explicit CallMemory(bool exact) : exact_(exact), arena_(exact ? 0 : kArenaBytes) {}

  // nullptr for no bytes.
  void* take(std::size_t bytes) {
    if (bytes == 0) return nullptr;
    if (exact_) return own_.emplace_back(bytes).data();
    const std::size_t at = used_;
    used_ += (bytes + kAddressMultiple - 1) / kAddressMultiple * kAddressMultiple;
    if (used_ > arena_.size()) throw Error("a call needs more memory than is set aside");
    return arena_.data() + at;
  }

  void release() {
    used_ = 0;
    own_.clear();
  }

 private:
  bool exact_;
  DeviceBuffer<char> arena_;
  std::size_t used_ = 0;
  std::vector<DeviceBuffer<char>> own_;
};

// A buffer of a call and a copy of what was in it before.
struct Kept {
  Operand operand;
  void* now = nullptr;
  void* before = nullptr;
};

struct Totals {
  unsigned long long calls = 0, failed = 0, wrong = 0, touched = 0, captured = 0;

  bool good() const { return failed + wrong + touched == 0; }
};

class Checker {
 public:
  Checker(gt_handle* handle, const Options& o)
      : handle_(handle),
        rule_(rule_of(o)),
        sm_(query_device(current_device()).sm()),
        memory_(o.sample) {}

  // Adds to the totals; prints a call that is not as it should be.
  void check(std::uint64_t number, Totals& totals);

 private:
  Kept place(const Operand& operand, Fill fill, std::uint64_t seed, cudaStream_t stream);

  gt_handle* handle_;
  DrawingRule rule_;
  int sm_;
  CallMemory memory_;
  GemmChecks checks_;
  Stream own_;
  Counter wrong_ = new_counter(), touched_ = new_counter();
};

Kept Checker::place(const Operand& operand, Fill fill, std::uint64_t seed, cudaStream_t stream) {
  const std::size_t bytes = operand.cells_at(nullptr).bytes();
  const Kept kept = {operand, memory_.take(bytes), memory_.take(bytes)};
  if (bytes == 0) return kept;
  checks_.fill_guards(operand.cells_at(kept.now), stream);
  checks_.set_elements(operand.matrix_at(kept.now), seed, fill, stream);
  GT_CUDA(cudaMemcpyAsync(kept.before, kept.now, bytes, cudaMemcpyDeviceToDevice, stream));
  return kept;
}

// Eagerly, or as a graph. The status is the call's.
gt_status launch(gt_handle* handle, const Stream& own, cudaStream_t stream, const RandomCall& call,
                 const Buffers& buffers) {
  const gt_gemm_call asked = gemm_call_of(call, buffers);
  if (!call.captured) return gt_gemm(handle, stream, &asked);
  gt_status status = GT_OK;
  try {
    const LaunchGraph graph(own, [&] {
      status = gt_gemm(handle, stream, &asked);
      if (status != GT_OK) throw Error(gt_last_error());
    });
    graph.launch(own.get());
    own.synchronize();
  } catch (const Error&) {
    if (status == GT_OK) throw;
    cudaGetLastError();  // the call's failure says more than that of the capture
  }
  return status;
}

void Checker::check(std::uint64_t number, Totals& totals) {
  const RandomCall call = random_call(rule_, number);
  const cudaStream_t stream = call.default_stream ? nullptr : own_.get();
  const Fill fill = call.whole_numbers ? Fill::whole : Fill::uniform;
  const Fill fill_c = call.beta == 0 ? Fill::nan : fill;
  Random random(rule_.seed + 1, number);
  for (const Counter* counter : {&wrong_, &touched_}) {
    GT_CUDA(cudaMemsetAsync(counter->data(), 0, counter->size_bytes(), stream));
  }
  const Kept A = place(call.A, fill, random.bits(), stream);
  const Kept B = place(call.B, fill, random.bits(), stream);
  const Kept C = place(call.C, fill_c, random.bits(), stream);
  const Kept bias = place(call.bias, fill, random.bits(), stream);
  // Where C is separate, nothing may be read of D.
  const Kept D = place(call.D, call.separate_c ? Fill::nan : fill_c, random.bits(), stream);
  const gt_status status =
      launch(handle_, own_, stream, call, {A.now, B.now, C.now, D.now, bias.now});
  if (call.batch > 0 && status == GT_OK) {
    CheckedProduct product;
    product.A = call.A.matrix_at(A.now);
    product.B = call.B.matrix_at(B.now);
    product.C = call.separate_c ? call.C.matrix_at(C.now) : call.D.matrix_at(D.before);
    product.D = call.D.matrix_at(D.now);
    product.bias = call.bias.matrix_at(bias.now);
    product.bias.rows = call.M;
    product.bias.cols = call.N;
    product.bias.row_step = call.order == GT_ROW_MAJOR ? 0 : 1;
    product.bias.col_step = call.order == GT_ROW_MAJOR ? 1 : 0;
    product.bias.stride = 0;
    product.alpha = call.alpha;
    product.beta = call.beta;
    product.has_bias = call.has_bias;
    product.has_relu = call.has_relu;
    product.exact = call.whole_numbers;
    product.bound = error_bound(call.signature(), call.K + 1, sm_);  // and the bias
    checks_.check_elements(product, wrong_, stream);
    checks_.count_touched(call.D.cells_at(D.now), touched_, stream);
  } else if (D.now != nullptr) {
    checks_.count_different(call.D.cells_at(D.now), D.before, touched_, stream);
  }
  for (const Kept* kept : {&A, &B, &C, &bias}) {
    if (kept->now == nullptr) continue;
    checks_.count_different(kept->operand.cells_at(kept->now), kept->before, touched_, stream);
  }
  const unsigned long long elements = value_of(wrong_), guards = value_of(touched_);
  memory_.release();
  ++totals.calls;
  totals.captured += call.captured ? 1 : 0;
  totals.failed += status != GT_OK ? 1 : 0;
  totals.wrong += elements > 0 ? 1 : 0;
  totals.touched += guards > 0 ? 1 : 0;
  if (status == GT_OK && elements == 0 && guards == 0) return;
  fmt::print("BAD  call {}: {}: {}, {} elements wrong, {} guards touched\n", number, text_of(call),
             status == GT_OK ? gt_status_string(status) : gt_last_error(), elements, guards);
  std::fflush(stdout);
}

int run(const Options& o) {
  check_driver();
  check_the_checks();
  gt_handle* const handle = opened(o);
  Totals totals;
  const auto start = Clock::now();
  const auto seconds = [&] { return std::chrono::duration<double>(Clock::now() - start).count(); };
  {
    Checker checker(handle, o);
    for (std::uint64_t i = 0; i < o.calls && (o.seconds == 0 || seconds() < o.seconds); ++i) {
      try {
        checker.check(i, totals);
      } catch (const Error& error) {  // a fault shows at the next synchronisation
        throw Error(
            fmt::format("call {}: {}: {}", i, text_of(random_call(rule_of(o), i)), error.what()));
      }
    }
  }
  gt_close(handle);
  const DeviceSpec device = query_device(current_device());
  fmt::print(
      "{}: {}, driver {}, seed {}, {} of {} random calls in {:.1f} s, {} of them captured: {} "
      "failed, {} with wrong elements, {} with touched guards or operands\n",
      totals.good() ? "good" : "BAD", device.name, driver_version().value_or("unknown"), o.seed,
      totals.calls, o.calls, seconds(), totals.captured, totals.failed, totals.wrong,
      totals.touched);
  return totals.good() ? 0 : 1;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  using namespace gemm_tune;
  const Options options = parse(argc, argv);
  return exit_code_of("random_calls",
                      [&] { return options.arch.empty() ? run(options) : prepare(options); });
}
