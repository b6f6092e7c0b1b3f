// SPDX-License-Identifier: Apache-2.0
// Measures how near the FFMA peak a thread tile's main loop comes, and the cost of each ingredient:
// runs bench/kernels/ffma_ceiling.cuh with all combinations that the command line lists. Prints a
// table or JSON.
//
//   ffma_ceiling --shapes 8x8,16x8 --steps chains,registers,lds,sts,ldg,cp_async --orders rows
//   ffma_ceiling --arch sm_90 --cubins DIR    (compiles only, for bench/kernels/check_sass.py)
//
// Every kernel first runs on ones, for which its sums are known: a kernel that is wrong or was
// optimised away gives no ceiling. It is then timed on random numbers (ones would need less power)
// by the tuner's own rule, with at least nine samples of about half a millisecond each.
#include "bench/kernels/ffma_ceiling.cuh"

#include <spdlog/fmt/fmt.h>
#include <sys/wait.h>
#include <unistd.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

#include "bench/kernels/ffma_ceiling_text.h"
#include "core/device/occupancy.h"
#include "core/usable_cpus.h"
#include "gpu/compile/nvrtc.h"
#include "gpu/device.h"
#include "gpu/launch/kernel.h"
#include "gpu/launch/memory.h"
#include "gpu/nvml.h"
#include "tuner/measure/timing.h"
#include "tuner/process/scratch_dir.h"
#include "tuner/work/protocol.h"

namespace gemm_tune {
namespace {

using ceiling::Params;

constexpr const char* kEntry = "ceiling";
constexpr const char* kOrders[] = {"rows", "columns", "serpentine", "blocks2", "blocks4"};

// A step as the command line names it: the _t ones store A transposed, by single elements.
struct NamedStep {
  const char* name;
  int step, a_vec;
};
constexpr NamedStep kSteps[] = {
    {"chains", ceiling::kChains, 4}, {"registers", ceiling::kRegisters, 4},
    {"lds", ceiling::kLds, 4},       {"sts", ceiling::kSts, 4},
    {"sts_t", ceiling::kSts, 1},     {"ldg", ceiling::kLdg, 4},
    {"ldg_t", ceiling::kLdg, 1},     {"cp_async", ceiling::kCpAsync, 4}};

struct Options {
  std::vector<std::string> shapes = {"4x4",  "8x4",   "4x8",  "8x8",  "8x12",
                                     "12x8", "12x12", "16x4", "8x16", "16x8"};
  std::vector<std::string> steps, orders;
  std::vector<int> lanes_m = {4, 8}, threads = {128, 256}, ctas = {1, 2}, bk = {8};
  std::string arch, cubins;
  int device = 0;
  int samples = 9;
  unsigned jobs = static_cast<unsigned>(usable_cpus());
  bool json = false;
};

Options parse(int argc, char** argv) {
  Options o;
  for (const NamedStep& step : kSteps) o.steps.emplace_back(step.name);
  o.orders = {"serpentine", "rows", "columns", "blocks2", "blocks4"};
  CLI::App app("The FFMA ceiling by thread-tile shape, one ingredient of the main loop at a time.",
               "ffma_ceiling");
  app.add_option("--shapes", o.shapes, "Thread tiles TMxTN, multiples of 4")->delimiter(',');
  app.add_option("--steps", o.steps, "Of the loop's ingredients")
      ->delimiter(',')
      ->check(CLI::IsMember(o.steps));
  app.add_option("--orders", o.orders,
                 "Of the FFMAs; steps after 'registers' are shown in the first of them only")
      ->delimiter(',')
      ->check(CLI::IsMember(o.orders));
  app.add_option("--lanes", o.lanes_m, "Lanes of a warp along M")
      ->delimiter(',')
      ->check(CLI::IsMember({1, 2, 4, 8, 16, 32}));
  app.add_option("--threads", o.threads, "Per CTA")
      ->delimiter(',')
      ->check(CLI::IsMember({128, 256}));
  app.add_option("--ctas", o.ctas, "Per SM")->delimiter(',')->check(CLI::Range(1, 16));
  app.add_option("--bk", o.bk, "k steps per barrier")
      ->delimiter(',')
      ->check(CLI::IsMember({4, 8, 16, 32}));
  app.add_option("--arch", o.arch, "Compile for it, as in sm_90, and run nothing")
      ->needs(app.add_option("--cubins", o.cubins, "Folder to keep the cubins in, by name"));
  app.add_option("--device", o.device, "GPU to use, by CUDA's number");
  app.add_option("--samples", o.samples, "At least so many of each")->check(CLI::Range(9, 1000));
  app.add_option("--jobs", o.jobs, "Compile processes")->check(CLI::Range(1, 1024));
  app.add_flag("--json", o.json, "Rows as JSON");
  try {
    app.parse(argc, argv);
  } catch (const CLI::ParseError& error) {
    std::exit(app.exit(error));
  }
  return o;
}

const char* step_name(const Params& p) {
  const auto is_it = [&](const NamedStep& s) { return s.step == p.STEP && s.a_vec == p.A_VEC; };
  return std::find_if(std::begin(kSteps), std::end(kSteps), is_it)->name;
}

std::string name(const Params& p) {
  return fmt::format("{}-{}x{}-{}-lanes{}x{}-threads{}-ctas{}-bk{}", step_name(p), p.TM, p.TN,
                     kOrders[p.ORDER], p.LANES_M, ceiling::lanes_n(p), p.THREADS, p.CTAS, p.BK);
}

std::string definition(const Params& p) {
  return fmt::format(
      "CEILING_PARAMS={{.STEP={},.ORDER={},.TM={},.TN={},.LANES_M={},.THREADS={},.CTAS={},.BK={},"
      ".A_VEC={}}}",
      p.STEP, p.ORDER, p.TM, p.TN, p.LANES_M, p.THREADS, p.CTAS, p.BK, p.A_VEC);
}

// Shared memory that lets p.CTAS of them onto an SM and not one more.
int smem_for_exactly(const Params& p, const DeviceSpec& spec) {
  const int one_more = spec.smem_per_sm_bytes / (p.CTAS + 1) - spec.smem_reserved_per_cta_bytes;
  const int least = one_more + spec.smem_allocation_unit_bytes;
  return std::max(ceiling::smem_bytes(p), least);
}

bool fits(const Params& p, const DeviceSpec& spec) {
  // Two pairs of fragments and the sums must find room, addresses too.
  constexpr int kOthers = 16;
  const int needed = p.TM * p.TN + (p.STEP == ceiling::kChains ? 0 : 2 * (p.TM + p.TN)) + kOthers;
  const int granted =
      std::min(spec.max_registers_per_thread, spec.registers_per_sm / (p.THREADS * p.CTAS));
  if (needed > granted || p.THREADS * p.CTAS > spec.max_threads_per_sm) return false;
  if (p.STEP == ceiling::kCpAsync && spec.cc_major < 8) return false;
  const int smem = std::max(ceiling::smem_bytes(p), smem_for_exactly(p, spec));
  return smem <= spec.max_smem_per_cta_bytes &&
         (smem + spec.smem_reserved_per_cta_bytes) * p.CTAS <= spec.smem_per_sm_bytes;
}

int index_of_order(const std::string& order) {
  return static_cast<int>(std::find(std::begin(kOrders), std::end(kOrders), order) -
                          std::begin(kOrders));
}

// Grouped by shape, so that its steps stand below one another.
std::vector<Params> plan(const Options& o, const DeviceSpec& spec) {
  std::vector<Params> points;
  const auto add = [&](Params p, const std::string& step) {
    const auto* const found = std::find_if(std::begin(kSteps), std::end(kSteps),
                                           [&](const NamedStep& s) { return s.name == step; });
    p.STEP = found->step;
    p.A_VEC = found->a_vec;
    const std::size_t orders = p.STEP == ceiling::kRegisters ? o.orders.size() : 1;
    for (std::size_t i = 0; i < orders; ++i) {
      p.ORDER = index_of_order(o.orders[i]);
      // Where there are no lanes to arrange, one arrangement stands for all.
      if (p.STEP < ceiling::kLds && p.LANES_M != o.lanes_m.front()) continue;
      if (fits(p, spec)) points.push_back(p);
    }
  };
  for (const std::string& shape : o.shapes) {
    Params p{};
    char rest = 0;
    if (std::sscanf(shape.c_str(), "%dx%d%c", &p.TM, &p.TN, &rest) != 2 || p.TM < 4 || p.TN < 4 ||
        p.TM % 4 != 0 || p.TN % 4 != 0 || p.TM * p.TN > 256) {
      throw UsageError("'" + shape + "' is no thread tile: as in 8x16, multiples of 4");
    }
    for (const int bk : o.bk) {
      p.BK = bk;
      for (const int threads : o.threads) {
        p.THREADS = threads;
        for (const int ctas : o.ctas) {
          p.CTAS = ctas;
          for (const int lanes : o.lanes_m) {
            p.LANES_M = lanes;
            for (const std::string& step : o.steps) add(p, step);
          }
        }
      }
    }
  }
  return points;
}

struct Compiled {
  Params params;
  int registers = 0, spill_bytes = 0;
};

// What a compiling child tells its parent of one point.
struct Report {
  std::size_t index;
  int registers, spill_bytes;
};

void compile_share(const std::vector<Params>& points, std::size_t first, std::size_t step,
                   const std::string& arch, const std::filesystem::path& cubins, int pipe) {
  for (std::size_t i = first; i < points.size(); i += step) {
    const CompileResult result = nvrtc_compile({"bench/kernels/ffma_ceiling.cuh", kCeilingText, {}},
                                               {definition(points[i])}, arch, kEntry);
    if (!result.ok) throw Error(name(points[i]) + ": " + result.log);
    std::ofstream(cubins / (name(points[i]) + ".cubin"), std::ios::binary) << result.cubin;
    const Report report{i, result.resources.registers, result.resources.spill_bytes};
    if (::write(pipe, &report, sizeof report) != sizeof report) throw Error("a pipe broke");
  }
}

// In processes, because NVRTC does not scale over threads; CUDA must not have been started yet.
std::vector<Compiled> compile_all(const std::vector<Params>& points, const std::string& arch,
                                  const std::filesystem::path& cubins, unsigned jobs) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("no pipe can be made");
  std::fflush(nullptr);
  std::vector<pid_t> children;
  for (unsigned job = 0; job < jobs; ++job) {
    const pid_t child = ::fork();
    if (child < 0) throw Error("no process can be started");
    if (child > 0) {
      children.push_back(child);
      continue;
    }
    try {
      compile_share(points, job, jobs, arch, cubins, ends[1]);
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "ffma_ceiling: %s\n", error.what());
      ::_exit(1);
    }
  }
  ::close(ends[1]);
  std::vector<Compiled> compiled(points.size());
  std::size_t reports = 0;
  for (Report report; ::read(ends[0], &report, sizeof report) == sizeof report; ++reports) {
    compiled[report.index] = {points[report.index], report.registers, report.spill_bytes};
  }
  ::close(ends[0]);
  for (const pid_t child : children) ::waitpid(child, nullptr, 0);
  if (reports != points.size()) throw Error("not all kernels could be compiled");
  return compiled;
}

std::string read_file(const std::filesystem::path& path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), std::istreambuf_iterator<char>()};
}

struct Row {
  Compiled kernel;
  int ctas_per_sm = 0;
  double tflops = 0;
  double spread = 0;      // interquartile range over median
  double peak_share = 0;  // of the SMs' FFMA rate at the clock that was seen; 0: no clock seen
  Timing timing;
};

class Bench {
 public:
  Bench(int device, int samples)
      : spec_((set_device(device), query_device(device))), nvml_(device), timer_(stream_, nvml_) {
    rule_.min_samples = samples;
    rule_.max_samples = std::max(samples, 31);
    rule_.min_when_long = samples;
  }

  Row run(const Compiled& compiled, const std::string& cubin) {
    const Params& p = compiled.params;
    const LoadedKernel kernel(cubin, kEntry);
    const int smem = smem_for_exactly(p, spec_);
    Row row{compiled, kernel.max_active_ctas(p.THREADS, smem), 0, 0, 0, {}};
    const Grid grid{static_cast<std::int64_t>(spec_.sm_count) * p.CTAS};
    out_ =
        DeviceBuffer<float>(static_cast<std::size_t>(grid.x) * static_cast<std::size_t>(p.THREADS));
    const auto launch = [&](const DeviceBuffer<float>& data, int slices) {
      float *in = data.data(), *out = out_.data();
      void* pointers[] = {&in, &out, &slices};
      kernel.launch(grid, p.THREADS, smem, stream_.get(), pointers);
    };
    const std::size_t floats = static_cast<std::size_t>(ceiling::data_floats(p));
    make_data(floats);
    check(p, [&](int slices) { launch(ones_, slices); });
    const int slices = slices_for(p);
    row.timing = timer_.time([&](int) { launch(random_, slices); }, rule_);
    finish(row, 2.0 * p.TM * p.TN * p.BK * slices * p.THREADS * static_cast<double>(grid.x));
    return row;
  }

  const DeviceSpec& spec() const { return spec_; }

 private:
  // So long that a launch's start and end do not count: about a millisecond at the peak.
  int slices_for(const Params& p) const {
    constexpr double kCycles = 2e6;
    const double ffmas_per_cycle_and_thread =
        spec_.fp32_lanes_per_sm / static_cast<double>(p.THREADS * p.CTAS);
    return static_cast<int>(kCycles * ffmas_per_cycle_and_thread / (p.TM * p.TN * p.BK)) + 1;
  }

  void make_data(std::size_t floats) {
    if (ones_.size() >= floats) return;
    std::vector<float> host(floats, 1.0F);
    ones_ = DeviceBuffer<float>(floats);
    ones_.copy_from_host(host);
    std::mt19937 random(1);
    for (float& x : host) x = static_cast<float>(random()) * 0x1p-31F - 1;
    random_ = DeviceBuffer<float>(floats);
    random_.copy_from_host(host);
  }

  template <class Launch>
  void check(const Params& p, const Launch& launch) {
    constexpr int kCheckedSlices = 37;
    out_.fill_bytes(0xFF, stream_.get());
    launch(kCheckedSlices);
    stream_.synchronize();
    std::vector<float> sums(out_.size());
    out_.copy_to_host(sums);
    const float right = static_cast<float>(p.TM * p.TN * p.BK * kCheckedSlices);
    for (const float sum : sums) {
      if (sum != right) {
        throw Error(fmt::format("{} gives {} where {} is right", name(p), sum, right));
      }
    }
  }

  void finish(Row& row, double flops) const {
    row.tflops = flops / row.timing.median_us * 1e-6;
    row.spread = relative_spread(row.timing.samples_us);
    if (!row.timing.conditions || row.timing.conditions->sm_mhz == 0) return;
    const double peak =
        2e-6 * spec_.sm_count * spec_.fp32_lanes_per_sm * row.timing.conditions->sm_mhz;
    row.peak_share = row.tflops / peak;
  }

  DeviceSpec spec_;
  Stream stream_;
  Nvml nvml_;
  LaunchTimer timer_;
  SampleRule rule_;
  DeviceBuffer<float> ones_, random_, out_;
};

void print_header() {
  fmt::print("{:<10}{:<7}{:<12}{:<7}{:>8}{:>5}{:>5}{:>10}{:>7}{:>9}{:>8}{:>7}{:>8}{:>7}\n", "step",
             "tile", "order", "lanes", "threads", "BK", "regs", "spilled", "CTAs", "TFLOP/s",
             "spread", "n", "SM MHz", "peak");
}

void print_row(const Row& row) {
  const Params& p = row.kernel.params;
  const auto& at = row.timing.conditions;
  fmt::print(
      "{:<10}{:<7}{:<12}{:<7}{:>8}{:>5}{:>5}{:>10}{:>7}{:>9.2f}{:>7.2f}%{:>7}{:>8}{:>6.1f}%{}\n",
      step_name(p), fmt::format("{}x{}", p.TM, p.TN), kOrders[p.ORDER],
      fmt::format("{}x{}", p.LANES_M, ceiling::lanes_n(p)), p.THREADS, p.BK, row.kernel.registers,
      row.kernel.spill_bytes, row.ctas_per_sm, row.tflops, 100 * row.spread,
      row.timing.samples_us.size(), at ? std::to_string(at->sm_mhz) : "-", 100 * row.peak_share,
      row.timing.disturbance.empty() ? "" : "  disturbed: " + row.timing.disturbance);
  std::fflush(stdout);
}

nlohmann::json json_of(const Row& row) {
  const Params& p = row.kernel.params;
  return {{"step", step_name(p)},
          {"TM", p.TM},
          {"TN", p.TN},
          {"order", kOrders[p.ORDER]},
          {"lanes_m", p.LANES_M},
          {"threads", p.THREADS},
          {"BK", p.BK},
          {"registers", row.kernel.registers},
          {"spill_bytes", row.kernel.spill_bytes},
          {"ctas_per_sm", row.ctas_per_sm},
          {"tflops", row.tflops},
          {"spread", row.spread},
          {"peak_share", row.peak_share > 0 ? nlohmann::json(row.peak_share) : nullptr},
          {"timing", row.timing}};
}

int compile_only(const Options& o) {
  const auto spec = find_device_spec(o.arch);
  if (!spec) throw UsageError("'" + o.arch + "' is not an architecture that is known here");
  const std::vector<Params> points = plan(o, *spec);
  std::filesystem::create_directories(o.cubins);
  for (const Compiled& one : compile_all(points, o.arch, o.cubins, o.jobs)) {
    fmt::print("{:<60} {:>4} registers {:>6} bytes spilled\n", name(one.params), one.registers,
               one.spill_bytes);
  }
  return 0;
}

// The device's figures, asked for by a child: processes are forked afterwards.
DeviceSpec spec_of(int device) {
  int ends[2];
  if (::pipe(ends) != 0) throw Error("no pipe can be made");
  const pid_t child = ::fork();
  if (child == 0) {
    std::string text;
    try {
      check_driver();
      text = nlohmann::json(query_device(device)).dump();
    } catch (const std::exception& error) {
      std::fprintf(stderr, "ffma_ceiling: %s\n", error.what());
    }
    ::_exit(::write(ends[1], text.data(), text.size()) == static_cast<ssize_t>(text.size()) ? 0
                                                                                            : 1);
  }
  ::close(ends[1]);
  char text[4096];
  const ssize_t size = ::read(ends[0], text, sizeof text);
  ::close(ends[0]);
  ::waitpid(child, nullptr, 0);
  if (size <= 0) throw DeviceError("there is no GPU to run on; --arch with --cubins compiles only");
  return nlohmann::json::parse(text, text + size).get<DeviceSpec>();
}

int run(const Options& o) {
  if (!o.arch.empty()) return compile_only(o);
  const DeviceSpec spec = spec_of(o.device);
  const ScratchDir scratch("gemm-tune-ceiling");
  const std::filesystem::path cubins =
      o.cubins.empty() ? scratch.path() : std::filesystem::path(o.cubins);
  std::filesystem::create_directories(cubins);
  const std::vector<Compiled> kernels = compile_all(plan(o, spec), spec.arch, cubins, o.jobs);
  Bench bench(o.device, o.samples);
  nlohmann::json rows = nlohmann::json::array();
  if (!o.json) {
    fmt::print("{}, {} SMs; peak: of {} FFMAs per SM and cycle at the clock seen\n", spec.name,
               spec.sm_count, spec.fp32_lanes_per_sm);
    print_header();
  }
  for (const Compiled& kernel : kernels) {
    const Row row = bench.run(kernel, read_file(cubins / (name(kernel.params) + ".cubin")));
    if (o.json) {
      rows.push_back(json_of(row));
    } else {
      print_row(row);
    }
  }
  if (o.json) {
    fmt::print(
        "{}\n",
        nlohmann::json{{"device", spec}, {"nvrtc", nvrtc_version()}, {"rows", rows}}.dump(2));
  }
  return 0;
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  try {
    return gemm_tune::run(gemm_tune::parse(argc, argv));
  } catch (const std::exception& error) {
    std::fprintf(stderr, "ffma_ceiling: %s\n", error.what());
    return 1;
  }
}
