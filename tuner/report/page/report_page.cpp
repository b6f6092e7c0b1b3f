// SPDX-License-Identifier: Apache-2.0
#include "tuner/report/page/report_page.h"

#include <string_view>
#include <utility>

#include "core/error.h"

namespace gemm_tune {

std::string json_for_page(const nlohmann::json& data) {
  const std::string text = data.dump(-1, ' ', false, nlohmann::json::error_handler_t::replace);
  constexpr std::pair<std::string_view, std::string_view> kEscapes[] = {
      {"<", "\\u003c"},
      {">", "\\u003e"},
      {"&", "\\u0026"},
      {"\xe2\x80\xa8", "\\u2028"},
      {"\xe2\x80\xa9", "\\u2029"}};
  std::string escaped;
  escaped.reserve(text.size());
  for (std::string_view rest = text; !rest.empty();) {
    std::string_view part = rest.substr(0, 1), written = part;
    for (const auto& [raw, escape] : kEscapes) {
      if (!rest.starts_with(raw)) continue;
      part = raw;
      written = escape;
    }
    escaped += written;
    rest.remove_prefix(part.size());
  }
  return escaped;
}

// The HTML names each part as @part@, once.
std::string report_page(const nlohmann::json& data) {
  const std::pair<std::string_view, std::string> parts[] = {{"@style@", kPageStyle},
                                                            {"@data@", json_for_page(data)},
                                                            {"@chart@", kChartScript},
                                                            {"@script@", kPageScript}};
  const std::string_view html = kPageHtml;
  std::string page;
  std::size_t at = 0;
  for (const auto& [name, text] : parts) {
    const std::size_t place = html.find(name, at);
    if (place == html.npos) throw Error("page.html lacks " + std::string(name));
    page.append(html.substr(at, place - at)).append(text);
    at = place + name.size();
  }
  return page.append(html.substr(at));
}

}  // namespace gemm_tune
