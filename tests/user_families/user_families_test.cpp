// SPDX-License-Identifier: Apache-2.0
// Plug-ins that are wrong, each in its way, and the sentence that refuses it; then one that is
// right.
#include "kernel_templates/registry/user_families.h"

#include <cstdlib>
#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "kernel_templates/source/source.h"
#include "tests/matchers.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

std::string refusal(const std::string& file) {
  try {
    load_family(file);
  } catch (const UsageError& error) {
    return error.what();
  }
  return "is loaded";
}

struct Wrong {
  const char* way;
  const char* sentence;
};

constexpr Wrong kWrong[] = {
    {"no info", "does not say what it was built for: build it again"},
    {"says nothing", "does not say what it was built for: build it again"},
    {"other version", "was built for gemm-tune 0.0.1, and this is " GT_FAMILY_VERSION ": build"},
    {"other types", "was built with other C++ types (libstdc++ with strings of before C++11; here"},
    {"family throws", "has no family: family() throws: not on Mondays"},
    {"family throws a number", "family() throws: an exception that is no std::exception"},
    {"parameter declared twice", "family() throws: a family must declare"},
    {"no name", "names its family '': names are small letters"},
    {"name with a blank", "names its family 'two words': names are small letters"},
    {"name of a kernel family", "names its family 'naive', as one of gemm-tune's is: rename it"},
    {"name of a library", "names its family 'cublaslt', as one of gemm-tune's is: rename it"},
    {"claims a library", "claims to be an algorithm of cuBLAS"},
    {"revision 0", "has a revision below 1"},
    {"no reject()", "lacks reject() or traits(): use make_family()"},
    {"no kernel", "has no kernel.cuh in its folder"},
    {"empty kernel", "has an empty kernel.cuh"},
    {"include is missing", "includes \"params.cuh\", which is neither a .cuh file of its folder"},
    {"device header is missing", "includes \"kernel_templates/device/none.cuh\", which is neither"},
    {"no parameters", "has no parameters, so that there is nothing to tune"},
    {"parameter of small letters", "a parameter is named 'bm': names are capital letters"},
    {"parameter without values", "the parameter BM has no values"},
    {"values descend", "the values of BM do not ascend from 0 to 32767"},
    {"negative value", "the values of BM do not ascend from 0 to 32767"},
    {"rule reads no parameter", "has a rule that reads what is no parameter: 'BM is odd'"},
    {"rules accept nothing", "has no config: its rules or reject() turn down every combination"},
    {"reject accepts nothing", "has no config: its rules or reject() turn down every combination"},
    {"rule throws", "a rule throws: no rule today"},
    {"no types", "has kernels of no element types"},
    {"traits throw", "traits() throws: no such tile"},
    {"no threads", "traits() is wrong: threads is 0: whole warps are needed, 32 to 1024"},
    {"half a warp", "traits() is wrong: threads is 48: whole warps are needed"},
    {"no tile", "traits() is wrong: tile_m is 0: it must be 1 or more"},
    {"vec of 3", "traits() is wrong: vec is 3: it must be 1, 2, 4, 8 or 16"},
    {"edges untold", "traits() is wrong: PRED is 0, but the traits say 1"},
    {"cost is no number", "traits() is wrong: a cost is negative or no number"},
    {"representative is none", "has a representative that is none of its configs"},
};

std::string text_file(const std::string& name, const std::string& text) {
  const auto path = std::filesystem::path(testing::TempDir()) / name;
  std::ofstream(path, std::ios::binary) << text;
  return path.string();
}

TEST(UserFamilies, AFileThatIsNoPluginIsRefusedByName) {
  EXPECT_THAT(refusal("/no/such.so"), AllOf(HasSubstr("'/no/such.so'"), HasSubstr("cannot be")));
  EXPECT_THAT(refusal(text_file("family.cpp", "KernelFamily family();\n")),
              HasSubstr("family.cpp' is no shared library: name the .so that"));
  EXPECT_THAT(refusal(text_file("short.so",
                                "\x7f"
                                "ELF")),
              HasSubstr("short.so' is cut short: build it again"));
  const std::string whole = read_file(GT_NO_PLUGIN);
  EXPECT_THAT(refusal(text_file("half.so", whole.substr(0, whole.size() / 2))),
              HasSubstr("half.so' is cut short: build it again"));
  EXPECT_THAT(refusal(GT_NO_PLUGIN),
              HasSubstr("has no function gemm_tune_plugin: build it by gemm_tune_add_family()"));
  EXPECT_THAT(refusal(GT_UNDEFINED_PLUGIN),
              AllOf(HasSubstr("cannot be loaded: "), HasSubstr("gt_nobody_has_this")));
}

TEST(UserFamilies, EachWrongPluginHasItsSentenceAndTheRightOneIsLoadedBesideTheOthers) {
  for (const auto& [way, sentence] : kWrong) {
    setenv("GT_WRONG", way, 1);
    EXPECT_THAT(refusal(GT_WRONG_PLUGIN), AllOf(HasSubstr(GT_WRONG_PLUGIN), HasSubstr(sentence)))
        << way;
  }
  EXPECT_THAT(loaded_families(), IsEmpty());
  unsetenv("GT_WRONG");
  load_family(GT_WRONG_PLUGIN);
  load_family(GT_WRONG_PLUGIN);  // once more: it is there
  ASSERT_EQ(loaded_families().size(), 1u);

  const std::string copy = std::string(testing::TempDir()) + "/copy.so";
  std::filesystem::copy_file(GT_WRONG_PLUGIN, copy,
                             std::filesystem::copy_options::overwrite_existing);
  EXPECT_THAT(refusal(copy), AllOf(HasSubstr("names its family 'right', as family plug-in '"),
                                   HasSubstr("does: rename one")));
  // As a worker that was to load the file that another has taken the place of.
  FamilyFile changed = loaded_families().front();
  load_same_family(changed);
  changed.hash = "0";
  EXPECT_THAT([&] { load_same_family(changed); },
              ThrowsMessage<UsageError>(HasSubstr("has changed since the program loaded it")));

  // From the first question on the families stay as they are.
  const KnownConfig config = check_config(parse_config("right/BM=8,PRED=1"));
  EXPECT_EQ(config.family, &families().back());
  EXPECT_EQ(config.traits.threads, 64);
  setenv("GT_WRONG", "of tf32", 1);
  EXPECT_THAT(why_illegal(check_config(config.config()).recipe, packed_problem(8, 8, 8)),
              Optional(HasSubstr("the kernel is of the accuracy class tf32")));
  unsetenv("GT_WRONG");
  EXPECT_EQ(why_illegal(config.recipe, packed_problem(8, 8, 8)), std::nullopt);
  EXPECT_THAT(refusal(copy), HasSubstr("comes too late: load families before anything else"));
  load_family(GT_WRONG_PLUGIN);

  const KernelSource source = kernel_source(*config.family);
  EXPECT_EQ(source.path, "right/kernel.cuh");
  EXPECT_THAT(source.revision, MatchesRegex("user:[0-9a-f]{16}"));
  EXPECT_EQ(kernel_sources().at("right").revision, source.revision);
  std::set<std::string> headers;
  for (const auto& [path, text] : source.headers) headers.insert(path);
  EXPECT_THAT(headers,
              testing::IsSupersetOf({"params.cuh", "kernel_templates/device/tile/raster.cuh"}));

  // Texts and number are the identity; what fails later is told, too.
  KernelFamily other = *config.family;
  other.revision = 2;
  EXPECT_NE(kernel_source(other).revision, source.revision);
  other = *config.family;
  other.texts["params.cuh"] += "// another\n";
  EXPECT_NE(kernel_source(other).revision, source.revision);
  setenv("GT_WRONG", "traits throw", 1);
  EXPECT_THAT([&] { check_config(parse_config("right/BM=8,PRED=1")); },
              ThrowsMessage<UsageError>(HasSubstr("traits() throws: no such tile")));
  unsetenv("GT_WRONG");
}

}  // namespace
}  // namespace gemm_tune
