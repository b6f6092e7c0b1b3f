// SPDX-License-Identifier: Apache-2.0
#include "tuner/job/log.h"

#include <spdlog/pattern_formatter.h>
#include <spdlog/sinks/stdout_color_sinks.h>
#include <spdlog/spdlog.h>

#include <ctime>
#include <memory>
#include <string>

#include "core/text/printable.h"

namespace gemm_tune {
namespace {

// Formats the text of a log line, which may contain output of a compiler or a driver.
class PrintableText : public spdlog::custom_flag_formatter {
 public:
  void format(const spdlog::details::log_msg& message, const std::tm&,
              spdlog::memory_buf_t& line) override {
    const std::string text = printable({message.payload.data(), message.payload.size()});
    line.append(text.data(), text.data() + text.size());
  }
  std::unique_ptr<custom_flag_formatter> clone() const override {
    return std::make_unique<PrintableText>();
  }
};

}  // namespace

void log_to_standard_error(bool verbose) {
  spdlog::set_default_logger(spdlog::stderr_color_mt("gemm-tune"));
  auto formatter = std::make_unique<spdlog::pattern_formatter>();
  formatter->add_flag<PrintableText>('*').set_pattern("%n: %*");
  spdlog::set_formatter(std::move(formatter));
  spdlog::set_level(verbose ? spdlog::level::debug : spdlog::level::warn);
}

void log_warning(std::string_view text) { spdlog::warn("{}", text); }

void log_debug(std::string_view text) { spdlog::debug("{}", text); }

}  // namespace gemm_tune
