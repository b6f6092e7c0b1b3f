// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/server.h"

#include <unistd.h>

#include <chrono>
#include <exception>
#include <string_view>
#include <variant>

#include "core/error.h"
#include "core/text/parse_number.h"
#include "core/types/signature.h"
#include "dispatch/c_values.h"
#include "dispatch/preload/driver.h"
#include "dispatch/preload/report/report.h"

namespace gemm_tune::preload {

Settings Settings::from(Get* get) {
  Settings settings;
  if (const char* const report = get("GEMM_TUNE_BLAS_REPORT")) settings.report = report;
  if (const char* const counts = get("GEMM_TUNE_BLAS_COUNTS")) settings.counts = counts;
  if (const char* const families = get("GEMM_TUNE_BLAS_FAMILIES")) settings.families = families;
  if (const char* const distance = get("GEMM_TUNE_BLAS_DISTANCE")) {
    settings.most_distance = parse_number<double>(distance).value_or(0);
    if (!(settings.most_distance >= 1)) {
      settings.error = std::string("GEMM_TUNE_BLAS_DISTANCE is '") + distance +
                       "': it must be a number from 1 on";
    }
  }
  if (const char* const seconds = get("GEMM_TUNE_BLAS_REFRESH")) {
    constexpr double kMost = 86400;
    settings.refresh_s = parse_number<double>(seconds).value_or(-1);
    const bool is_in_range = settings.refresh_s >= 0 && settings.refresh_s <= kMost;
    if (!is_in_range) {
      settings.error = std::string("GEMM_TUNE_BLAS_REFRESH is '") + seconds +
                       "': it must be a number of seconds from 0 (never) to 86400";
    }
  }
  if (const char* const name = get(kFp32AccuracyVariable)) {
    try {
      settings.arithmetic.accuracy = c_accuracy_of(fp32_accuracy_named(name));
    } catch (const UsageError& none) {
      settings.error = none.what();
    }
  }
  if (const char* const tf32 = get("NVIDIA_TF32_OVERRIDE")) {
    settings.arithmetic.never_tf32 = std::string_view(tf32) == "0";
    settings.arithmetic.forced_tf32 = !settings.arithmetic.never_tf32;
  }
  if (const char* const emulated = get("CUBLAS_EMULATE_SINGLE_PRECISION")) {
    settings.arithmetic.emulated = std::string_view(emulated) != "0";
  }
  return settings;
}

int Server::own_pid() { return ::getpid(); }

std::optional<Declined> Server::serve(const CublasCall& call,
                                      const std::optional<HandleState>& state,
                                      std::optional<Reason> against, GpuTimer::Span* span) {
  const std::optional<int> device = current_device();
  std::variant<gt_gemm_call, Reason> tuned = against.value_or(Reason::handle);
  if (state && !against) tuned = tuned_call(call, *state, settings_.arithmetic);
  const gt_gemm_call* const product = std::get_if<gt_gemm_call>(&tuned);
  const bool reads_c = product == nullptr || product->beta != 0;
  ShapeKey key = key_of(call, device.value_or(-1), reads_c);
  if (product != nullptr && product->accuracy != GT_ACCURACY_FP32) {
    key.accuracy = static_cast<std::int16_t>(product->accuracy);
  }
  Shape* const shape = shapes_.find(key);
  if (shape == nullptr) {
    counts_.add_beyond_table();
    return Declined{};
  }
  const auto decline = [&](Reason reason) { return Declined{shape, reason}; };
  if (!device) return decline(Reason::no_device);
  if (!state) return decline(Reason::handle);
  if (!settings_.report.empty() && GpuTimer::samples(shape->calls.fetch_add(1))) {
    span->begin(timer_, state->stream, shape);
  }
  if (state->device && *state->device != *device) return decline(Reason::other_device);
  if (product == nullptr) return decline(std::get<Reason>(tuned));
  against = try_to_serve(call, *product, state->stream, shape);
  if (against) return decline(*against);
  shape->count_served();
  return std::nullopt;
}

std::optional<Reason> Server::try_to_serve(const CublasCall& asked, const gt_gemm_call& call,
                                           CUstream_st* stream, Shape* shape) {
  // Who reads that a call is served also sees library_, which another thread may have opened.
  int verdict = shape->verdict.load(std::memory_order_acquire);
  if (verdict == Shape::kUnknown) {
    const std::uint64_t generation = generation_;
    verdict = verdict_on(call, shape);
    if (verdict == Shape::kUnknown) return why_invalid(asked);
    shape->verdict = verdict;
    if (generation_ != generation) shape->verdict = Shape::kUnknown;  // refresh() came in between
  }
  if (verdict != Shape::kServed) return static_cast<Reason>(verdict);
  const gt_status status = library_->gemm(stream, call);
  if (status == GT_OK) return std::nullopt;
  if (status == GT_NO_KERNEL && call.workspace_bytes >= 0) return Reason::workspace;
  // Calls of one shape may have other addresses and strides than the one that was looked up.
  if (status == GT_INVALID_ARGUMENT) return why_invalid(asked);
  remember_error(library_->last_error());
  return Reason::failed;
}

int Server::verdict_on(const gt_gemm_call& call, Shape* shape) {
  const TunedLibrary* const opened = library();
  if (opened == nullptr) return static_cast<int>(Reason::library);
  gt_recipe recipe{};
  const gt_status status = opened->lookup(call, &recipe);
  if (status == GT_INVALID_ARGUMENT) return Shape::kUnknown;
  if (status != GT_OK) {
    remember_error(opened->last_error());
    return static_cast<int>(Reason::failed);
  }
  if (recipe.match == GT_MATCH_NONE) check_class(call);
  const bool is_exact = recipe.match == GT_MATCH_EXACT;
  shape->expected_us = is_exact ? recipe.tuned_us : recipe.expected_us;
  shape->cublas_us = is_exact ? recipe.baseline_us : recipe.cublas_us;
  const std::optional<Reason> against = objection(recipe, settings_.most_distance);
  return against ? static_cast<int>(*against) : Shape::kServed;
}

void Server::check_class(const gt_gemm_call& call) {
  const bool is_asked = call.accuracy == settings_.arithmetic.accuracy;
  if (!is_asked || call.accuracy == GT_ACCURACY_FP32) return;
  const std::string why = library_->why_no_kernel(call);
  if (why.empty()) return;
  const std::string_view asked = to_string(static_cast<Accuracy>(call.accuracy));
  remember_error(kFp32AccuracyVariable + (" is '" + std::string(asked)) + "': " + why);
}

const TunedLibrary* Server::library() {
  std::call_once(opening_, [this] { open_library(); });
  return library_ != nullptr && library_->is_open() ? library_.get() : nullptr;
}

void Server::open_library() {
  if (!settings_.error.empty()) return remember_error(settings_.error);
  try {
    library_ = std::make_unique<TunedLibrary>(settings_.families);
    library_->refresh();
  } catch (const std::exception& error) {
    remember_error(error.what());
  }
  if (library_ == nullptr || settings_.refresh_s == 0) return;
  refresher_.start([this] { return refresh(); },
                   std::chrono::duration<double>(settings_.refresh_s));
}

bool Server::refresh() {
  const bool was_open = library_->is_open();
  try {
    if (!library_->refresh()) return false;
  } catch (const std::exception&) {  // the winners stay as they are; the next time may be better
    return false;
  }
  if (!was_open) forget_error();  // that it could not be opened
  ++generation_;
  shapes_.for_each([](Shape& shape) { shape.verdict = Shape::kUnknown; });
  return true;
}

void Server::forget_error() {
  const std::lock_guard lock(error_mutex_);
  counts_.forget_error();
}

void Server::remember_error(const std::string& sentence) {
  const std::lock_guard lock(error_mutex_);
  counts_.set_error(sentence);
}

void Server::collect_times() {
  if (own_pid() == pid_) timer_.collect();
}

void Server::write_report() const {
  if (settings_.report.empty() || own_pid() != pid_) return;
  append_to(settings_.report, counts_.report());
  counts_.remove_file();
}

}  // namespace gemm_tune::preload
