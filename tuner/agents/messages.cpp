// SPDX-License-Identifier: Apache-2.0
#include "tuner/agents/messages.h"

#include <utility>

#include "tuner/work/frame.h"

namespace gemm_tune {

GroupKey group_of(const AgentFacts& facts) {
  const DeviceSpec& spec = facts.target.spec;
  return {spec.arch, spec.name, spec.sm_count};
}

void to_json(nlohmann::json& json, const AgentFacts& value) {
  const Target& target = value.target;
  json = {{"host", value.host},
          {"boot_id", value.boot_id},
          {"failure", value.failure},
          {"has_bad_options", value.has_bad_options},
          {"spec", target.spec},
          {"measurable", target.measurable},
          {"ordinals", target.ordinals},
          {"uuids", target.uuids},
          {"driver_version", target.driver_version},
          {"why_not", target.why_not},
          {"gpu", target.gpu},
          {"nvrtc_version", value.nvrtc_version},
          {"tool_version", value.tool_version},
          {"jobs", value.jobs},
          {"cpus", value.cpus},
          {"cpus_of_machine", value.cpus_of_machine}};
}

void from_json(const nlohmann::json& json, AgentFacts& value) {
  Target& target = value.target;
  json.at("host").get_to(value.host);
  json.at("boot_id").get_to(value.boot_id);
  json.at("failure").get_to(value.failure);
  json.at("has_bad_options").get_to(value.has_bad_options);
  json.at("spec").get_to(target.spec);
  json.at("measurable").get_to(target.measurable);
  json.at("ordinals").get_to(target.ordinals);
  json.at("uuids").get_to(target.uuids);
  json.at("driver_version").get_to(target.driver_version);
  json.at("why_not").get_to(target.why_not);
  json.at("gpu").get_to(target.gpu);
  json.at("nvrtc_version").get_to(value.nvrtc_version);
  json.at("tool_version").get_to(value.tool_version);
  json.at("jobs").get_to(value.jobs);
  json.at("cpus").get_to(value.cpus);
  json.at("cpus_of_machine").get_to(value.cpus_of_machine);
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
