// SPDX-License-Identifier: Apache-2.0
#include "dispatch/preload/report/report.h"

#include <fcntl.h>
#include <unistd.h>

#include <nlohmann/json.hpp>

#include "core/files/write_signals.h"
#include "core/problem/problem.h"
#include "core/types/accuracy.h"
#include "gpu/cuda_libraries/cublas_types.h"

namespace gemm_tune::preload {
namespace {

using Json = nlohmann::ordered_json;

std::string operation(std::int32_t op) {
  switch (op) {
    case kOpN:
      return "N";
    case kOpT:
      return "T";
    case kOpC:
      return "C";
  }
  return std::to_string(op);
}

// cublasLt's number where gemm-tune has no kernels for the epilogue.
std::string epilogue_name(std::int32_t number) {
  const std::optional<Epilogue> known = cublas_abi::lt_epilogue(number);
  return known ? to_string(*known) : std::to_string(number);
}

// cuBLAS's number where gemm-tune has no name for the type.
std::string type_name(std::int32_t type) {
  const std::optional<ElementType> known = cublas_abi::element_type(type);
  return known ? std::string(to_string(*known)) : std::to_string(type);
}

// What is no UTF-8 (a path may be any bytes) is replaced.
std::string line(const Json& object) {
  return object.dump(-1, ' ', false, Json::error_handler_t::replace) + "\n";
}

}  // namespace

std::string process_line(int pid, const std::string& program, const std::string& error,
                         std::uint64_t beyond_table) {
  Json object = {{"pid", pid}, {"program", program}};
  if (!error.empty()) object["error"] = error;
  if (beyond_table > 0) object["beyond_table"] = beyond_table;
  return line(object);
}

std::string shape_line(int pid, const Shape& shape) {
  const ShapeKey& key = shape.key;
  Json declined = Json::object();
  std::uint64_t tunable = 0;
  for (int reason = 0; reason < kReasons; ++reason) {
    const std::uint64_t count = shape.declined[static_cast<std::size_t>(reason)].load();
    if (count == 0) continue;
    declined[std::string(to_string(static_cast<Reason>(reason)))] = count;
    if (tuning_may_help(static_cast<Reason>(reason))) tunable += count;
  }
  Json object = {{"pid", pid},
                 {"function", info_of(static_cast<CublasFunction>(key.function)).name},
                 {"m", key.m},
                 {"n", key.n},
                 {"k", key.k},
                 {"batch", key.batch},
                 {"batch_kind", to_string(static_cast<BatchKind>(key.batch_kind))},
                 {"op_a", operation(key.op_a)},
                 {"op_b", operation(key.op_b)},
                 {"lda", key.lda},
                 {"ldb", key.ldb},
                 {"ldc", key.ldc},
                 {"type_a", type_name(key.type_a)},
                 {"type_b", type_name(key.type_b)},
                 {"type_c", type_name(key.type_c)},
                 {"compute_type", key.compute_type},
                 {"algorithm", key.algorithm},
                 {"epilogue", epilogue_name(key.epilogue)},
                 {"device", key.device},
                 {"alignments", {key.alignment_a, key.alignment_b, key.alignment_c}},
                 {"served", shape.served.load()},
                 {"declined", declined},
                 {"tunable", tunable}};
  if (key.accuracy != 0) object["accuracy"] = to_string(static_cast<Accuracy>(key.accuracy));
  if (const std::uint64_t timed = shape.timed.load(); timed > 0) {
    object["timed"] = timed;
    object["gpu_us"] = static_cast<double>(shape.timed_ns.load()) / 1000;
  }
  if (shape.expected_us.load() > 0 && shape.cublas_us.load() > 0) {
    object["expected_us"] = shape.expected_us.load();
    object["cublas_us"] = shape.cublas_us.load();
  }
  return line(object);
}

void append_to(const std::string& file, const std::string& text) {
  const WriteSignalsHeld held;
  // A pipe that nobody reads is not waited for, one that is read is.
  const int descriptor =
      ::open(file.c_str(), O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC | O_NONBLOCK, 0666);
  if (descriptor < 0) return;
  ::fcntl(descriptor, F_SETFL, O_APPEND);
  const char* at = text.data();
  const char* const end = at + text.size();
  while (at < end) {
    const ssize_t written = ::write(descriptor, at, static_cast<std::size_t>(end - at));
    if (written <= 0) break;
    at += written;
  }
  ::close(descriptor);
}

}  // namespace gemm_tune::preload
