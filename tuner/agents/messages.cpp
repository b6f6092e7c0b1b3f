// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/messages.h"

#include <utility>

#include "tuner/work/frame.h"

namespace gemm_tune {

GroupKey group_of(const AgentFacts& facts) {
  const DeviceSpec& spec = facts.target.spec;
  return {spec.arch, spec.name, spec.sm_count};
}

std::string message_of(const char* key, nlohmann::json body) {
  return to_frame({{key, std::move(body)}});
}

std::optional<std::pair<std::string, nlohmann::json>> read_agent_message(const std::string& bytes) {
  FrameReader reader;
  reader.append(bytes);
  std::optional<nlohmann::json> message = reader.next();
  if (!message || !message->is_object() || message->size() != 1) return std::nullopt;
  const auto entry = message->begin();
  return std::pair(entry.key(), std::move(entry.value()));
}

std::vector<nlohmann::json*> cubin_places(nlohmann::json& request) {
  std::vector<nlohmann::json*> places;
  if (const auto candidate = request.find("candidate"); candidate != request.end()) {
    places.push_back(&*candidate);
  }
  if (const auto finalists = request.find("finalists"); finalists != request.end()) {
    for (nlohmann::json& one : *finalists) places.push_back(&one);
  }
  return places;
}

std::string cubin_key(const nlohmann::json& place) {
  return place.at("cubin_key").get<std::string>();
}

}  // namespace gemm_tune
