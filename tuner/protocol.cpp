#include "tuner/protocol.h"

namespace gemm_tune {

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
          {"standing", to_string(value.standing)}};
}

void from_json(const nlohmann::json& json, Outcome& value) {
  value.disposition = parse_disposition(json.at("disposition").get<std::string>());
  json.at("detail").get_to(value.detail);
  json.at("resources").get_to(value.resources);
  json.at("timing").get_to(value.timing);
  json.at("predicted_us").get_to(value.predicted_us);
  value.standing = parse_standing(json.at("standing").get<std::string>());
}

}  // namespace gemm_tune
