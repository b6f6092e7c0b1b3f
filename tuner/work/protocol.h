// SPDX-License-Identifier: Apache-2.0
// What crosses the pipe between the program and its workers: one JSON object per frame, both ways
// (tuner/work/frame.h).
//
// A worker greets once, when it is set up. Requests are plain values, so that tests can put a fake
// behind the same pipe. A reply is the answer's value, or a failure of the worker's environment as
// text (an Error's message); a candidate's own failure is an Outcome and thus a normal answer.
#pragma once

#include <cstdint>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "core/candidate/outcome.h"
#include "core/device/device_spec.h"
#include "core/problem/problem.h"
#include "db/database.h"
#include "kernel_templates/source/source.h"
#include "tuner/measure/requests.h"

// Empty optionals travel as null.
template <class T>
struct nlohmann::adl_serializer<std::optional<T>> {
  static void to_json(json& out, const std::optional<T>& value) {
    out = value ? json(*value) : json(nullptr);
  }
  static void from_json(const json& in, std::optional<T>& value) {
    value = in.is_null() ? std::optional<T>() : std::optional<T>(in.get<T>());
  }
};

namespace gemm_tune {

struct CompileRequest {
  std::string config;  // canonical text
  std::string arch;
  std::optional<KernelSource> source = {};  // its family's text; nothing: the worker's own
  bool wants_ptx = false;
  std::string epilogue = "none";  // that the kernel has
};

struct CompileReply {
  std::string config;
  std::string epilogue = "none";
  bool ok = false;
  std::string log;                     // the compiler's first error line where not ok
  std::string cubin;                   // its bytes, where ok
  std::string cubin_key;               // its kernel_key(), where ok
  std::string ptx = {};                // where ok and wanted
  Resources resources;                 // the compiler's part only
  std::optional<double> seconds = {};  // in the compiler
};

struct DeviceRequest {
  int ordinal = 0;
};

struct DeviceReply {
  DeviceSpec spec;
  std::string driver_version;
  int device_count = 0;  // GPUs that CUDA sees
  GpuSettings settings = {};
  std::string uuid = {};  // "" where the driver has none
};

// The text of a reply that reports a failure of the worker's environment.
inline constexpr const char* kErrorKey = "error";
// The reply of a worker that had no memory for a request; it leaves.
inline constexpr const char* kNoMemoryKey = "no_memory";
// The greeting of a worker that is set up.
inline constexpr const char* kReadyKey = "ready";
// True in the last reply of a worker that leaves because a candidate may have spoilt its process.
inline constexpr const char* kLeavingKey = "leaving";

// --- JSON, by the names above -------------------------------------------------------------------

void to_json(nlohmann::json& json, const Problem& value);
void from_json(const nlohmann::json& json, Problem& value);
void to_json(nlohmann::json& json, Disposition value);
void from_json(const nlohmann::json& json, Disposition& value);

void to_json(nlohmann::json& json, const KernelSource& value);
void from_json(const nlohmann::json& json, KernelSource& value);
void to_json(nlohmann::json& json, const CompileReply& value);
void from_json(const nlohmann::json& json, CompileReply& value);
void to_json(nlohmann::json& json, const CompiledConfig& value);
void from_json(const nlohmann::json& json, CompiledConfig& value);

// Bytes that are no text, as JSON's binary value.
nlohmann::json binary_json(const std::string& bytes);

NLOHMANN_JSON_SERIALIZE_ENUM(BaselineKind, {{BaselineKind::cublas, "cublas"},
                                            {BaselineKind::cublas_lt, "cublaslt"},
                                            {BaselineKind::cublas_autotuned, "cublas-autotuned"}})
NLOHMANN_JSON_SERIALIZE_ENUM(Objective, {{Objective::hot, "hot"}, {Objective::cold, "cold"}})
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Resources, registers, spill_bytes, stack_bytes, smem_bytes,
                                   ctas_per_sm)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuConditions, sm_mhz, power_w, temperature_c)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Timing, median_us, samples_us, launches_per_sample, cold_us,
                                   conditions, disturbance)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Outcome, disposition, detail, resources, timing, predicted_us,
                                   compile_s, gpu_s, error)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceSpec, arch, name, cc_major, cc_minor, sm_count,
                                   max_threads_per_cta, max_threads_per_sm, max_ctas_per_sm,
                                   max_registers_per_thread, registers_per_sm, registers_per_cta,
                                   register_allocation_unit, smem_per_sm_bytes,
                                   max_smem_per_cta_bytes, smem_reserved_per_cta_bytes,
                                   smem_allocation_unit_bytes, fp32_lanes_per_sm, clock_mhz,
                                   dram_gb_per_s, l2_bytes, memory_bytes)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(CompileRequest, config, arch, source, wants_ptx, epilogue)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceRequest, ordinal)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(GpuSettings, power_limit_w, memory_mhz, mig_slice)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(DeviceReply, spec, driver_version, device_count, settings, uuid)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasureRequest, problem, candidate, seed, best_us,
                                   small_shapes_only, objective)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(MeasureReply, outcome)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProposalsRequest, problem, seed, most)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(ProposalsReply, configs)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FinalsRequest, problem, finalists, seed, baselines, objective)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(Baseline, name, library_version, timing, error, algorithms)
NLOHMANN_DEFINE_TYPE_NON_INTRUSIVE(FinalsReply, finalists, errors, baselines, absent, others)

}  // namespace gemm_tune
