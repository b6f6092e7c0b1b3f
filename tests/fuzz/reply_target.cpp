// SPDX-License-Identifier: Apache-2.0
// What a worker may say: its kernels may have spoilt its memory, so anything.
#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "core/error.h"
#include "tests/fuzz/targets.h"
#include "tuner/work/frame.h"
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

void check_message(const nlohmann::json& json) {
  reads_as<CompileReply>(json);
  reads_as<DeviceReply>(json);
  reads_as<ProposalsReply>(json);
  reads_as<MeasureReply>(json);
  reads_as<FinalsReply>(json);
  reads_as<CompileRequest>(json);
  reads_as<MeasureRequest>(json);
  reads_as<FinalsRequest>(json);
}

}  // namespace

// In two pieces, as a pipe may cut them.
void check_reply(std::string_view input) {
  FrameReader reader;
  for (const std::string_view piece :
       {input.substr(0, input.size() / 2), input.substr(input.size() / 2)}) {
    reader.append(piece);
    while (const std::optional<nlohmann::json> message = reader.next()) {
      if (message->is_discarded()) return;
      require(message->dump().size() > 0, "a message is UTF-8");
      check_message(*message);
    }
  }
}

}  // namespace gemm_tune::fuzz
