// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/protocol.h"

#include "core/error.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

std::string bytes_of(const nlohmann::json& json) {
  const nlohmann::json::binary_t& bytes = json.get_binary();
  return {bytes.begin(), bytes.end()};
}

}  // namespace

void to_json(nlohmann::json& json, const Problem& value) { json = to_string(value); }

void from_json(const nlohmann::json& json, Problem& value) {
  value = parse_problem(json.get<std::string>());
}

void to_json(nlohmann::json& json, Disposition value) { json = to_string(value); }

void from_json(const nlohmann::json& json, Disposition& value) {
  value = parse_disposition(json.get<std::string>());
}

nlohmann::json binary_json(const std::string& bytes) {
  return nlohmann::json::binary({bytes.begin(), bytes.end()});
}

// A user's text may hold any bytes in its comments.
void to_json(nlohmann::json& json, const KernelSource& value) {
  nlohmann::json headers = nlohmann::json::array();
  for (const auto& [path, text] : value.headers) {
    headers.push_back({{"path", path}, {"text", binary_json(text)}});
  }
  json = {{"path", value.path},
          {"text", binary_json(value.text)},
          {"headers", headers},
          {"revision", value.revision}};
}

void from_json(const nlohmann::json& json, KernelSource& value) {
  json.at("path").get_to(value.path);
  value.text = bytes_of(json.at("text"));
  value.headers.clear();
  for (const nlohmann::json& header : json.at("headers")) {
    value.headers.emplace_back(header.at("path"), bytes_of(header.at("text")));
  }
  json.at("revision").get_to(value.revision);
}

void to_json(nlohmann::json& json, const CompileReply& value) {
  json = {
      {"config", value.config}, {"epilogue", value.epilogue},        {"ok", value.ok},
      {"log", value.log},       {"cubin", binary_json(value.cubin)}, {"cubin_key", value.cubin_key},
      {"ptx", value.ptx},       {"resources", value.resources},      {"seconds", value.seconds}};
}

void from_json(const nlohmann::json& json, CompileReply& value) {
  json.at("config").get_to(value.config);
  json.at("epilogue").get_to(value.epilogue);
  json.at("ok").get_to(value.ok);
  json.at("log").get_to(value.log);
  value.cubin = bytes_of(json.at("cubin"));
  json.at("cubin_key").get_to(value.cubin_key);
  json.at("ptx").get_to(value.ptx);
  json.at("resources").get_to(value.resources);
  json.at("seconds").get_to(value.seconds);
}

void to_json(nlohmann::json& json, const CompiledConfig& value) {
  json = {{"config", value.config},
          {"cubin_key", value.cubin_key},
          {"cubin", binary_json(value.cubin)}};
}

void from_json(const nlohmann::json& json, CompiledConfig& value) {
  json.at("config").get_to(value.config);
  json.at("cubin_key").get_to(value.cubin_key);
  value.cubin = bytes_of(json.at("cubin"));
}

}  // namespace gemm_tune
