// SPDX-License-Identifier: Apache-2.0
#include "cli/output/standard_output.h"

#include <fcntl.h>
#include <spdlog/fmt/fmt.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>

#include "core/text/printable.h"
#include "tuner/report/terminal.h"

namespace gemm_tune {

void occupy_standard_streams() {
  for (const int stream : {STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
    if (fcntl(stream, F_GETFD) >= 0) continue;
    // The lowest free descriptor is this one.
    const int wrong_way = stream == STDIN_FILENO ? O_WRONLY : O_RDONLY;
    if (open("/dev/null", wrong_way) < 0) return;
  }
}

void print_text(std::string_view text) { fmt::print("{}", printable_lines(text)); }

void print_fitted(std::string_view text) {
  const PageForm form = form_of_standard_output();
  print_text(fitted(text, form.columns, !form.whole_configs));
}

void print_json(nlohmann::json json) {
  const auto add_version = [](nlohmann::json& object) {
    object["format_version"] = kJsonFormatVersion;
  };
  if (json.is_array()) {
    std::for_each(json.begin(), json.end(), add_version);
  } else {
    add_version(json);
  }
  fmt::print("{}\n", json.dump(2, ' ', false, nlohmann::json::error_handler_t::replace));
}

PageForm form_of_standard_output() {
  constexpr std::size_t kFewest = 80;
  if (isatty(STDOUT_FILENO) == 0) return {kFewest, true};
  return {std::max(kFewest, terminal_columns(STDOUT_FILENO)), false};
}

void flush_standard_output() {
  if (std::fflush(stdout) != 0) throw standard_output_error({errno, std::generic_category()});
}

void close_standard_output() {
  const bool failed_before = std::ferror(stdout) != 0;
  errno = 0;
  const bool closed = std::fclose(stdout) == 0;
  if (closed && !failed_before) return;
  throw standard_output_error({errno != 0 ? errno : EIO, std::generic_category()});
}

OutputError standard_output_error(const std::error_code& why) {
  return OutputError("standard output cannot be written: " + why.message());
}

}  // namespace gemm_tune
