// SPDX-License-Identifier: Apache-2.0
#include "choose/export_header.h"

#include <cstdlib>
#include <sstream>

#include "core/error.h"
#include "tests/db/sample_database.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

// Reads "M N K alignment layout batch types" lines, prints what the header's lookup() says to each.
constexpr const char* kLookupProgram = R"cpp(
#include "gemm_tune_sm_86.h"
#include <cstdio>
  using namespace gemm_tune_sm_86;
  int main() {
    const char* const words[] = {"exact", "nearest", "default", "none"};
    Problem p{1, 1, 1, 1};
    int layout, type_a, type_b, type_cd;
    while (std::scanf("%lld %lld %lld %d %d %lld %d %d %d", &p.M, &p.N, &p.K, &p.alignment, &layout,
                      &p.batch, &type_a, &type_b, &type_cd) == 9) {
      p.layout = static_cast<Layout>(layout);
      p.type_a = static_cast<ElementType>(type_a);
      p.type_b = static_cast<ElementType>(type_b);
      p.type_cd = static_cast<ElementType>(type_cd);
      const Lookup found = lookup(p);
      std::printf("%s", words[static_cast<int>(found.match)]);
      if (found.kernel != nullptr) {
        const Kernel& k = *found.kernel;
        const Grid grid = k.grid(p, 84);
        std::printf(" %s %d %d x %d in %lld x %lld x %lld, %lld bytes", k.config, k.block_threads,
                    k.tile_m, k.tile_n, grid.x, grid.y, grid.z, k.workspace_bytes(p, 84));
        std::printf(" smem %d align %d multiples %d %d %d VEC %d", k.smem_bytes, k.alignment,
                    k.multiple_m, k.multiple_n, k.multiple_k, k.value("VEC"));
      }
      if (found.winner != nullptr) {
        const Winner& w = *found.winner;
        std::printf(" from %lldx%lldx%lld of %lld on %s %s%s", w.problem.M, w.problem.N,
                    w.problem.K, w.problem.batch, w.device, w.measured ? "measured" : "predicted",
                    found.is_specialisation ? " specialisation" : "");
      }
      std::printf("\n");
    }
  }
)cpp";

// The same sentence from choose().
std::string said_by_choose(const Tuned& winners, const Problem& problem) {
  const Choice choice = choose(winners, {"sm_86", "", 0}, problem);
  std::ostringstream text;
  text << to_string(choice.match);
  if (choice.config) {
    const LaunchRecipe& k = choice.config->recipe;
    const Config config = choice.config->config();
    const Grid grid = grid_of(k, problem, 84);
    text << ' ' << to_string(config) << ' ' << k.block_threads << ' ' << k.tile_m << " x "
         << k.tile_n << " in " << grid.x << " x " << grid.y << " x " << grid.z << ", "
         << workspace_bytes(k, problem, 84) << " bytes smem " << k.smem_bytes << " align "
         << k.alignment << " multiples " << k.multiple_m << ' ' << k.multiple_n << ' '
         << k.multiple_k << " VEC " << config.get("VEC").value_or(-1);
  }
  if (choice.winner) {
    const Record& w = *choice.winner;
    text << " from " << w.problem.M << 'x' << w.problem.N << 'x' << w.problem.K << " of "
         << w.problem.batch << " on " << w.device.name << ' ' << to_string(w.source)
         << (choice.is_specialisation ? " specialisation" : "");
  }
  return text.str();
}

std::vector<Problem> many_problems() {
  const std::int64_t edges[] = {1,   2,    7,    16,   64,   100,       127,
                                128, 1000, 1024, 4095, 4096, 100000000, 2000000000};
  std::vector<Problem> problems;
  for (const std::int64_t M : edges) {
    for (const std::int64_t N : edges) {
      for (const std::int64_t K : {0, 1, 8, 100, 1024, 4096, 8192}) {
        for (const int alignment : {1, 2, 4}) {
          Problem problem = packed_problem(M, N, K);
          problem = in_class(problem, alignment);
          problems.push_back(problem);
        }
        for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
          // A fifth of the sizes, in every layout and in batches.
          if ((M + N + K) % 5 != 0) continue;
          for (const std::int64_t batch : {2, 64, 65535, 65536}) {
            problems.push_back(packed_problem(M, N, K, layout, batch));
          }
        }
      }
    }
  }
  return problems;
}

class ExportHeaderTest : public DbTest {
 protected:
  // Compiles main.cpp of the test's folder as C++17 with every warning an error; empty where clean.
  std::string compile(const std::string& compiler, const std::string& flags = "") {
    const std::string command =
        compiler + " -std=c++17 -Wall -Wextra -Wconversion -Wpedantic" + " -Wshadow -Werror " +
        flags + " -o '" + (folder_ / "main").string() + "' '" + (folder_ / "main.cpp").string() +
        "' 2> '" + (folder_ / "log").string() + "'";
    const int status = std::system(command.c_str());
    return status == 0 ? "" : compiler + ": " + read_file(folder_ / "log");
  }

  void write(const std::string& name, const std::string& text) {
    std::ofstream(folder_ / name, std::ios::binary) << text;
  }

  void write_header(const Database& database, const std::string& arch) {
    write("gemm_tune_" + arch + ".h", export_header(database, arch, kRevisions));
  }

  // Of two configs of a problem the faster is chosen, and the header holds the slower, which lacks
  // the parameter.
  void expect_the_slower(const std::string& problem, const std::string& faster,
                         const std::string& slower, const char* parameter) {
    Database database = writable(file_);
    store_measured(database, kA6000, problem, faster, 60);
    store_measured(database, kA6000, problem, slower, 70);
    const Choice best =
        choose(load_winners(database, "sm_86", kRevisions), kA6000, parse_problem(problem));
    EXPECT_EQ(best.winner->outcome.time_us(), 60);
    EXPECT_THAT(to_string(best.config->config()), testing::HasSubstr(parameter));
    const std::string header = export_header(database, "sm_86", kRevisions);
    EXPECT_THAT(header, testing::HasSubstr("70.000"));
    EXPECT_THAT(header, testing::Not(testing::HasSubstr(parameter)));
  }

  // Asks the header's lookup() and choose() for each problem; counts their answers by kind.
  std::map<std::string, int> compare_answers(const Database& database,
                                             const std::vector<Problem>& problems) {
    std::map<std::string, int> matches;
    write_header(database, "sm_86");
    write("main.cpp", kLookupProgram);
    EXPECT_EQ(compile(compilers().at(0)), "");
    std::ostringstream input;
    for (const Problem& p : problems) {
      input << p.M << ' ' << p.N << ' ' << p.K << ' ' << alignment_class(p) << ' '
            << static_cast<int>(p.layout) << ' ' << p.batch << ' '
            << static_cast<int>(p.signature.a) << ' ' << static_cast<int>(p.signature.b) << ' '
            << static_cast<int>(p.signature.d) << '\n';
    }
    write("in", input.str());
    const std::string base = folder_.string();
    EXPECT_EQ(std::system((base + "/main < " + base + "/in > " + base + "/out").c_str()), 0);
    std::istringstream output(read_file(folder_ / "out"));
    const Tuned winners(load_winners(database, "sm_86", kRevisions));
    for (const Problem& problem : problems) {
      std::string line;
      const bool is_there = static_cast<bool>(std::getline(output, line));
      EXPECT_TRUE(is_there);
      EXPECT_EQ(line, said_by_choose(winners, problem)) << to_string(problem);
      if (HasFailure()) break;  // one of thousands is enough
      ++matches[line.substr(0, line.find(' '))];
      if (line.ends_with("specialisation")) ++matches["specialisation"];
      if (!line.starts_with("none") && line.find(", 0 bytes") == std::string::npos) {
        ++matches["workspace"];
      }
    }
    return matches;
  }

  // The compilers that were found when the tests were configured, the project's own among them.
  static std::vector<std::string> compilers() {
    std::istringstream paths(GT_TEST_COMPILERS);
    std::vector<std::string> found;
    for (std::string path; std::getline(paths, path, ':');) found.push_back(path);
    return found;
  }
};

TEST_F(ExportHeaderTest, LookupAnswersAsChooseDoes) {
  const Database database = sample_database(file_);
  std::map<std::string, int> matches = compare_answers(database, many_problems());
  // The problems reach every kind of answer.
  EXPECT_GT(matches["exact"], 2);
  EXPECT_GT(matches["nearest"], 1000);
  EXPECT_GT(matches["specialisation"], 500);
  EXPECT_GT(matches["default"], 1000);
  EXPECT_GT(matches["workspace"], 100);
  EXPECT_GT(matches["none"], 10);
}

TEST_F(ExportHeaderTest, LookupNeverCrossesTypesAndAnswersAsChooseDoes) {
  Database database = writable(file_);
  const auto mma = [](const char* types, const char* layout) {
    return "mma/" + std::string(types) +
           ",BM=128,BN=64,BK=32,WM=64,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8,RASTER=8,SPLIT_K=2," +
           layout + ",PRED=0";
  };
  store_measured(database, kA6000, "512x512x512", kWholeTiles, 20);
  store_measured(database, kA6000, "512x512x512:type=bf16", mma("AB=2,CD=2", "TA=0,TB=0"), 5);
  store_measured(database, kA6000, "512x512x512:type=bf16/bf16/f32/f32:layout=nt",
                 mma("AB=2,CD=0", "TA=0,TB=1"), 6);
  store_measured(database, kA6000, "512x512x512:type=f32/bf16/f32/f32",
                 "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,"
                 "ASYNC=0,FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=0,"
                 "TYPE_B=2",
                 30);
  std::vector<Problem> problems;
  for (const char* types : {"f32", "bf16", "bf16/bf16/f32/f32", "f32/bf16/f32/f32"}) {
    for (const Layout layout : {Layout::nn, Layout::nt, Layout::tn, Layout::tt}) {
      for (const std::int64_t n : {511, 512, 514, 516, 520, 1024}) {
        for (const std::int64_t batch : {1, 3}) {
          problems.push_back(packed_problem(512, n, 512, layout, batch, parse_signature(types)));
          problems.push_back(in_class(problems.back(), 2));
        }
      }
    }
  }
  std::map<std::string, int> matches = compare_answers(database, problems);
  EXPECT_EQ(matches["exact"], 4);
  EXPECT_GT(matches["nearest"], 30);
  EXPECT_GT(matches["specialisation"], 30);
  EXPECT_GT(matches["default"], 50);
  EXPECT_GT(matches["workspace"], 10);
  EXPECT_EQ(matches["none"], 0);
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
    using namespace gemm_tune_sm_86;
    constexpr ElementType kBf16 = ElementType::bf16;
    constexpr Problem kTuned{512, 512, 512, 8, Layout::nn, 1, kBf16, kBf16, kBf16};
    static_assert(lookup(kTuned).match == Match::exact, "");
    static_assert(lookup(kTuned).winner->variant_count == 5, "");
    constexpr ElementType kF16 = ElementType::f16;
    static_assert(lookup({512, 512, 512, 8, Layout::nn, 1, kF16, kF16}).match == Match::none,
                  "no f16 was tuned");
    static_assert(lookup({512, 512, 512, 8}).match == Match::none,
                  "8 elements of f32 are 32 "
                  "bytes");
    static_assert(lookup({512, 512, 512, 4}).winner->problem.type_a == ElementType::f32, "");
    int main() {})cpp");
  EXPECT_EQ(compile(compilers().at(0)), "");
}

TEST_F(ExportHeaderTest, AKernelOfAnotherClassThanItsTypesServesThatClassAlone) {
  Database database = writable(file_);
  const auto mma = [](const char* types, const char* accuracy) {
    return "mma/" + std::string(types) +
           ",RASTER=8,SPLIT_K=1,TA=0,TB=0,PRED=1,ACCURACY=" + accuracy;
  };
  const char* const tf32 = "AB=0,CD=0,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=8,STAGES=3,ASYNC=1,VEC=4";
  const char* const f16 = "AB=1,CD=1,BM=64,BN=64,BK=32,WM=32,WN=32,MMA_K=16,STAGES=3,ASYNC=1,VEC=8";
  store_measured(database, kA6000, "512x512x512", kWholeTiles, 20);
  store_measured(database, kA6000, "256x512x512:type=f32+tf32", mma(tf32, "2"), 5);
  store_measured(database, kA6000, "512x512x512:type=f16", mma(f16, "5"), 6);
  store_measured(database, kA6000, "256x512x512:type=f16+sums_fp16", mma(f16, "6"), 4);
  write_header(database, "sm_86");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
    using namespace gemm_tune_sm_86;
    constexpr Problem of_class(Problem problem, Accuracy accuracy) {
      problem.accuracy = accuracy;
      return problem;
    }
    constexpr ElementType kF16 = ElementType::f16;
    constexpr Problem kF32Problem{256, 512, 512, 4}, kTransposed{256, 512, 512, 4, Layout::nt};
    constexpr Problem kTf32 = of_class(kF32Problem, Accuracy::tf32);
    constexpr Problem kF16Problem{256, 512, 512, 8, Layout::nn, 1, kF16, kF16, kF16};
    constexpr Problem kSums16 = of_class(kF16Problem, Accuracy::sums_fp16);
    constexpr Lookup kFound = lookup(kTf32);
    static_assert(kFound.match == Match::exact && kFound.kernel->accuracy == Accuracy::tf32, "");
    static_assert(refusal(*kFound.kernel, kF32Problem) == Refusal::accuracy, "");
    static_assert(lookup(kF32Problem).match == Match::nearest, "");
    static_assert(lookup(kF32Problem).winner->time_us == 20, "");
    static_assert(lookup(kF32Problem).kernel->accuracy == Accuracy::fp32, "");
    static_assert(lookup(kTransposed).kernel->accuracy == Accuracy::fp32, "");
    static_assert(lookup(of_class(kTransposed, Accuracy::tf32)).match == Match::builtin, "");
    static_assert(lookup(of_class(kTransposed, Accuracy::tf32)).kernel->accuracy == Accuracy::tf32, "");
    static_assert(lookup(of_class(kF32Problem, Accuracy::fp32_f16x3)).winner->time_us == 20, "");
    static_assert(lookup(kSums16).winner->time_us == 4, "");
    static_assert(lookup(kF16Problem).winner->time_us == 6, "");
    int main() {})cpp");
  for (const std::string& compiler : compilers()) EXPECT_EQ(compile(compiler), "");
}

TEST_F(ExportHeaderTest, ADefaultThatNoHeaderTellsOfIsLeftOut) {
  Database database = writable(file_);
  const DeviceKey a100 = {"sm_80", "NVIDIA A100", 108};
  store_measured(database, a100, "512x512x512:type=f32+fp32_f16x3", kWholeTiles, 20);
  EXPECT_THAT(export_header(database, "sm_80", kRevisions),
              testing::Not(testing::HasSubstr("mma_parts")));
}

// There g++ does not know in a constant expression that the address of an object is not null.
TEST_F(ExportHeaderTest, LookupIsAConstantExpressionUnderUndefinedBehaviorSanitizerToo) {
  const Database database = sample_database(file_);
  write_header(database, "sm_86");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
    using namespace gemm_tune_sm_86;
    static_assert(lookup({1000, 1000, 1000, 4}).match == Match::nearest, "");
    static_assert(lookup({0, 1, 1, 1}).match == Match::none, "");
    int main() {})cpp");
  for (const std::string& compiler : compilers()) {
    EXPECT_EQ(compile(compiler, "-fsanitize=undefined -fsyntax-only"), "");
  }
}

TEST_F(ExportHeaderTest, HandsOutEachWinnerAsTheConfigsThatTheFinalsVerify) {
  const Database database = sample_database(file_);
  write_header(database, "sm_86");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
#include <cstdio>
    int main() {
      for (const gemm_tune_sm_86::Winner& winner : gemm_tune_sm_86::kWinners) {
        for (int i = 0; i < winner.variant_count; ++i) {
          std::puts(gemm_tune_sm_86::kKernels[winner.variants[i]].config);
        }
      }
    }
  )cpp");
  ASSERT_EQ(compile(compilers().at(0)), "");
  const std::string base = folder_.string();
  ASSERT_EQ(std::system((base + "/main > " + base + "/out").c_str()), 0);
  std::string want;
  for (const Winner& winner : load_winners(database, "sm_86", kRevisions)) {
    for (const KnownConfig& variant : served_variants(winner.config)) {
      want += to_string(variant.config()) + "\n";
    }
  }
  EXPECT_EQ(read_file(folder_ / "out"), want);
}

// Up to the digits of VECS.
const std::string kWidths =
    "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
    "FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1,VECS=";

TEST_F(ExportHeaderTest, AKernelOfOperandsOfDifferentWidthsServesThoseThatAreKnownToAllowIt) {
  Database database = writable(file_);
  store_measured(database, kA6000, "512x50257x768", kWidths + "411", 60);
  write_header(database, "sm_86");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
    using namespace gemm_tune_sm_86;
    constexpr Problem operands(int a, int b, int cd) {
      Problem p{512, 50257, 768, 1};
      p.alignment_a = a;
      p.alignment_b = b;
      p.alignment_cd = cd;
      return p;
    }
    static_assert(lookup(operands(4, 1, 1)).kernel->value("VECS") == 411, "");
    static_assert(lookup(operands(1, 4, 4)).kernel->value("VECS") == -1, "");
    static_assert(lookup({512, 50257, 768, 1}).kernel->value("VECS") == -1, "");
    static_assert(lookup({512, 50257, 768, 1}).is_specialisation, "");
    constexpr Lookup kFound = lookup(aligned_by({512, 50257, 768}, 768, 50257, 50257));
    static_assert(kFound.kernel->value("VECS") == 411 && !kFound.is_specialisation, "");
    static_assert(lookup(aligned_by({512, 50257, 768}, 770, 50257, 50257)).is_specialisation, "");
    int main() {})cpp");
  EXPECT_EQ(compile(compilers().at(0)), "");
}

TEST_F(ExportHeaderTest, AWinnerForOperandsAlignedDifferentlyStandsBesideThatOfTheirClass) {
  Database database = writable(file_);
  store_measured(database, kA6000, "512x512x512:align=4", kPredicated, 70);
  store_measured(database, kA6000, "512x512x512:align=16/16/4/4", kWidths + "441", 60);
  write_header(database, "sm_86");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
    using namespace gemm_tune_sm_86;
    constexpr Problem operands(int a, int b, int cd) {
      constexpr ElementType kF32 = ElementType::f32;
      return {512, 512, 512, 1, Layout::nn, 1, kF32, kF32, kF32, a, b, cd};
    }
    constexpr bool is_exact(const Lookup& found, double time_us) {
      return found.match == Match::exact && found.winner->time_us == time_us;
    }
    static_assert(is_exact(lookup(operands(4, 4, 1)), 60) &&
                      !lookup(operands(4, 4, 1)).is_specialisation,
                  "");
    static_assert(is_exact(lookup(operands(1, 1, 1)), 70), "");
    static_assert(is_exact(lookup({512, 512, 512, 1}), 70), "");
    static_assert(lookup(operands(4, 1, 1)).match == Match::exact, "");
    static_assert(lookup({512, 512, 512, 2}).match == Match::nearest, "");
    int main() {})cpp");
  EXPECT_EQ(compile(compilers().at(0)), "");
}

TEST_F(ExportHeaderTest, LookupFallsBackToTheBuiltinDefaultAsChooseDoes) {
  Database database = writable(file_);
  // 32 x 64 tiles: too many for a grid where 64 x 64 tiles are not.
  store_measured(database, kA6000, "1024x1024x1024", kPredicated, 60);
  write_header(database, "sm_86");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
    using namespace gemm_tune_sm_86;
    static_assert(lookup({1000000000, 8000, 8, 4}).match == Match::builtin, "");
    static_assert(lookup({1000000000, 8000, 8, 2}).kernel->value("VEC") == 2, "");
    static_assert(lookup({1000000000, 8000, 8, 2}).winner == nullptr, "");
    int main() {})cpp");
  EXPECT_EQ(compile(compilers().at(0)), "");
  Problem problem = packed_problem(1000000000, 8000, 8);
  const Tuned winners(load_winners(database, "sm_86", kRevisions));
  EXPECT_EQ(choose(winners, {"sm_86", "", 0}, problem).match, Match::builtin);
}

TEST_F(ExportHeaderTest, HoldsTheBestOfOneLaunchWhereTheWinnerTakesTwo) {
  const std::string vectorized = "vectorized_2d/BM=64,BN=32,BK=16,TM=8,TN=4,VEC=";
  const std::string rest = ",PAD=4,INTERLEAVE=1,PRED=1";
  expect_the_slower("1024x1024x1001", vectorized + "4" + rest + ",REPACK=1",
                    vectorized + "1" + rest, "REPACK");
}

TEST_F(ExportHeaderTest, HoldsTheBestWithoutAReductionInALaunchOfItsOwn) {
  const std::string shared =
      "warp_tiled/CLUSTER=0,BM=64,BN=64,BK=16,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
      "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=16,TAIL=0,TA=0,TB=0,PRED=1";
  expect_the_slower("256x256x8192", shared + ",REDUCE=1", shared, "REDUCE");
}

TEST_F(ExportHeaderTest, NamesTheReasonsWhereNoWinnerCanBeExported) {
  Database database = writable(file_);
  KernelRevisions revisions = kRevisions;
  revisions["wgmma"] = revisions["naive"] = kRevision;
  const auto expect_reason = [&](const char* arch, const std::string& reason) {
    EXPECT_THAT([&] { export_header(database, arch, revisions); },
                testing::ThrowsMessage<NothingFound>(
                    testing::HasSubstr("' " + reason + ", which no export holds")));
  };
  store_measured(
      database, kA6000, "1024x1024x1001",
      "vectorized_2d/BM=64,BN=32,BK=16,TM=8,TN=4,VEC=4,PAD=4,INTERLEAVE=1,PRED=1,REPACK=1", 60);
  expect_reason("sm_86", "takes two launches");
  store_measured(database, kA6000, "64x64x64:epilogue=relu", "naive/BM=16,BN=16,COALESCED=1,PRED=0",
                 60);
  expect_reason("sm_86", "has an epilogue or takes two launches");
  store_measured(database, {"sm_90", "NVIDIA H100 80GB HBM3", 132}, "1024x1024x1024:type=bf16",
                 "wgmma/AB=2,CD=2,BM=64,BN=128,GROUPS=1,PINGPONG=0,TA=0,TB=0", 6);
  expect_reason("sm_90", "takes tensor maps or other arguments of its own");
}

TEST_F(ExportHeaderTest, TellsOfProblemsThatAreLeftOut) {
  Database database = writable(file_);
  const auto notes = [&] { return export_kernels(&database, {}, "sm_86", kRevisions).notes; };
  const std::string plain =
      "vectorized_2d/BM=64,BN=32,BK=16,TM=8,TN=4,VEC=1,PAD=4,INTERLEAVE=1,PRED=1";
  store_measured(database, kA6000, "1024x1024x1001", plain, 70);
  EXPECT_THAT(notes(), testing::IsEmpty());
  store_measured(database, kA6000, "512x512x501:epilogue=relu", plain, 20);
  store_measured(database, kA6000, "256x256x501:epilogue=relu", plain, 10);
  EXPECT_THAT(notes(), testing::ElementsAre("2 tuned problems are left out of the export: the "
                                            "kernel of each has an epilogue"));
  // Of another device: a problem that is left out of both, and one that is held of the first.
  const DeviceKey other{"sm_86", "NVIDIA GeForce RTX 3090", 82};
  store_measured(database, other, "256x256x501:epilogue=relu", plain, 10);
  store_measured(database, other, "1024x1024x1001", plain + ",REPACK=1", 60);
  EXPECT_THAT(notes(), testing::ElementsAre(testing::StartsWith("4 tuned problems are left out")));
}

TEST_F(ExportHeaderTest, IsConstexprAndRefusesNonsense) {
  write_header(sample_database(file_), "sm_86");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
    namespace g = gemm_tune_sm_86;
    constexpr g::Lookup k1024 = g::lookup({1024, 1024, 1024, 4});
    static_assert(k1024.match == g::Match::exact && !k1024.is_specialisation, "");
    static_assert(k1024.kernel->value("BM") == 128 && k1024.kernel->value("BMX") == -1, "");
    static_assert(k1024.kernel->value("B") == -1 && k1024.kernel->value("") == -1, "");
    static_assert(k1024.kernel->block_threads == 256, "");
    static_assert(k1024.winner->measured && k1024.winner->time_us == 151.25, "");
    static_assert(k1024.winner->baseline_us == 130, "");
    static_assert(g::lookup({1000, 1000, 1000, 4}).is_specialisation, "");
    static_assert(g::lookup({0, 1, 1, 1}).match == g::Match::none, "");
    static_assert(g::lookup({1, -5, 1, 1}).match == g::Match::none, "");
    static_assert(g::lookup({1, 1, -1, 1}).kernel == nullptr, "");
    static_assert(g::lookup({1, 1, 9223372036854775807, 1}).match == g::Match::none, "");
    static_assert(g::lookup({64, 64, 64, 3}).match == g::Match::none, "");
    static_assert(k1024.kernel->grid({1024, 1024, 1024, 4}, 84).x == 64, "");
    static_assert(k1024.kernel->grid({1024, 1024, 1024, 4, g::Layout::nn, 3}, 84).z == 3, "");
    static_assert(k1024.kernel->workspace_bytes({1024, 1024, 1024, 4}, 84) == 0, "");
    static_assert(k1024.kernel->layout == g::Layout::nn && k1024.kernel->split_k == 1, "");
    // 128 tiles on 84 SMs: the last two waves are cut into 28 and 4 slices of 16.
    constexpr g::Problem kTail{2048, 1024, 512, 4};
    constexpr const g::Kernel& kCut = *g::lookup(kTail).kernel;
    static_assert(kCut.tail_ctas_per_sm == 1 && kCut.tiles(kTail) == 128, "");
    static_assert(kCut.grid(kTail, 84).x == 256 && kCut.grid(kTail, 84).piece_k == 448, "");
    static_assert(kCut.tail(kTail, 84).tiles == 128 && kCut.tail(kTail, 84).pieces == 2, "");
    static_assert(kCut.workspace_bytes(kTail, 84) == 65536 + 256 * 65536, "");
    static_assert(!kCut.is_legal({2048, 1024, 512, 4, g::Layout::nn, 2}), "");
    // 128 tiles of 8 x 32, each shared by 8 blocks.
    constexpr g::Problem kSkinny{8, 4096, 4096, 4, g::Layout::nt};
    static_assert(g::lookup(kSkinny).kernel->grid(kSkinny, 84).x == 128, "");
    static_assert(g::lookup(kSkinny).kernel->grid(kSkinny, 84).y == 8, "");
    static_assert(g::lookup(kSkinny).kernel->workspace_bytes(kSkinny, 84) == 65536 + 1024 * 1024, "");
    static_assert(g::kWorkspaceCounterBytes == 65536 && g::kMaxEdge == 2000000000, "");
    static_assert(g::lookup({64, 64, 64, 4, g::Layout::nn, 0}).match == g::Match::none, "");
    static_assert(g::lookup({128, 128, 64, 4, g::Layout::nn, 64}).match == g::Match::exact, "");
    static_assert(g::lookup({128, 128, 64, 4, g::Layout::nn, 63}).winner->problem.batch == 64, "");
    static_assert(g::alignment_class(1024, 6, 8) == 2 && g::alignment_class(8, 12, 4) == 4, "");
    constexpr g::Match of_operands(int least, int a, int b, int cd) {
      constexpr g::ElementType kF32 = g::ElementType::f32;
      return g::lookup({1024, 1024, 1024, least, g::Layout::nn, 1, kF32, kF32, kF32, a, b, cd}).match;
    }
    static_assert(of_operands(1, 4, 2, 1) != g::Match::none, "");
    static_assert(of_operands(1, 4, 0, 0) != g::Match::none, "");
    static_assert(of_operands(1, 3, 1, 1) == g::Match::none, "");
    static_assert(of_operands(1, 1, -1, 1) == g::Match::none, "");
    static_assert(of_operands(1, 1, 1, 8) == g::Match::none, "of f32, 4 at most");
    static_assert(of_operands(4, 4, 4, 2) == g::Match::none, "below the least");
    constexpr bool has(const g::Problem& p, int least, int a, int b, int cd) {
      return p.alignment == least && p.alignment_a == a && p.alignment_b == b && p.alignment_cd == cd;
    }
    static_assert(has(g::aligned_by({8, 8, 8}, 12, 6, 7), 1, 4, 2, 1), "");
    constexpr g::ElementType kHalf = g::ElementType::f16;
    static_assert(has(g::aligned_by({8, 8, 8, 1, g::Layout::nn, 1, kHalf, kHalf}, 16, 12, 4), 4, 8,
                      4, 8),
                  "16-bit A and B, 32-bit C");
    int main() {})cpp");
  for (const std::string& compiler : compilers()) EXPECT_EQ(compile(compiler), "");
}

TEST_F(ExportHeaderTest, TwoArchitecturesMeetInOneProgram) {
  const Database database = sample_database(file_);
  write_header(database, "sm_86");
  write_header(database, "sm_90");
  write("main.cpp", R"cpp(
#include "gemm_tune_sm_86.h"
#include "gemm_tune_sm_90.h"
#include "gemm_tune_sm_86.h"
    static_assert(gemm_tune_sm_90::lookup({2048, 2048, 2048, 4}).winner->sm_count == 132, "");
    static_assert(gemm_tune_sm_86::lookup({4096, 4096, 4096, 4}).winner->sm_count == 72, "");
    int main() {})cpp");
  for (const std::string& compiler : compilers()) EXPECT_EQ(compile(compiler), "");
}

TEST_F(ExportHeaderTest, SaysItsLicenceAndWhereEachRowComesFrom) {
  const std::string header = export_header(sample_database(file_), "sm_86", kRevisions);
  EXPECT_THAT(header, StartsWith("// SPDX-License-Identifier: Apache-2.0\n"));
  EXPECT_THAT(
      header,
      AllOf(HasSubstr("// 1024x1024x1024: " + kWholeTiles),
            HasSubstr("\"NVIDIA RTX A6000\", /*sm_count=*/84,\n"
                      "     /*measured=*/true, 151.250, \"cublasSgemm 13.1.0\", 130.000"),
            HasSubstr("/*measured=*/false, 6543.211, /*baseline=*/nullptr, 0"),
            HasSubstr("\"kernel_templates/vectorized_2d/kernel.cuh\", \"" + kRevision + "\""),
            HasSubstr("{.BM=128,.BN=128,"), Not(HasSubstr("#include")),
            Not(HasSubstr("a stale hash"))));
}

TEST_F(ExportHeaderTest, SameRowsGiveSameBytesWhateverTheirOrderAndRun) {
  const auto header = [&](const char* name, bool reversed) {
    Database database(folder_ / name, Database::Mode::create_or_open);
    RunInfo run = kRun;
    if (reversed) run.command = "another command";
    database.begin_run(run);
    for (int i = 0; i < 2; ++i) {
      if ((i == 0) != reversed) store_measured(database, kA10, "64x64x64", kPredicated, 5);
      if ((i == 1) != reversed) store_measured(database, kA6000, "64x64x64", kPredicated, 5);
    }
    return export_header(database, "sm_86", kRevisions);
  };
  EXPECT_EQ(header("a.db", false), header("b.db", true));
}

TEST_F(ExportHeaderTest, SaysWhereNoWinnerMeetsTheLimitOfErrors) {
  const Database database = sample_database(file_);
  EXPECT_THAT(
      [&] {
        export_header(database, "sm_86", kRevisions, {Objective::hot, 1.0});
      },
      testing::ThrowsMessage<NothingFound>(testing::HasSubstr("ask for: tune with them")));
}

TEST_F(ExportHeaderTest, SaysWhereThereIsNothingToExport) {
  const Database database = sample_database(file_);
  try {
    export_header(database, "sm_120", kRevisions);
    FAIL() << "exported nothing";
  } catch (const NothingFound& error) {
    EXPECT_THAT(error.what(), AllOf(HasSubstr(file_.string()),
                                    HasSubstr("no usable winner for sm_120: tune for it first")));
  }
}

TEST_F(ExportHeaderTest, NoTextButAnArchBecomesPartOfAName) {
  const Database database = sample_database(file_);
  for (const char* arch : {"", "sm_", "86", "SM_86", "sm_86 {}", "sm_86;\n", "sm_8x"}) {
    EXPECT_THROW(export_header(database, arch, kRevisions), UsageError) << arch;
  }
}

}  // namespace
}  // namespace gemm_tune
