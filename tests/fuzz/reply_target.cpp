// SPDX-License-Identifier: Apache-2.0
// What a worker may say: its kernels may have spoilt its memory, so anything.
#include <nlohmann/json.hpp>
#include <string>

#include "core/error.h"
#include "tests/fuzz/targets.h"
#include "tuner/work/protocol.h"

namespace gemm_tune::fuzz {
namespace {

// Whether the JSON is a T; where it is, its own JSON must be one too, the same again.
template <class T>
bool reads_as(const nlohmann::json& json) {
  T value;
  try {
    json.get_to(value);
  } catch (const nlohmann::json::exception&) {
    return false;
  } catch (const Error&) {  // a word of a closed list
    return false;
  }
  const nlohmann::json once = value;
  require(nlohmann::json(once.get<T>()) == once, "a value survives its JSON");
  return true;
}

}  // namespace

void check_reply(std::string_view input) {
  const nlohmann::json json = nlohmann::json::parse(input, nullptr, false);
  if (json.is_discarded()) return;
  reads_as<CompileReply>(json);
  reads_as<DeviceReply>(json);
  reads_as<MeasureReply>(json);
  reads_as<FinalsReply>(json);
  reads_as<CompileRequest>(json);
  reads_as<MeasureRequest>(json);
  reads_as<FinalsRequest>(json);
}

}  // namespace gemm_tune::fuzz
