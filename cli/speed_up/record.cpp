// SPDX-License-Identifier: Apache-2.0
#include "cli/speed_up/record.h"

#include <ctime>
#include <nlohmann/json.hpp>
#include <system_error>

#include "cli/capture/under_drop_in.h"
#include "cli/output/output_file.h"
#include "core/error.h"
#include "core/files/input_file.h"
#include "core/text/fnv1a.h"
#include "core/text/printable.h"

namespace gemm_tune {
namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

constexpr int kRecordVersion = 1;  // of the file

// What a file's name may hold, of a program's path.
std::string plain_name(const std::string& program) {
  constexpr std::size_t kMost = 40;
  std::string name = fs::path(program).filename().string().substr(0, kMost);
  for (char& c : name) {
    const bool is_plain = (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') ||
                          (c >= 'a' && c <= 'z') || c == '-' || c == '_';
    if (!is_plain) c = '_';
  }
  return name;
}

}  // namespace

fs::path record_file(const fs::path& database, const std::vector<std::string>& application) {
  Fnv1a key;
  key.add(fs::current_path().string());
  key.add(fs::absolute(database).string());
  for (const std::string& word : application) key.add(word);
  key.add(asked_accuracy().value_or(""));
  return fs::absolute(database).parent_path() / "speed-up" /
         (plain_name(application.front()) + "-" + key.hex() + ".json");
}

void require_record_place(const fs::path& file) {
  std::error_code failure;
  fs::create_directories(file.parent_path(), failure);
  if (!failure) return require_writable(file.string());
  throw UsageError("the folder '" + printable(file.parent_path().string()) +
                   "', which keeps what the program multiplies, cannot be created (" +
                   failure.message() + "): name a database in another folder with --db");
}

std::optional<SpeedUpRecord> read_record(const fs::path& file) {
  constexpr std::size_t kMostBytes = 1'000'000'000;
  std::error_code ignored;
  if (!fs::exists(file, ignored)) return std::nullopt;
  try {
    const Json json = Json::parse(read_text_file(file.string(), "record", kMostBytes));
    if (json.at("version") != kRecordVersion) return std::nullopt;
    SpeedUpRecord record;
    record.command = json.at("command").get<std::string>();
    record.when = json.at("when").get<std::string>();
    record.device = json.at("device").get<std::string>();
    record.seconds = json.at("seconds").get<double>();
    record.is_whole = json.at("whole").get<bool>();
    record.is_tuned = json.at("tuned").get<bool>();
    record.called = parse_called_problems(json.at("report").get<std::string>(), file.string());
    return record;
  } catch (const Json::exception&) {
    return std::nullopt;
  } catch (const UsageError&) {
    return std::nullopt;
  }
}

void write_record(const fs::path& file, const SpeedUpRecord& record) {
  const Json json = {{"version", kRecordVersion}, {"command", record.command},
                     {"when", record.when},       {"device", record.device},
                     {"seconds", record.seconds}, {"whole", record.is_whole},
                     {"tuned", record.is_tuned},  {"report", record.called.text}};
  write_output(file.string(), json.dump(1, ' ', false, Json::error_handler_t::replace) + "\n");
}

std::string utc_minute() {
  const std::time_t now = std::time(nullptr);
  std::tm parts{};
  gmtime_r(&now, &parts);
  char text[32];
  return {text, std::strftime(text, sizeof text, "%Y-%m-%d %H:%M", &parts)};
}

}  // namespace gemm_tune
