// SPDX-License-Identifier: Apache-2.0
#include "dispatch/dispatcher.h"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <system_error>
#include <utility>

#include "choose/builtin_config.h"
#include "choose/choose.h"
#include "choose/layered.h"
#include "core/files/write_signals.h"
#include "core/text/fnv1a.h"
#include "db/layers.h"
#include "dispatch/c_values.h"
#include "dispatch/recipe.h"
#include "gpu/device.h"
#include "gpu/launch/stream.h"
#include "runtime/prepared_call.h"

namespace gemm_tune {
namespace {

// An application with endless different shapes must not fill the memory. Each answer beyond these
// is found anew, which takes up to a millisecond where a search's configs are compared. Problems
// that were tuned on the device do not count.
constexpr std::size_t kMostRemembered = 16384;
constexpr std::size_t kMostDevices = 1024;

// What CallKey gets for a device: recipes of column-major calls have A and B exchanged.
int number_of(int device, gt_order order) { return 2 * device + (order == GT_ROW_MAJOR ? 0 : 1); }

// A valid call with a product. Throws UsageError.
GemmCall checked_question(const gt_gemm_call& asked) {
  const GemmCall call = row_major_call(asked, Addresses::optional);
  const Problem& problem = call.problem;
  if (problem.M == 0 || problem.N == 0 || problem.batch == 0) {
    throw UsageError("call has no product: M, N or batch is 0");
  }
  return call;
}

std::map<std::string, Tuned> read_tuned(const Dispatcher::Settings& settings,
                                        const LockWait& lock) {
  const std::vector<std::filesystem::path> layers = layer_files(settings.layer_folders);
  const WriteSignalsHeld held;  // SQLite writes a file beside a database to read it
  std::optional<Database> own;
  if (!is_missing_above(layers, settings.database)) {
    own.emplace(settings.database, Database::Mode::read_only, lock);
  }
  std::map<std::string, Tuned> tuned =
      load_layered(own ? &*own : nullptr, layers, std::nullopt, current_revisions(), {},
                   settings.policy == Policy::batch_invariant)
          .tuned;
  if (!own && tuned.empty()) Database(settings.database, Database::Mode::read_only);  // says why
  return tuned;
}

// Of what a search says in the end. A problem whose search goes on has a better row every second,
// without a baseline.
std::string hash_of_timed_beside_library(const std::map<std::string, Tuned>& tuned) {
  Fnv1a hash;
  for (const auto& [arch, its] : tuned) {
    for (const Winner& winner : its.winners.all()) {
      const Record& row = winner.record;
      if (!row.baseline || !row.outcome.timing) continue;
      for (const std::string& text :
           {arch, row.device.name, std::to_string(row.device.sm_count), to_string(row.problem),
            row.config, row.revision, std::to_string(row.outcome.timing->median_us),
            row.baseline->title(), std::to_string(row.baseline->timing.median_us), winner.layer}) {
        hash.add(text);
      }
    }
  }
  return hash.hex();
}

bool is_for_tuned(const Choice& choice, const DeviceKey& device, const Problem& problem) {
  return choice.winner && sameness(choice.winner->problem, problem) != Sameness::none &&
         choice.winner->device == device;
}

// The library's version by which an algorithm was chosen; empty: any serves.
std::string library_version(const Choice& choice) {
  const bool is_algorithm =
      choice.config->family->is_library() && choice.config->family != library_choice().family;
  return is_algorithm && choice.winner ? choice.winner->revision : "";
}

// In a file of refined choices: a config and, of a library's algorithm, the version behind a blank.
std::string answer_of(const KnownConfig& config, const std::string& version) {
  return to_string(config.config()) + (version.empty() ? "" : " " + version);
}

std::optional<std::size_t> index_of_least(const std::vector<std::optional<double>>& values) {
  std::optional<std::size_t> least;
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (values[i] && (!least || *values[i] < *values[*least])) least = i;
  }
  return least;
}

}  // namespace

Dispatcher::Winners::Winners(const Settings& settings, const LockWait& lock)
    : tuned(read_tuned(settings, lock)) {}

Dispatcher::Generation::Generation()
    : devices(kMostDevices), recipes(kMostRemembered), servers(kMostRemembered) {}

const Tuned& Dispatcher::Winners::of(const std::string& arch) const {
  static const Tuned kNothing;
  const auto found = tuned.find(arch);
  return found == tuned.end() ? kNothing : found->second;
}

Dispatcher::Dispatcher(Settings settings) : settings_(std::move(settings)) {
  reload();
  if (settings_.refined_choices) refined_choices_.emplace(*settings_.refined_choices);
  if (!settings_.kernel_cache) return;
  try {
    servers_.keep_kernels_in(*settings_.kernel_cache);
  } catch (const Error&) {
    if (settings_.cache_need == CacheNeed::required) throw;
  }
}

void Dispatcher::reload() {
  // Reads one after the other, so that what was read last stays.
  const std::lock_guard reloading(reloading_);
  const DatabaseStamp stamp = stamp_of(settings_.database);
  take(std::make_shared<const Winners>(settings_, LockWait()));
  stamp_ = stamp;
}

bool Dispatcher::refresh() {
  const std::lock_guard reloading(reloading_);
  // What is written while it reads changes the stamp once more.
  const DatabaseStamp stamp = stamp_of(settings_.database);
  if (stamp == stamp_) return false;
  auto read = std::make_shared<const Winners>(settings_, LockWait(std::chrono::milliseconds(0)));
  stamp_ = stamp;
  if (hash_of_timed_beside_library(read->tuned) == hash_of_timed_beside_library(winners()->tuned)) {
    return false;
  }
  take(std::move(read));
  return true;
}

void Dispatcher::take(std::shared_ptr<const Winners> winners) {
  generations_.push_back(std::make_unique<Generation>());
  {
    const std::lock_guard taking(taking_winners_);
    winners_.swap(winners);
  }
  current_.store(generations_.back().get(), std::memory_order_release);
}

std::shared_ptr<const Dispatcher::Winners> Dispatcher::winners() const {
  const std::lock_guard taking(taking_winners_);
  return winners_;
}

Allowed Dispatcher::allowed(bool with_library) const {
  switch (settings_.policy) {
    case Policy::best:
      return {with_library, /*untuned=*/true};
    case Policy::tuned_only:
      return {false, /*untuned=*/false, /*one_order=*/false, /*twins=*/false};
    case Policy::deterministic:
      return {false, /*untuned=*/true};
    case Policy::batch_invariant:
      return {false, /*untuned=*/true, /*one_order=*/true};
  }
  throw Error("a policy outside the closed list");
}

const gt_recipe* Dispatcher::remembered(const DeviceName& on, const gt_gemm_call& asked) const {
  const Generation& generation = *current_.load(std::memory_order_acquire);
  const int* const device = generation.devices.find(on);
  if (device == nullptr) return nullptr;
  const std::optional<CallKey> key = plain_key(asked, number_of(*device, asked.order));
  return key ? generation.recipes.find(*key) : nullptr;
}

Dispatcher::Question Dispatcher::question_of(const DeviceName& on, const GemmCall& call) const {
  Question question{{on.arch, on.name, on.sm_count}, call.problem, allowed(library_takes(call))};
  question.problem.batch = std::min<std::int64_t>(call.problem.batch, kMaxBatch);
  return question;
}

const int* Dispatcher::number_of_device(const Generation& generation, const DeviceName& on) const {
  if (const int* const known = generation.devices.find(on)) return known;
  const std::lock_guard naming(naming_);
  if (const int* const known = generation.devices.find(on)) return known;
  const int* const added =
      generation.devices.add({on.arch, on.name, on.sm_count}, generation.next_device);
  if (added != nullptr) ++generation.next_device;
  return added;
}

gt_recipe Dispatcher::lookup(const DeviceName& on, const gt_gemm_call& asked) const {
  const GemmCall call = checked_question(asked);
  const Generation& generation = *current_.load(std::memory_order_acquire);
  std::optional<CallKey> key;
  if (const int* const number = number_of_device(generation, on)) {
    key.emplace(call, number_of(*number, asked.order));
  }
  if (key) {
    if (const gt_recipe* const known = generation.recipes.find(*key)) return *known;
  }
  const auto [device, problem, allowed] = question_of(on, call);
  const std::shared_ptr<const Winners> winners = this->winners();
  const Choice choice =
      choose(winners->of(device.arch), device, problem, allowed, Sentence::left_out);
  gt_recipe recipe = recipe_of(choice, device, problem);
  if (choice.config) {
    const std::lock_guard naming(naming_);
    recipe.config = text_of(*choice.config);
  }
  if (asked.order == GT_COLUMN_MAJOR) std::swap(recipe.align_a, recipe.align_b);
  if (key) generation.recipes.add(*key, recipe, !is_for_tuned(choice, device, problem));
  return recipe;
}

const char* Dispatcher::text_of(const KnownConfig& config) const {
  std::map<std::vector<int>, std::string>& texts = names_[config.family];
  const auto [name, is_new] = texts.try_emplace(config.values);
  if (is_new) name->second = to_string(config.config());
  return name->second.c_str();
}

std::string Dispatcher::explain(const DeviceName& on, const gt_gemm_call& asked) const {
  const Question question = question_of(on, checked_question(asked));
  const std::shared_ptr<const Winners> winners = this->winners();
  return choose(winners->of(question.device.arch), question.device, question.problem,
                question.allowed)
      .explanation;
}

DeviceName Dispatcher::current_device_name() const {
  const DeviceKey& key = servers_.device(current_device());
  return {key.arch.c_str(), key.name.c_str(), key.sm_count};
}

// By the kernel that serves the call, so that its first call compiles nothing more; where that
// takes no copy, by the default one of the class, whose copies are the same.
void Dispatcher::keep_copy(CallValue operand, const GemmCall& call, cudaStream_t stream,
                           DeviceBuffer<char>& memory) {
  const int ordinal = current_device();
  const DeviceKey& on = servers_.device(ordinal);
  const OutsideCapture loading;
  GemmCall making = call;
  making.alpha = 1;  // of 0 operands are not read
  const std::shared_ptr<const Winners> winners = this->winners();
  const Choice choice =
      choose(winners->of(on.arch), on, call.problem, allowed(false), Sentence::left_out);
  const std::optional<KnownConfig> by_default = builtin_default(call.problem, on.arch);
  for (const KnownConfig* const config :
       {choice.config.get(), by_default ? &*by_default : nullptr}) {
    if (config == nullptr || why_illegal(config->recipe, call.problem)) continue;
    const auto plan = config->plan(call.problem, on.sm_count).that_makes(operand);
    if (!plan) continue;
    const auto bytes = static_cast<std::size_t>(plan->workspace_bytes);
    const auto zeroed = static_cast<std::size_t>(plan->zeroed_bytes);
    const LoadedKernels& loaded = servers_.kernels(ordinal, on.arch, *config, form_of(call));
    if (memory.size() == 0) memory = DeviceBuffer<char>(bytes);
    GT_CUDA(cudaMemsetAsync(memory.data() + bytes - zeroed, 0, zeroed, stream));
    PreparedCall(loaded, *plan).launch(making, memory.data(), stream);
    return;
  }
  throw NoKernelError("no kernel of " + to_string(call.problem.signature) + " on " + on.arch +
                      " takes a prepared operand");
}

void Dispatcher::gemm(const GemmCall& call, cudaStream_t stream, const GivenWorkspace& given) {
  if (changes_nothing(call)) return;
  const std::int64_t batch = call.problem.batch;
  if (batch <= kMaxBatch) return launch(call, stream, given);
  for (std::int64_t first = 0; first < batch; first += kMaxBatch) {
    launch(part_of(call, first, std::min<std::int64_t>(kMaxBatch, batch - first)), stream, given);
  }
}

void Dispatcher::launch(const GemmCall& call, cudaStream_t stream, const GivenWorkspace& given) {
  const int ordinal = current_device();
  Generation& generation = *current_.load(std::memory_order_acquire);
  const CallKey key(call, ordinal);
  if (const Server* const known = generation.servers.find(key)) {
    return servers_.enqueue(*known, call, ordinal, stream, given);
  }
  const DeviceKey& on = servers_.device(ordinal);
  const OutsideCapture loading;
  const std::shared_ptr<const Winners> winners = this->winners();
  const Choice choice = choose(winners->of(on.arch), on, call.problem, allowed(library_takes(call)),
                               Sentence::left_out);
  const auto [server, lasts] = first_sight(*winners, choice, call, ordinal, stream);
  if (lasts) generation.servers.add(key, server, !is_for_tuned(choice, on, call.problem));
  servers_.enqueue(server, call, ordinal, stream, given);
}

Dispatcher::FirstSight Dispatcher::first_sight(const Winners& winners, const Choice& choice,
                                               const GemmCall& call, int ordinal,
                                               cudaStream_t stream) {
  const bool may_differ = settings_.policy != Policy::deterministic &&
                          settings_.policy != Policy::batch_invariant &&
                          !is_for_tuned(choice, servers_.device(ordinal), call.problem);
  if (!may_differ) return {prepare(winners, choice, call, ordinal)};
  if (std::optional<Server> known = refined_before(call, ordinal)) return {std::move(*known)};
  // Of a batch of pointers nobody knows where D could lie as well.
  const bool may_refine = settings_.refine_ms > 0 && call.problem.batch_kind == BatchKind::strided;
  if (!may_refine || is_capturing(stream)) return {prepare(winners, choice, call, ordinal)};
  // Who waited for another thread's refinement might wait for work that its own stream waits for.
  const std::unique_lock alone(refining_, std::try_to_lock);
  if (!alone) return {prepare(winners, choice, call, ordinal), false};
  return {refined(winners, choice, call, ordinal, stream)};
}

// The answer of the file, if this call can have it.
std::optional<Server> Dispatcher::refined_before(const GemmCall& call, int ordinal) {
  if (!refined_choices_) return std::nullopt;
  const DeviceKey& on = servers_.device(ordinal);
  const std::optional<std::string> answer =
      refined_choices_->find(on, refined_question(call.problem, form_of(call)));
  if (!answer) return std::nullopt;
  try {
    const std::size_t blank = answer->find(' ');
    const KnownConfig config = check_config(parse_config(answer->substr(0, blank)));
    const bool serves = config.family->is_library() ? allowed(library_takes(call)).library
                                                    : !why_illegal(config.recipe, call.problem);
    if (!serves) return std::nullopt;
    const std::string version = blank == std::string::npos ? "" : answer->substr(blank + 1);
    return servers_.prepare(config, version, call, ordinal);
  } catch (const UsageError&) {  // of another version of this library, or no config
    return std::nullopt;
  } catch (const DeviceError&) {  // cuBLAS or cublasLt is missing, or another one
    return std::nullopt;
  }
}

// The likeliest configs and, where a library may serve, cublasLt's proposals. A candidate that
// fails leaves its place to the others. Preparing may take half of the time, but one kernel is
// always prepared.
std::vector<Dispatcher::Candidate> Dispatcher::candidates(const Winners& winners,
                                                          const GemmCall& call, int ordinal,
                                                          const Refinement& timing) {
  constexpr std::size_t kKernels = 3;
  constexpr int kProposals = 16;
  const DeviceKey& on = servers_.device(ordinal);
  const Allowed allowed = this->allowed(library_takes(call));
  std::vector<Candidate> prepared;
  const auto try_to_add = [&](const KnownConfig& config, const std::string& version) {
    try {
      prepared.push_back(
          {servers_.prepare(config, version, call, ordinal), answer_of(config, version)});
      return true;
    } catch (const Error&) {
      return false;
    }
  };
  bool has_kernel = false;
  for (const Choice& one : likeliest(winners.of(on.arch), on, call.problem, allowed, kKernels)) {
    if (has_kernel && timing.is_half_over()) break;
    const bool is_added = one.config && try_to_add(*one.config, library_version(one));
    has_kernel = has_kernel || (is_added && !one.config->family->is_library());
  }
  if (!allowed.library) return prepared;
  Library& library = servers_.library(ordinal);
  for (const KnownConfig& config : library.proposals(call, kProposals)) {
    if (config.family == library_choice().family) continue;  // among the likeliest
    try_to_add(config, library.revision(*config.family));
  }
  return prepared;
}

// What is fastest of all candidates; where none can be timed, prepare() serves or says why not.
Server Dispatcher::refined(const Winners& winners, const Choice& choice, const GemmCall& call,
                           int ordinal, cudaStream_t stream) {
  std::vector<Candidate> all;
  std::vector<std::optional<double>> time_us;
  try {
    Refinement timing(call, stream, settings_.refine_ms);
    all = candidates(winners, call, ordinal, timing);
    std::vector<Refinement::Enqueue> ways;
    for (const Candidate& one : all) {
      ways.emplace_back([&](const GemmCall& way, cudaStream_t into) {
        servers_.enqueue(one.server, way, ordinal, into);
      });
    }
    time_us = timing.median_us(ways);
  } catch (const Error&) {  // no memory for another D
  }
  const std::optional<std::size_t> best = index_of_least(time_us);
  if (!best) return prepare(winners, choice, call, ordinal);
  // What was timed alone is no answer for other processes.
  const auto none = std::count(time_us.begin(), time_us.end(), std::nullopt);
  if (refined_choices_ && static_cast<std::size_t>(none) + 1 < time_us.size()) {
    refined_choices_->add(servers_.device(ordinal), refined_question(call.problem, form_of(call)),
                          all[*best].answer);
  }
  return std::move(all[*best].server);
}

// Where a library cannot be opened, or is another one than the database knows: cuBLAS's own choice
// in place of an algorithm, and a kernel in place of that.
Server Dispatcher::prepare(const Winners& winners, const Choice& choice, const GemmCall& call,
                           int ordinal) {
  if (!choice.config) {
    throw NoKernelError("no kernel can serve " + to_string(call.problem) + ": " +
                        choice.explanation);
  }
  const std::string version = library_version(choice);
  try {
    return servers_.prepare(*choice.config, version, call, ordinal);
  } catch (const DeviceError&) {
    if (!choice.config->family->is_library()) throw;
    if (choice.config->family != library_choice().family) {
      Choice next;
      next.config = std::make_shared<const KnownConfig>(library_choice());
      return prepare(winners, next, call, ordinal);
    }
    const DeviceKey& on = servers_.device(ordinal);
    const Choice next =
        choose(winners.of(on.arch), on, call.problem, allowed(false), Sentence::left_out);
    if (!next.config) throw;
    return prepare(winners, next, call, ordinal);
  }
}

}  // namespace gemm_tune
