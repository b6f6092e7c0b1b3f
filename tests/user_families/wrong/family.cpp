// SPDX-License-Identifier: Apache-2.0
// A plug-in that is right, or wrong in the way that the environment variable GT_WRONG names
// (tests/user_families/user_families_test.cpp): one compilation serves all.
#include <cstdlib>
#include <limits>
#include <string_view>

#include "kernel_templates/plugin.h"

namespace {

bool is_wrong(std::string_view way) {
  const char* const asked = std::getenv("GT_WRONG");
  return asked != nullptr && way == asked;
}

}  // namespace

namespace gemm_tune::wrong {

struct Params {
  int BM, PRED;
};

constexpr Rule<Params> kRules[] = {{"BM is odd", "BM", [](const Params& p) {
                                      if (is_wrong("rule throws"))
                                        throw std::runtime_error("no rule today");
                                      return p.BM % 2 != 0 || is_wrong("rules accept nothing");
                                    }}};

const char* reject(const Params& p) {
  if (is_wrong("reject accepts nothing")) return "never";
  return first_broken(kRules, p);
}

Traits traits(const Params& p) {
  if (is_wrong("traits throw")) throw std::out_of_range("no such tile");
  Traits t;
  t.threads = is_wrong("no threads") ? 0 : is_wrong("half a warp") ? 48 : 64;
  t.tile_m = is_wrong("no tile") ? 0 : p.BM;
  t.tile_n = 8;
  t.vec = is_wrong("vec of 3") ? 3 : 1;
  t.predicated = is_wrong("edges untold") ? p.PRED == 0 : p.PRED != 0;
  if (is_wrong("of tf32")) t.signature.accuracy = Accuracy::tf32;
  if (is_wrong("cost is no number")) {
    t.feed_wavefronts_per_k = std::numeric_limits<double>::quiet_NaN();
  }
  return t;
}

const char* name() {
  if (is_wrong("no name")) return "";
  if (is_wrong("name with a blank")) return "two words";
  if (is_wrong("name of a kernel family")) return "naive";
  if (is_wrong("name of a library")) return "cublaslt";
  return "right";
}

KernelFamily family() {
  if (is_wrong("family throws")) throw std::runtime_error("not on Mondays");
  if (is_wrong("family throws a number")) throw 7;
  KernelFamily family = make_family<Params>(
      name(), is_wrong("revision 0") ? 0 : 1, "a family",
      {tile_m_param("BM", &Params::BM, {8, 16}), predicated_param("PRED", &Params::PRED)}, kRules,
      &reject, &traits);
  if (is_wrong("parameter declared twice")) {
    return make_family<Params>(
        "right", 1, "a family",
        {tile_m_param("BM", &Params::BM, {8}), tile_m_param("BM", &Params::BM, {8})}, kRules,
        &reject, &traits);
  }
  if (is_wrong("no parameters")) family.params.clear();
  if (is_wrong("parameter of small letters")) family.params[0].name = "bm";
  if (is_wrong("parameter without values")) family.params[0].values.clear();
  if (is_wrong("values descend")) family.params[0].values = {16, 8};
  if (is_wrong("negative value")) family.params[0].values = {-8, 8};
  if (is_wrong("rule reads no parameter")) family.rules[0].reads = {5};
  if (is_wrong("no reject()")) family.reject = nullptr;
  if (is_wrong("claims a library")) family.library = "cuBLAS";
  if (is_wrong("no types")) family.params[0].role = Role::type_ab;
  if (is_wrong("representative is none")) family.representatives = {{8}};
  return family;
}

KernelTexts texts() {
  KernelTexts texts = {{"kernel.cuh",
                        "#include \"kernel_templates/device/tile/raster.cuh\"\n"
                        "#include \"params.cuh\"\n"},
                       {"params.cuh", "// #include \"only/in/a/comment.cuh\"\n"}};
  if (is_wrong("no kernel")) texts.erase("kernel.cuh");
  if (is_wrong("empty kernel")) texts["kernel.cuh"] = " \n";
  if (is_wrong("include is missing")) texts.erase("params.cuh");
  if (is_wrong("device header is missing")) {
    texts["params.cuh"] = "#include \"kernel_templates/device/none.cuh\"\n";
  }
  return texts;
}

const PluginInfo* info() {
  static PluginInfo info;
  info = {GT_FAMILY_VERSION, plugin_interface(),
          [](KernelFamily* to) { return make_plugin_family(to, family, texts); },
          &take_plugin_failure};
  if (is_wrong("other version")) info.version = "0.0.1";
  if (is_wrong("other types")) info.interface = "libstdc++ with strings of before C++11";
  if (is_wrong("says nothing")) info.version = nullptr;
  if (is_wrong("no info")) return nullptr;
  return &info;
}

}  // namespace gemm_tune::wrong

extern "C" __attribute__((visibility("default"))) const gemm_tune::PluginInfo* gemm_tune_plugin() {
  return gemm_tune::wrong::info();
}
