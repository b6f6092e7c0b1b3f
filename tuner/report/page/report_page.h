// SPDX-License-Identifier: Apache-2.0
// The page of `gemm-tune report`: one HTML file with its scripts, styles and data, which loads
// nothing else.
//
// Data is text to the page, whatever a database holds: it lies in a JSON block, and page.js shows
// it as text only. Pure; any thread.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace gemm_tune {

// The files of tuner/report/page/, and Chart.js as the build found it.
extern const char* const kPageHtml;
extern const char* const kPageStyle;
extern const char* const kPageScript;
extern const char* const kChartScript;

// JSON that may stand in a script element: <, >, &, U+2028 and U+2029 as escapes.
std::string json_for_page(const nlohmann::json& data);

// data: of DatabaseSummary::json(), with "database" and "program".
std::string report_page(const nlohmann::json& data);

}  // namespace gemm_tune
