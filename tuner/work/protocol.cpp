// SPDX-License-Identifier: Apache-2.0
#include "tuner/work/protocol.h"

#include "core/error.h"

namespace gemm_tune {

void require_utf8(const std::string& what, const std::string& text) {
  using Handler = nlohmann::json::error_handler_t;
  const nlohmann::json quoted = text;
  const bool valid =
      quoted.dump(-1, ' ', false, Handler::ignore) == quoted.dump(-1, ' ', false, Handler::replace);
  if (!valid) throw UsageError(what + " '" + text + "' is not UTF-8: name another one");
}

void to_json(nlohmann::json& json, const Problem& value) { json = to_string(value); }

void from_json(const nlohmann::json& json, Problem& value) {
  value = parse_problem(json.get<std::string>());
}

void to_json(nlohmann::json& json, const Outcome& value) {
  json = {{"disposition", to_string(value.disposition)},
          {"detail", value.detail},
          {"resources", value.resources},
          {"timing", value.timing},
          {"predicted_us", value.predicted_us},
          {"compile_s", value.compile_s},
          {"gpu_s", value.gpu_s},
          {"standing", to_string(value.standing)}};
}

void from_json(const nlohmann::json& json, Outcome& value) {
  value.disposition = parse_disposition(json.at("disposition").get<std::string>());
  json.at("detail").get_to(value.detail);
  json.at("resources").get_to(value.resources);
  json.at("timing").get_to(value.timing);
  json.at("predicted_us").get_to(value.predicted_us);
  json.at("compile_s").get_to(value.compile_s);
  json.at("gpu_s").get_to(value.gpu_s);
  value.standing = parse_standing(json.at("standing").get<std::string>());
}

}  // namespace gemm_tune
