// SPDX-License-Identifier: Apache-2.0
#include "kernel_templates/registry/user_families.h"

#include <dlfcn.h>
#include <elf.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <mutex>
#include <optional>
#include <string_view>
#include <utility>

#include "core/error.h"
#include "core/files/input_file.h"
#include "core/text/fnv1a.h"
#include "core/text/printable.h"
#include "kernel_templates/plugin.h"
#include "kernel_templates/registry/families.h"
#include "kernel_templates/registry/library_families.h"
#include "kernel_templates/source/source.h"

namespace gemm_tune {
namespace {

constexpr const char* kRebuild = ": build it again with the installed CMake package gemm_tune";

struct Loaded {
  std::mutex mutex;
  std::vector<FamilyFile> files;
  std::vector<KernelFamily> families;
  bool is_taken = false;
};

Loaded& loaded() {
  static Loaded& only = *new Loaded;  // never destroyed: threads may ask while the process ends
  return only;
}

std::string in_quotes(std::string_view text) { return "'" + excerpt(text) + "'"; }

// Begins every sentence about a plug-in.
std::string plugin_named(const std::string& path) { return "family plug-in " + in_quotes(path); }

// --- The file -----------------------------------------------------------------------------------

// Whether a segment that dlopen() maps ends behind the file's end, where reading it is a SIGBUS.
bool is_cut(std::string_view elf) {
  Elf64_Ehdr header{};
  if (elf.size() < sizeof header) return true;
  std::memcpy(&header, elf.data(), sizeof header);
  if (header.e_ident[EI_CLASS] != ELFCLASS64) return false;
  if (header.e_phoff > elf.size() ||
      elf.size() - header.e_phoff < header.e_phnum * sizeof(Elf64_Phdr)) {
    return true;
  }
  for (std::size_t i = 0; i < header.e_phnum; ++i) {
    Elf64_Phdr segment{};
    std::memcpy(&segment, elf.data() + header.e_phoff + i * sizeof segment, sizeof segment);
    if (segment.p_type != PT_LOAD) continue;
    if (segment.p_offset > elf.size() || segment.p_filesz > elf.size() - segment.p_offset) {
      return true;
    }
  }
  return false;
}

FamilyFile file_of(const std::string& file) {
  require_utf8("the family plug-in's name", file);
  constexpr std::size_t kMostBytes = std::size_t{1} << 28;
  const std::string bytes = read_input_file(file, "family plug-in", kMostBytes);
  if (!bytes.starts_with("\x7f"
                         "ELF")) {
    throw UsageError(plugin_named(file) +
                     " is no shared library: name the .so that gemm_tune_add_family() builds");
  }
  if (is_cut(bytes)) throw UsageError(plugin_named(file) + " is cut short" + kRebuild);
  Fnv1a hash;
  hash.add_bytes(bytes);
  return {std::filesystem::absolute(file).lexically_normal().string(), hash.hex()};
}

const PluginInfo& open_plugin(const std::string& path) {
  void* const library = ::dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw UsageError(plugin_named(path) + " cannot be loaded: " + ::dlerror());
  }
  const auto entry = reinterpret_cast<PluginEntry*>(::dlsym(library, kPluginEntry));
  if (entry == nullptr) {
    throw UsageError(plugin_named(path) + " has no function " + kPluginEntry +
                     ": build it by gemm_tune_add_family()");
  }
  const PluginInfo* const info = entry();
  if (info == nullptr || info->version == nullptr || info->interface == nullptr ||
      info->make == nullptr || info->take_failure == nullptr) {
    throw UsageError(plugin_named(path) + " does not say what it was built for" + kRebuild);
  }
  if (std::string_view(info->version) != GT_FAMILY_VERSION) {
    throw UsageError(plugin_named(path) + " was built for gemm-tune " + excerpt(info->version) +
                     ", and this is " GT_FAMILY_VERSION + kRebuild);
  }
  if (std::string_view(info->interface) != plugin_interface()) {
    throw UsageError(plugin_named(path) + " was built with other C++ types (" +
                     excerpt(info->interface) + "; here " + plugin_interface() + ")" + kRebuild +
                     " and with libstdc++ as its compiler has it");
  }
  return *info;
}

// --- The family's functions ---------------------------------------------------------------------

// Throws what the plug-in's last call met.
struct FailureOf {
  std::string family, plugin;
  const char* (*take)();

  [[noreturn]] void tell(const std::string& what) const {
    throw UsageError("the family " + in_quotes(family) + " of " + plugin_named(plugin) + ": " +
                     what);
  }
  void check(const char* function) const {
    if (const char* why = take()) tell(std::string(function) + " throws: " + excerpt(why));
  }
};

template <class Result, class... Arguments>
void check_failures(std::function<Result(Arguments...)>& function, const char* name,
                    const FailureOf& failure) {
  if (!function) return;
  function = [inner = std::move(function), name, failure](Arguments... arguments) {
    Result result = inner(arguments...);
    failure.check(name);
    return result;
  };
}

// What the model, the filter and launches divide by or rest on.
std::optional<std::string> why_bad(const Traits& t) {
  const auto between = [](int value, int least, int most) {
    return value >= least && value <= most;
  };
  constexpr int kMost = 1 << 20;
  if (!between(t.threads, 32, 1024) || t.threads % 32 != 0) {
    return "threads is " + std::to_string(t.threads) + ": whole warps are needed, 32 to 1024";
  }
  const std::pair<const char*, int> counts[] = {{"tile_m", t.tile_m},
                                                {"tile_n", t.tile_n},
                                                {"tile_k", t.tile_k},
                                                {"thread_m", t.thread_m},
                                                {"thread_n", t.thread_n},
                                                {"threads_along_k", t.threads_along_k},
                                                {"stages", t.stages},
                                                {"split_k", t.split_k},
                                                {"vector_multiple_m", t.vector_multiple_m},
                                                {"vector_multiple_n", t.vector_multiple_n},
                                                {"vector_multiple_k", t.vector_multiple_k},
                                                {"least_ctas_per_sm", t.least_ctas_per_sm},
                                                {"unrolled_k", t.unrolled_k}};
  for (const auto& [name, value] : counts) {
    if (!between(value, 1, kMost)) {
      return std::string(name) + " is " + std::to_string(value) + ": it must be 1 or more";
    }
  }
  if (t.vec != 1 && t.vec != 2 && t.vec != 4 && t.vec != 8 && t.vec != 16) {
    return "vec is " + std::to_string(t.vec) + ": it must be 1, 2, 4, 8 or 16";
  }
  if (t.smem_bytes < 0 || t.registers_estimate < 0) {
    return "smem_bytes or registers_estimate is negative";
  }
  for (const double cost :
       {t.feed_instructions_per_k, t.feed_wavefronts_per_k, t.fill_instructions_per_tile_k,
        t.fill_wavefronts_per_tile_k, t.other_instructions_per_k, t.end_wavefronts}) {
    if (!std::isfinite(cost) || cost < 0) return "a cost is negative or no number";
  }
  return std::nullopt;
}

// Where the traits tell another value of a parameter than the config has.
std::optional<std::string> why_untold(const std::vector<ParamSpec>& params, const Traits& t,
                                      Values values) {
  const Specialisation told = {layout_of(t.transposed_a, t.transposed_b),
                               t.vec,
                               t.predicated,
                               t.signature,
                               t.repack,
                               t.vecs};
  for (std::size_t i = 0; i < params.size(); ++i) {
    int value = value_of(told, params[i].role).value_or(values[i]);
    if (params[i].trait != nullptr) value = t.*params[i].trait;
    if (value == values[i]) continue;
    return params[i].name + " is " + std::to_string(values[i]) + ", but the traits say " +
           std::to_string(value);
  }
  return std::nullopt;
}

void check_functions(KernelFamily& family, const FailureOf& failure) {
  for (FamilyRule& rule : family.rules) check_failures(rule.broken, "a rule", failure);
  check_failures(family.reject, "reject()", failure);
  check_failures(family.plan, "plan()", failure);
  check_failures(family.untuned, "untuned()", failure);
  check_failures(family.traits, "traits()", failure);
  family.traits = [inner = family.traits, params = family.params, failure](Values values) {
    const Traits traits = inner(values);
    auto why = why_bad(traits);
    if (!why) why = why_untold(params, traits, values);
    if (why) failure.tell("traits() is wrong: " + *why);
    return traits;
  };
}

// --- The family ---------------------------------------------------------------------------------

bool is_word(std::string_view word, char first, char last) {
  return !word.empty() && word.front() >= first && word.front() <= last &&
         std::all_of(word.begin(), word.end(), [=](char c) {
           return (c >= first && c <= last) || (c >= '0' && c <= '9') || c == '_';
         });
}

std::optional<std::string> why_bad(const ParamSpec& param) {
  constexpr int kMost = 32767;  // of search/space/config_list.h
  if (!is_word(param.name, 'A', 'Z')) {
    return "a parameter is named " + in_quotes(param.name) +
           ": names are capital letters, as in BM";
  }
  if (param.values.empty()) return "the parameter " + param.name + " has no values";
  for (std::size_t i = 0; i < param.values.size(); ++i) {
    const int least = i == 0 ? 0 : param.values[i - 1] + 1;
    if (param.values[i] < least || param.values[i] > kMost) {
      return "the values of " + param.name + " do not ascend from 0 to 32767";
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_bad_params(const KernelFamily& family) {
  if (family.params.empty()) return "has no parameters, so that there is nothing to tune";
  for (std::size_t i = 0; i < family.params.size(); ++i) {
    if (auto why = why_bad(family.params[i])) return "is wrong: " + *why;
    if (family.find_param(family.params[i].name) != i) {
      return "has the parameter " + family.params[i].name + " twice";
    }
  }
  for (const FamilyRule& rule : family.rules) {
    const bool reads_known =
        std::all_of(rule.reads.begin(), rule.reads.end(),
                    [&](std::size_t read) { return read < family.params.size(); });
    if (!rule.broken || !reads_known) {
      return "has a rule that reads what is no parameter: " + in_quotes(rule.reason);
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_bad_name(const KernelFamily& family, const Loaded& others) {
  if (!is_word(family.name, 'a', 'z')) {
    return "names its family " + in_quotes(family.name) +
           ": names are small letters, digits and underscores, as in my_tiles";
  }
  const auto has_name = [&](const KernelFamily& other) { return other.name == family.name; };
  const auto built_in = built_in_families();
  const auto of_libraries = library_families();
  if (std::any_of(built_in.begin(), built_in.end(), has_name) ||
      std::any_of(of_libraries.begin(), of_libraries.end(), has_name)) {
    return "names its family " + in_quotes(family.name) + ", as one of gemm-tune's is: rename it";
  }
  const auto other = std::find_if(others.families.begin(), others.families.end(), has_name);
  if (other == others.families.end()) return std::nullopt;
  return "names its family " + in_quotes(family.name) + ", as " + plugin_named(other->plugin) +
         " does: rename one";
}

// Whether a search finds a config that no rule and not reject() turns down. Parameters are chosen
// in their order, and a rule is judged with the last that it reads. Gives up, with nothing, on a
// space where that takes long.
class FirstConfig {
 public:
  explicit FirstConfig(const KernelFamily& family)
      : family_(family), values_(family.params.size(), 1) {
    descend(0);
  }
  const std::vector<int>* found() const { return is_found_ ? &values_ : nullptr; }
  bool was_given_up() const { return left_ == 0; }

 private:
  void descend(std::size_t at) {
    if (at == values_.size()) {
      is_found_ = !family_.reject(values_);
      return;
    }
    for (const int value : family_.params[at].values) {
      if (left_ == 0) return;
      --left_;
      values_[at] = value;
      if (!is_broken(at)) descend(at + 1);
      if (is_found_) return;
    }
    values_[at] = 1;
  }

  bool is_broken(std::size_t at) const {
    return std::any_of(family_.rules.begin(), family_.rules.end(), [&](const FamilyRule& rule) {
      const bool is_due =
          !rule.reads.empty() && *std::max_element(rule.reads.begin(), rule.reads.end()) == at;
      return is_due && rule.broken(values_);
    });
  }

  const KernelFamily& family_;
  std::vector<int> values_;
  bool is_found_ = false;
  int left_ = 200'000;
};

bool has_types(const KernelFamily& family) {
  for (int ab = 0; ab < kMatrixTypes; ++ab) {
    for (int cd = 0; cd < kMatrixTypes; ++cd) {
      if (family.supports(signature_of(static_cast<ElementType>(ab), static_cast<ElementType>(cd))))
        return true;
    }
  }
  return false;
}

std::optional<std::string> why_bad_configs(const KernelFamily& family) {
  if (!has_types(family)) return "has kernels of no element types";
  const FirstConfig first(family);
  if (first.found() == nullptr && !first.was_given_up()) {
    return "has no config: its rules or reject() turn down every combination of values";
  }
  if (first.found() != nullptr) family.traits(*first.found());
  for (const std::vector<int>& one : family.representatives) {
    if (one.size() != family.params.size() || family.reject(one)) {
      return "has a representative that is none of its configs";
    }
  }
  return std::nullopt;
}

std::optional<std::string> why_bad(const KernelFamily& family) {
  if (family.is_library()) return "claims to be an algorithm of " + excerpt(family.library);
  if (family.revision < 1) return "has a revision below 1";
  if (!family.reject || !family.traits) return "lacks reject() or traits(): use make_family()";
  const auto text = family.texts.find("kernel.cuh");
  if (text == family.texts.end()) return "has no kernel.cuh in its folder";
  if (text->second.find_first_not_of(" \t\r\n") == std::string::npos) {
    return "has an empty kernel.cuh";
  }
  if (auto why = why_bad_params(family)) return why;
  kernel_source(family);  // throws where an include leads nowhere
  return why_bad_configs(family);
}

KernelFamily family_of(const FamilyFile& file, const Loaded& others) {
  const PluginInfo& info = open_plugin(file.path);
  KernelFamily family;
  if (const char* why = info.make(&family)) {
    throw UsageError(plugin_named(file.path) + " has no family: family() throws: " + excerpt(why));
  }
  family.plugin = file.path;
  if (const auto why = why_bad_name(family, others)) {
    throw UsageError(plugin_named(file.path) + " " + *why);
  }
  check_functions(family, {family.name, file.path, info.take_failure});
  if (const auto why = why_bad(family)) {
    throw UsageError("the family " + in_quotes(family.name) + " of " + plugin_named(file.path) +
                     " " + *why);
  }
  return family;
}

void load(const FamilyFile& file) {
  Loaded& all = loaded();
  const std::lock_guard loading(all.mutex);
  if (std::find(all.files.begin(), all.files.end(), file) != all.files.end()) return;
  if (all.is_taken) {
    throw UsageError(plugin_named(file.path) +
                     " comes too late: load families before anything else is asked");
  }
  all.families.push_back(family_of(file, all));
  all.files.push_back(file);
}

}  // namespace

void load_family(const std::string& file) { load(file_of(file)); }

void load_same_family(const FamilyFile& file) {
  const FamilyFile now = file_of(file.path);
  if (now.hash != file.hash) {
    throw UsageError(plugin_named(file.path) +
                     " has changed since the program loaded it: start the program again");
  }
  load(now);
}

std::vector<FamilyFile> loaded_families() {
  Loaded& all = loaded();
  const std::lock_guard reading(all.mutex);
  return all.files;
}

std::vector<KernelFamily> take_user_families() {
  Loaded& all = loaded();
  const std::lock_guard taking(all.mutex);
  all.is_taken = true;
  return all.families;
}

}  // namespace gemm_tune
