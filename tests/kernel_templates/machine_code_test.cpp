// SPDX-License-Identifier: Apache-2.0
// The machine code of a sample of configs against a list: a family whose machine code changes gets
// another revision, so that rows of its former kernels are stale. Needs no GPU.

#include <map>
#include <set>

#include "tests/epilogues.h"
#include "tests/kernel_templates/machine_code_list.h"
#include "tests/kernel_templates/spaces.h"
#include "tests/matchers.h"

namespace gemm_tune {
namespace {

constexpr const char* kRemedy =
    ": if that is meant, raise the family's revision in its family.cpp and renew the list "
    "(cmake --build build/release --target renew_machine_code)";

// What is wrong with every so many of the list's kernels of a family, a line each.
std::vector<std::string> faults_of(const MachineCodeList& list, const std::string& family,
                                   int every) {
  std::vector<std::string> faults;
  int kernels = 0;
  for (const ListedCode& code : list.kernels) {
    const KnownConfig config = check_config(parse_config(code.config));
    if (config.family->name != family || kernels++ % every != 0) continue;
    const std::string name = code.config + " (form " + code.form + ", " + code.arch + ")";
    const bool is_same = hash_of_code(code) == code.hash;
    if (config.family->revision != code.revision) {
      faults.push_back(
          name + " is listed for revision " + std::to_string(code.revision) + " of " + family +
          ", which has revision " + std::to_string(config.family->revision) +
          ": renew the list (cmake --build build/release --target renew_machine_code)");
    } else if (!is_same) {
      faults.push_back("the machine code of " + name + " changed, but revision " +
                       std::to_string(code.revision) + " of " + family + " did not" + kRemedy);
    }
  }
  return faults;
}

// By family, so that families are compiled side by side.
class MachineCodeOf : public testing::TestWithParam<std::string> {
 protected:
  void compare(const char* path, int every = 1) const {
    const MachineCodeList list = read_list(path);
    if (list.nvrtc != nvrtc_version()) {
      GTEST_SKIP() << "not compared: the list is of NVRTC " << list.nvrtc << ", this is NVRTC "
                   << nvrtc_version();
    }
    EXPECT_THAT(faults_of(list, GetParam(), every), IsEmpty());
  }
};

TEST_P(MachineCodeOf, ASampleChangesWithTheRevisionOnly) { compare(GT_MACHINE_CODE, /*every=*/3); }

TEST_P(MachineCodeOf, ALargerSampleChangesWithTheRevisionOnly) {
  compare(GT_MACHINE_CODE);
  compare(GT_MORE_MACHINE_CODE);
}

INSTANTIATE_TEST_SUITE_P(Families, MachineCodeOf, testing::ValuesIn(family_names()),
                         [](const auto& instance) { return instance.param; });

// Every parameter that a family got later is in it at another value than its default.
TEST(MachineCodeSample, HasEveryFamilyParameterTypeFormAndTarget) {
  std::map<std::string, std::set<std::string>> forms;
  std::set<std::string> targets, missing;
  std::set<std::pair<ElementType, ElementType>> types;
  std::map<std::pair<std::string, std::string>, std::set<int>> values;
  for (const ListedCode& code : read_list(GT_MACHINE_CODE).kernels) {
    const KnownConfig config = check_config(parse_config(code.config));
    forms[config.family->name].insert(to_string(form_of(code).epilogue));
    targets.insert(code.arch);
    types.emplace(config.traits.signature.a, config.traits.signature.d);
    for (std::size_t i = 0; i < config.values.size(); ++i) {
      values[{config.family->name, config.family->params[i].name}].insert(config.values[i]);
    }
  }
  for (const KernelFamily& family : families()) {
    EXPECT_EQ(forms[family.name],
              (std::set<std::string>{"none", "bias_column", "bias_column+relu"}))
        << family.name;
    for (const ParamSpec& param : family.params) {
      if (values[{family.name, param.name}].size() < 2)
        missing.insert(family.name + " " + param.name);
    }
  }
  EXPECT_THAT(missing, IsEmpty());
  EXPECT_EQ(targets, (std::set<std::string>{"sm_75", "sm_80", "sm_86", "sm_90", "sm_120"}));
  // D of f32 with every type of A, and of 16 bits with every other one.
  EXPECT_EQ(types.size(), 7U);
  for (const ElementType a :
       {ElementType::f32, ElementType::f16, ElementType::bf16, ElementType::e4m3}) {
    EXPECT_TRUE(types.contains({a, ElementType::f32})) << to_string(a);
  }
}

// A change of a text, and a config and form whose kernel it is part of.
struct Change {
  const char *path, *from, *to, *config;
  Epilogue epilogue = {};

  // In the name of a test, instead of the addresses of the texts.
  friend void PrintTo(const Change& change, std::ostream* out) { *out << change.path; }
};

constexpr const char* kPlain =
    "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
    "FRAGMENTS=2,VEC=4,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=0,PRED=1";
constexpr const char* kLines =
    "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=2,ASYNC=0,"
    "FRAGMENTS=2,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=0,TB=0,PRED=1,LINES=1";
constexpr const char* kStepped =
    "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=8,TN=4,WARPS_K=1,STAGES=3,ASYNC=2,"
    "FRAGMENTS=1,VEC=1,RASTER=8,CTAS=1,SPLIT_K=1,TAIL=0,TA=1,TB=1,PRED=1,VECS=124,STEPPED=1";
constexpr const char* kReduce =
    "warp_tiled/CLUSTER=0,BM=32,BN=32,BK=8,WM=32,WN=32,TM=4,TN=8,WARPS_K=2,STAGES=2,ASYNC=0,"
    "FRAGMENTS=1,VEC=2,RASTER=8,CTAS=1,SPLIT_K=13,TAIL=0,TA=0,TB=1,PRED=1,REDUCE=1";
constexpr const char* kRepack =
    "vectorized_2d/BM=32,BN=32,BK=8,TM=4,TN=4,VEC=4,PAD=1,INTERLEAVE=0,PRED=1,REPACK=1";
constexpr const char* kKeep =
    "skinny/CLUSTER=0,BS=1,TL=4,WARPS=4,LANES_K=1,UNROLL=4,VEC=4,SPLIT_K=1,SKINNY_N=0,TA=0,TB=0,"
    "PRED=1,KEEP=8,STAGED_FIRST=1";
constexpr const char* kNaive = "naive/BM=8,BN=32,COALESCED=1,PRED=1";

constexpr Change kChanges[] = {
    {"warp_tiled/thread_tile.cuh", "f.a[i] * f.b[j]", "2 * f.a[i] * f.b[j]", kPlain},
    {"device/tile/line_store.cuh", "args.beta != 0.0f", "args.beta != 1.0f", kLines},
    {"device/copy/narrow_copy.cuh", "share_[pass] = 0.0f", "share_[pass] = 1.0f", kLines},
    {"warp_tiled/config.cuh", "kVecA = kWidths.a", "kVecA = kWidths.b", kStepped},
    {"warp_tiled/segment.cuh", "(kP.STAGES - 1) * kStage", "kP.STAGES * kStage", kStepped},
    {"device/sum/share_reduce.cuh", "s * SUMS + i", "s * SUMS", kReduce},
    {"device/copy/repack.cuh", "i < inside", "i + 1 < inside", kRepack},
    {"skinny/kernel.cuh", "kP.KEEP % 16", "kP.KEEP % 8", kKeep},
    {"device/epilogue/relu.cuh", "value < T(0)", "value < T(1)", kNaive, kBiasColumnRelu},
    {"device/call/functor.cuh", "value + operand", "value + 2 * operand", kNaive, kBiasColumn},
};

std::string& text_of(KernelSource& source, const std::string& path) {
  if (source.path == path) return source.text;
  for (auto& [header, text] : source.headers) {
    if (header == path) return text;
  }
  throw std::runtime_error(source.path + " does not include " + path);
}

class ChangedText : public testing::TestWithParam<Change> {};

TEST_P(ChangedText, AConstantChangesTheMachineCodeAndACommentDoesNot) {
  const auto& [file, from, to, text, epilogue] = GetParam();
  const KnownConfig config = known(text);
  const auto hash = [&, form = CallForm(COperand::in_place, epilogue)](const KernelSource& source) {
    return hash_of_code(source, config, form, "sm_90");
  };
  const KernelSource now = kernel_source(*config.family);
  KernelSource constant = now, comment = now;
  std::string& changed = text_of(constant, std::string("kernel_templates/") + file);
  const std::size_t place = changed.find(from);
  ASSERT_NE(place, std::string::npos);
  changed.replace(place, std::string(from).size(), to);
  std::string& commented = text_of(comment, std::string("kernel_templates/") + file);
  commented = "// another\n" + commented + "/* comment */\n";
  const std::string before = hash(now);
  EXPECT_NE(hash(constant), before);
  EXPECT_EQ(hash(constant).size(), 16U) << hash(constant);
  EXPECT_EQ(hash(comment), before);
}

INSTANTIATE_TEST_SUITE_P(Places, ChangedText, testing::ValuesIn(kChanges));

}  // namespace
}  // namespace gemm_tune
