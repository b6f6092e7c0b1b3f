// SPDX-License-Identifier: Apache-2.0
// Writes a database for the tests of `gemm-tune report`.
//
// usage: make_report_database KIND FILE, with one of these kinds:
//   sweeps: searches replayed on the recorded sweeps of research/, and winners of the README
//   types: winners of bf16, most of them slower than cuBLAS, beside one of f32
//   one: one problem with one config
//   none: no rows
//   predicted: predictions of one problem
//   hostile: names, reasons and configs that would be code to a careless page
//   large: 10^5 rows of 200 problems
//   many: 4 rows of each of 3000 problems on two devices
// A kind has the same rows each time, but for the moments of their runs. Resources are the
// estimates that a search has before it compiles.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <exception>
#include <filesystem>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "core/device/occupancy.h"
#include "core/error.h"
#include "db/database.h"
#include "db/validity/validity.h"
#include "kernel_templates/registry/registry.h"
#include "research/sweep/sweep.h"
#include "search/space/space.h"

namespace gemm_tune {
namespace {

const DeviceKey kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};
const DeviceKey kUnlisted{"sm_90", "NVIDIA H100 PCIe", 114};
const RunInfo kRun{"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 1024,4096", 1};

Timing timing(double median_us, double cold_us) {
  Timing timing;
  timing.median_us = median_us;
  timing.launches_per_sample = 20;
  for (int i = -2; i <= 2; ++i) timing.samples_us.push_back(median_us * (1 + 0.001 * i));
  timing.cold_us = cold_us;
  return timing;
}

// rank: in finals; nothing of a search.
Outcome timed(double us, std::optional<int> rank = {}) {
  Outcome outcome;
  outcome.timing = timing(us, 1.2 * us);
  if (rank) outcome.ranking = Ranking{*rank, *rank, *rank <= 2, *rank == 1};
  return outcome;
}

Outcome failed(Disposition disposition, const std::string& reason) {
  Outcome outcome;
  outcome.disposition = disposition;
  outcome.detail = reason;
  return outcome;
}

class Writer {
 public:
  explicit Writer(const std::string& path) : database_(path, Database::Mode::create_or_open) {
    revisions_ = current_revisions();
    database_.begin_run(kRun, revisions_);
  }
  void store(const DeviceKey& device, const Problem& problem, const std::string& config,
             const Outcome& outcome, Source source = Source::measured) {
    const auto hash = revisions_.find(config.substr(0, config.find('/')));
    database_.store(device, problem, config, hash == revisions_.end() ? "other" : hash->second,
                    outcome, source);
  }
  Database& database() { return database_; }

 private:
  Database database_;
  KernelRevisions revisions_;
};

// A row of the README's table: TFLOP/s, hot; cold speed-ups over both baselines.
struct Published {
  const char* problem;
  double cublas, cublas_lt, ours, cold_over_cublas, cold_over_better;
};
constexpr Published kPublished[] = {
    {"256x256x256", 5.4, 5.41, 11.1, 1.747, 1.747},
    {"512x512x512", 21.3, 21.3, 31, 1.395, 1.395},
    {"1024x1024x1024", 38.5, 39.4, 46.2, 1.233, 1.116},
    {"2048x2048x2048", 50.2, 50.2, 50.6, 1.008, 1.007},
    {"4096x4096x4096", 51.6, 51.6, 52.9, 1.024, 1.024},
    {"8192x8192x8192", 51, 51.1, 53.2, 1.065, 1.045},
    {"1000x1000x1000", 40, 40, 43.7, 1.141, 1.133},
    {"4096x512x1024", 44.2, 44.2, 49.3, 1.110, 1.108},
    {"256x256x8192", 32.8, 33, 36.9, 1.017, 0.998},
    {"16x4096x4096", 7.01, 12.9, 20.5, 2.900, 1.564},
    {"128x4096x4096", 46.1, 46.1, 46.7, 1.010, 1.009},
    {"4096x4096x128", 37, 39.3, 43.9, 1.189, 1.119},
    {"1023x1025x1021", 35.1, 35.1, 37, 1.003, 1.001},
    {"1x4096x4096", 1.38, 1.38, 1.37, 0.990, 0.990},
    {"8x11008x4096", 7.62, 8.11, 11.5, 1.500, 1.419},
    {"64x64x65536", 20, 19.9, 28.2, 1.375, 1.375},
    {"100000x64x64", 25.3, 26.1, 31.4, 1.264, 1.218},
    {"3000x3000x3000", 43.7, 43.8, 49.7, 1.140, 1.139},
    {"384x384x384", 12.6, 12.6, 17, 1.520, 1.520},
    {"4096x4096x4096:layout=nt", 50.7, 51.1, 51.2, 1.010, 1.009},
    {"4096x4096x4096:layout=tn", 52.1, 54.2, 54.6, 1.049, 1.010},
    {"4096x4096x4096:layout=tt", 49.4, 53, 53.6, 1.079, 1.005},
    {"128x128x128:batch=64", 26.8, 27.1, 31.5, 0.848, 0.848},
};
// In the problem's layout: a config of another one does not serve it.
std::string published_config(const Problem& problem) {
  return "warp_tiled/CLUSTER=0,BM=128,BN=128,BK=16,WM=64,WN=64,TM=16,TN=8,WARPS_K=1,STAGES=4,"
         "ASYNC=1,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=" +
         std::to_string(int{transposes_a(problem.layout)}) +
         ",TB=" + std::to_string(int{transposes_b(problem.layout)}) + ",PRED=0";
}

// The config of today's kernel; empty where there is none any more.
std::string todays_config(const Sweep& sweep, const std::string& key) {
  std::vector<int> values;
  for (std::size_t at = 0; at <= key.size();) {
    const std::size_t comma = std::min(key.find(',', at), key.size());
    values.push_back(std::stoi(key.substr(at, comma - at)));
    at = comma + 1;
  }
  const auto& parameters = sweep.space.params();
  std::string text;
  if (sweep.family == "vectorized_2d") {
    for (std::size_t i = 0; i < values.size(); ++i) {
      text += (i == 0 ? "" : ",") + parameters[i].name + "=" + std::to_string(values[i]);
    }
    text = "vectorized_2d/" + text + ",PRED=0";
  } else {
    if (values[11] != 0) return "";  // STREAM_K, which is TAIL today
    const char* const names[] = {"BM", "BN", "BK",      "WM",     "WN",
                                 "TM", "TN", "WARPS_K", "STAGES", "ASYNC"};
    text = "warp_tiled/CLUSTER=0";
    for (std::size_t i = 0; i < std::size(names); ++i) {
      text += std::string(",") + names[i] + "=" + std::to_string(values[i]);
    }
    text += ",FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=" + std::to_string(values[10]) +
            ",TAIL=0,TA=0,TB=0,PRED=0";
  }
  return text;
}

Resources estimated(const std::string& config) {
  const KnownConfig known = check_config(parse_config(config));
  const DeviceSpec device = find_device_spec("sm_90").value();
  const int registers = std::min(known.traits.registers_estimate, 255);
  const int smem = static_cast<int>(known.recipe.smem_bytes);
  return {registers, 0, 0, smem,
          occupancy(device, known.recipe.block_threads, std::max(registers, 1), smem).ctas_per_sm};
}

// A search that tries the best of a few at a time, which is about what a model does.
void replay(Writer& writer, const std::string& file, const std::string& problem_text,
            std::size_t tries) {
  const Sweep sweep = read_sweeps(GT_RECORDED_SWEEPS "/" + file).at(0);
  const Problem problem = parse_problem(problem_text);
  struct Point {
    std::string config;
    std::optional<double> us;
  };
  std::vector<Point> points;
  for (std::size_t i = 0; i < sweep.keys.size(); ++i) {
    const std::string config = todays_config(sweep, sweep.keys[i]);
    if (!config.empty()) points.push_back({config, sweep.time_us[i]});
  }
  std::mt19937_64 random(1);
  std::vector<std::pair<double, std::string>> found;
  for (std::size_t t = 0; t < std::min(tries, points.size()); ++t) {
    std::size_t pick = t + random() % (points.size() - t);
    for (int other = 0; t > 20 && other < 3; ++other) {
      const std::size_t rival = t + random() % (points.size() - t);
      if (points[rival].us.value_or(1e9) < points[pick].us.value_or(1e9)) pick = rival;
    }
    std::swap(points[t], points[pick]);
    const Point& point = points[t];
    Outcome outcome = point.us ? timed(*point.us)
                               : failed(Disposition::rejected, "registers spill to local memory");
    if (point.us) {
      outcome.resources = estimated(point.config);
      found.emplace_back(*point.us, point.config);
    }
    writer.store(kH100, problem, point.config, outcome);
  }
  std::sort(found.begin(), found.end());
  for (std::size_t i = 0; i < std::min<std::size_t>(found.size(), 8); ++i) {
    Outcome outcome = timed(found[i].first, static_cast<int>(i) + 1);
    outcome.resources = estimated(found[i].second);
    writer.store(kH100, problem, found[i].second, outcome);
  }
}

// The times at which a real run would have stored the rows.
void spread_over_time(const std::string& path) {
  SQLite::Database(path, SQLite::OPEN_READWRITE).exec(R"sql(
    UPDATE measurements
    SET recorded_at = strftime('%Y-%m-%dT%H:%M:%fZ', '2026-11-21 12:00:00', (0.37 * id) || ' seconds'))sql");
}

void write_sweeps(const std::string& path) {
  {
    Writer writer(path);
    writer.database().together([&] {
      for (const Published& one : kPublished) {
        const Problem problem = parse_problem(one.problem);
        const auto us = [&](double tflops) { return 1e-6 * flops(problem) / tflops; };
        const double cold = 1.2 * us(one.ours);
        writer.database().store_baseline(
            kH100, problem,
            {"cublasSgemm", "13.1.0", timing(us(one.cublas), cold * one.cold_over_cublas)});
        writer.database().store_baseline(
            kH100, problem,
            {"cublasLt", "13.1.0", timing(us(one.cublas_lt), cold * one.cold_over_better), {}, 37});
        const std::string text = one.problem;
        if (text == "4096x4096x4096")
          replay(writer, "h100_vectorized_2d_" + text + ".json.gz", text, 700);
        for (const char* const swept :
             {"256x256x256", "512x512x512", "1024x1024x1024", "256x256x8192", "4096x512x1024"}) {
          if (text == swept) replay(writer, "h100_warp_tiled_" + text + ".json.gz", text, 300);
        }
        writer.store(kH100, problem, published_config(problem), timed(us(one.ours), 1));
      }
      const Problem problem = parse_problem("1024x1024x1024");
      const std::string start = "naive/BM=16,BN=";
      writer.store(kH100, problem, start + "32,COALESCED=1,PRED=0",
                   failed(Disposition::wrong_result, "element (3, 17) is 5, expected 6"));
      writer.store(kH100, problem, start + "64,COALESCED=1,PRED=0",
                   failed(Disposition::timed_out, "run: no answer in 10 s"));
    });
  }
  spread_over_time(path);
}

void write_types(const std::string& path) {
  Writer writer(path);
  const auto add = [&](const char* text, double cublas, double ours, const std::string& config) {
    const Problem problem = parse_problem(text);
    const double work = 1e-6 * flops(problem);
    writer.database().store_baseline(
        kH100, problem, {"cublasGemmEx", "13.1.0", timing(work / cublas, work / cublas)});
    writer.store(kH100, problem, config, timed(work / ours, 1));
  };
  // Of whatever alignment.
  const char* const kMma =
      "mma/AB=2,CD=2,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=2,ASYNC=0,VEC=1,RASTER=8,"
      "SPLIT_K=1,TA=0,TB=0,PRED=1";
  add("256x256x256:type=bf16", 13.7, 13.8, kMma);
  add("1024x1024x1024:type=bf16", 394, 213, kMma);
  add("4096x4096x4096:type=bf16", 799, 311, kMma);
  add("4096x4096x4097:type=bf16", 145, 286, kMma);
  add("4096x4096x4096", 51.6, 52.9, published_config(parse_problem("4096x4096x4096")));
}

void write_one(const std::string& path) {
  Writer writer(path);
  const Problem problem = parse_problem("1024x1024x1024");
  writer.database().store_baseline(kUnlisted, problem, {"cublasSgemm", "13.1.0", timing(56, 60)});
  writer.store(kUnlisted, problem, published_config(problem), timed(50, 1));
}

void write_predicted(const std::string& path) {
  Writer writer(path);
  const Sweep sweep = read_sweeps(GT_RECORDED_SWEEPS "/h100_warp_tiled_512x512x512.json.gz").at(0);
  for (std::size_t i = 0; i < 400; ++i) {
    const std::string config = todays_config(sweep, sweep.keys[i]);
    if (config.empty()) continue;
    Outcome outcome;
    outcome.predicted_us = sweep.time_us[i].value_or(40) * 1.1;
    outcome.resources = estimated(config);
    writer.store(kH100, parse_problem("512x512x512"), config, outcome, Source::predicted);
  }
}

void write_hostile(const std::string& path) {
  Writer writer(path);
  const std::string code =
      "</script><script>window.hostile=1</script><img src=x onerror='window.hostile=1'>\"&amp;";
  const DeviceKey device{"sm_90", "GPU \u2028" + code, 100};
  const Problem problem = parse_problem("64x64x64");
  writer.database().store_baseline(device, problem, {"cublas" + code, "13.1.0", timing(9, 10)});
  for (int i = 1; i <= 40; ++i) {
    // Neither a comma nor an equals sign may stand in a parameter's name.
    const std::string name = "</script><script>alert(1)</script><img onerror>\"'&";
    const std::string config = "naive/BM=" + std::to_string(i) +
                               ",BN=16,TM=4,TN=" + std::to_string(i % 3) + "," + name + "=" +
                               std::to_string(i % 7);
    writer.store(device, problem, config, timed(10 + i % 13, 1));
  }
  writer.store(device, problem, "naive/BM=16,BN=16,COALESCED=1,PRED=0",
               failed(Disposition::crashed, code + "\n" + code));
}

// Made-up times of the configs of warp_tiled.
void write_grid(const std::string& path, int problems, int configs) {
  Writer writer(path);
  const auto veto = [](const KnownConfig& point) -> std::optional<std::string_view> {
    if (point.traits.predicated) return "no problem has a ragged edge";
    return std::nullopt;
  };
  const Space space =
      enumerate({find_family("warp_tiled")}, settled_params(packed_problem(128, 128, 128)), veto,
                {static_cast<std::size_t>(configs), 1});
  std::mt19937_64 random(1);
  for (int p = 0; p < problems; ++p) {
    const DeviceKey& device = p % 3 == 0 ? kUnlisted : kH100;
    const Problem problem =
        packed_problem(128 * (1 + p % 20), 128 * (1 + p / 20 % 20), 128 * (1 + p / 400));
    const auto time_us = [&] { return 50.0 + static_cast<double>(random() % 1'000'000) / 1e4; };
    writer.database().together([&] {
      writer.database().store_baseline(device, problem, {"cublasSgemm", "13.1.0", timing(52, 60)});
      for (const KnownConfig& point : space.points) {
        Outcome outcome = timed(time_us());
        outcome.resources = Resources{128, 0, 0, 32768, 2};
        writer.store(device, problem, to_string(point.config()), outcome);
      }
    });
  }
}

void write(const std::string& kind, const std::string& path) {
  if (kind == "sweeps") return write_sweeps(path);
  if (kind == "types") return write_types(path);
  if (kind == "one") return write_one(path);
  if (kind == "none") return void(Writer(path));
  if (kind == "predicted") return write_predicted(path);
  if (kind == "hostile") return write_hostile(path);
  if (kind == "large") return write_grid(path, 200, 500);
  if (kind == "many") return write_grid(path, 3000, 4);
  throw UsageError("'" + kind + "' is no kind of database");
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  if (argc != 3) return 2;
  try {
    gemm_tune::write(argv[1], argv[2]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "make_report_database: %s\n", error.what());
    return 1;
  }
}
