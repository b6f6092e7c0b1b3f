// SPDX-License-Identifier: Apache-2.0
// write_rows FOLDER: FOLDER/winners.db, with rows of every kind and made-up times, and
// FOLDER/refined_choices.txt. What the rows are is repeated in released_test.cpp.
#include <cstdio>
#include <exception>
#include <filesystem>

#include "core/device/device_spec.h"
#include "db/database.h"
#include "db/validity/validity.h"
#include "dispatch/refined_choices.h"

namespace gemm_tune {
namespace {

const DeviceKey kA6000{"sm_86", "NVIDIA RTX A6000", 84},
    kH100{"sm_90", "NVIDIA H100 80GB HBM3", 132};
constexpr const char* kNaive = "naive/BM=16,BN=16,COALESCED=1,PRED=0";
constexpr const char* kEveryEdge = "naive/BM=16,BN=16,COALESCED=1,PRED=1";
constexpr const char* kVectorized =
    "vectorized_2d/BM=128,BN=128,BK=8,TM=8,TN=8,VEC=4,PAD=4,INTERLEAVE=1,PRED=0";

Timing timed(double median_us) {
  Timing timing{median_us, {median_us, median_us + 0.5, median_us - 0.25}, 20};
  timing.cold_us = median_us + 1;
  timing.conditions = GpuConditions{1410, 250.5, 51};
  return timing;
}

Outcome of_finals(double median_us, int rank) {
  Outcome outcome;
  outcome.resources = Resources{116, 0, 0, 8448, 2};
  outcome.timing = timed(median_us);
  outcome.predicted_us = median_us * 1.25;
  outcome.ranking = Ranking{rank, rank, rank == 1, true};
  outcome.compile_s = 0.5;
  outcome.gpu_s = 0.125;
  outcome.error = 2.5e-7;
  return outcome;
}

Outcome failed(Disposition disposition, const char* reason) {
  Outcome outcome;
  outcome.disposition = disposition;
  outcome.detail = reason;
  return outcome;
}

Outcome predicted(double us) {
  Outcome outcome;
  outcome.predicted_us = us;
  return outcome;
}

class Rows {
 public:
  explicit Rows(const std::filesystem::path& path)
      : database_(path, Database::Mode::create_or_open), revisions_(current_revisions()) {}

  void begin(const char* command, std::uint64_t seed) {
    RunInfo run{GT_VERSION, "13.0", "580.159.04", command, seed};
    run.gpu = {300, 8001, ""};
    database_.begin_run(run, revisions_);
  }
  void baseline(const DeviceKey& device, const char* problem, const char* name, double us) {
    database_.store_baseline(device, parse_problem(problem), {name, "13.1.0", timed(us), 5e-7});
  }
  // revision: the program's, unless given.
  void row(const DeviceKey& device, const char* problem, const std::string& config,
           const Outcome& outcome, std::string revision = "") {
    if (revision.empty()) revision = revisions_.at(config.substr(0, config.find('/')));
    const bool is_predicted = !outcome.timing && outcome.disposition == Disposition::ok;
    database_.store(device, parse_problem(problem), config, revision, outcome,
                    is_predicted ? Source::predicted : Source::measured);
  }

 private:
  Database database_;
  const KernelRevisions revisions_;
};

void write(const std::filesystem::path& folder) {
  Rows rows(folder / "winners.db");
  rows.begin("gemm-tune --sizes 64,1024", 7);
  rows.baseline(kA6000, "64x64x64", "cublasSgemm", 6);
  rows.baseline(kA6000, "64x64x64", "cublasLt", 5.5);
  rows.row(kA6000, "64x64x64", kNaive, of_finals(5, 1));
  rows.row(kA6000, "64x64x64", kVectorized,
           failed(Disposition::wrong_result, "element 7 is wrong"));
  rows.row(kA6000, "64x64x64", "naive/BM=32,BN=32,COALESCED=1,PRED=0",
           failed(Disposition::compile_failed, "ptxas: out of registers"));
  rows.baseline(kA6000, "1024x1024x1024", "cublasSgemm", 160);
  rows.row(kA6000, "1024x1024x1024", kVectorized, of_finals(151.25, 1));
  rows.row(kA6000, "1024x1024x1024", kNaive, of_finals(900, 2));
  // Of a kernel that has changed since.
  rows.row(kA6000, "512x512x512", kNaive, of_finals(50, 1), "0");
  // Of a family and a library that the reader may not have.
  rows.row(kA6000, "96x96x96", "my_tiles/BM=32,BN=32", of_finals(9, 1), "user:0123456789abcdef");
  rows.row(kA6000, "8x4096x4096", "cublaslt/ALGO=60,TILE=20", of_finals(80, 1), "13.1.0");
  rows.begin("gemm-tune --arch sm_86 --sizes 4096", 8);
  rows.row(kA6000, "4096x4096x4096", kVectorized, predicted(6543.25));
  rows.begin("gemm-tune --sizes 64,2048x768x3072", 9);
  rows.row(kH100, "64x64x64", kEveryEdge, of_finals(4, 1));
  rows.row(kH100, "1024x1024x1024", kEveryEdge, of_finals(800, 1));
  rows.row(kH100, "100x64x64:align=4/16/16/16:batch=4", "naive/BM=8,BN=8,COALESCED=1,PRED=1",
           of_finals(9, 1));
  rows.row(kH100, "2048x768x3072:type=bf16:layout=nt:epilogue=bias_column+relu",
           "wgmma/AB=2,CD=2,BM=128,BN=128,GROUPS=2,PINGPONG=0,TA=0,TB=1", of_finals(20, 1));
  rows.row(kH100, "512x512x512:type=f32+fp32_f16x3:batch=8",
           "wgmma_parts/BM=64,BN=32,GROUPS=1,PROMOTE=64,TA=0,TB=0", of_finals(12, 1));
  rows.row(kH100, "33x64x64:align=4/16/16/16:batch=4:pointers",
           "skinny/CLUSTER=0,BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=1,"
           "SPLIT_K=1,SKINNY_N=0,TA=0,TB=0,PRED=1,POINTERS=1",
           of_finals(7, 1));

  RefinedChoices choices(folder / "refined_choices.txt");
  choices.add(kH100, "1000x1000x1000", kNaive);
  choices.add(kH100, "65x65x65:layout=nt separate_c", "cublas");
}

}  // namespace
}  // namespace gemm_tune

int main(int argc, char** argv) {
  if (argc != 2) return 2;
  try {
    gemm_tune::write(argv[1]);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return 1;
  }
}
