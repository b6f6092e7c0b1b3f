// SPDX-License-Identifier: Apache-2.0
#include "research/sweep/sweep.h"

#include <spdlog/fmt/fmt.h>
#include <zlib.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>
#include <new>
#include <utility>

#include "core/candidate/config.h"
#include "core/error.h"
#include "core/files/input_file.h"
#include "db/database.h"
#include "kernel_templates/registry/registry.h"
#include "research/sweep/sweep_entries.h"

namespace gemm_tune {
namespace {

// Unpacks a gzip file, which may have several members; returns other bytes unchanged.
std::string unpacked(std::string bytes, const std::string& path) {
  if (!bytes.starts_with("\x1f\x8b")) return bytes;
  z_stream stream{};
  constexpr int kGzip = 16 + MAX_WBITS;
  if (inflateInit2(&stream, kGzip) != Z_OK) throw std::bad_alloc();
  const std::unique_ptr<z_stream, int (*)(z_stream*)> end(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string text;
  std::vector<char> chunk(1 << 20);
  for (;;) {
    stream.next_out = reinterpret_cast<Bytef*>(chunk.data());
    stream.avail_out = static_cast<uInt>(chunk.size());
    const int result = inflate(&stream, Z_NO_FLUSH);
    text.append(chunk.data(), chunk.size() - stream.avail_out);
    if (text.size() > kMostSweepBytes) {
      throw UsageError(
          fmt::format("sweep '{}' unpacks to more than {} MB", path, kMostSweepBytes / 1'000'000));
    }
    if (result == Z_STREAM_END) {
      const bool another =
          stream.avail_in > 1 && stream.next_in[0] == 0x1f && stream.next_in[1] == 0x8b;
      if (!another) return text;
      if (inflateReset(&stream) != Z_OK) throw std::bad_alloc();
    } else if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_out > 0)) {
      throw UsageError("sweep '" + path + "' is a gzip file that is cut off");
    } else if (result != Z_OK) {
      throw UsageError("sweep '" + path + "' cannot be unpacked: it is damaged");
    }
  }
}

std::vector<Sweep> read_database(const std::string& path, const LockWait& lock) {
  const Database database(path, Database::Mode::read_only, lock);
  std::map<std::string, std::map<std::string, Entry>> found;  // by sweep and config
  std::map<std::string, std::pair<DeviceKey, Problem>> sources;
  database.for_each_record([&](const Record& record) {
    if (record.source != Source::measured) return;
    Config config;
    try {
      config = parse_config(record.config);
    } catch (const UsageError& error) {
      throw UsageError("database '" + path + "': " + error.what());
    }
    // A strategy asks for kernels alone.
    const KernelFamily* family = find_family(config.family);
    if (family && family->is_library()) return;
    Entry entry = {record.config, {{kFamilyParam, config.family}}, {}};
    for (const auto& [param, value] : config.params) entry.values[param] = std::to_string(value);
    if (record.outcome.disposition == Disposition::ok) entry.time_us = record.outcome.time_us();
    const std::string sweep = record.device.name + " " + to_string(record.problem);
    found[sweep][record.config] = std::move(entry);
    sources.emplace(sweep, std::pair(record.device, record.problem));
  });
  std::vector<Sweep> sweeps;
  for (auto& [name, by_config] : found) {
    std::vector<std::string> names = {kFamilyParam};
    std::vector<Entry> entries;
    for (auto& [config, entry] : by_config) {
      for (const auto& [param, value] : entry.values) {
        if (std::find(names.begin(), names.end(), param) == names.end()) names.push_back(param);
      }
      entries.push_back(std::move(entry));
    }
    for (Entry& entry : entries) {
      for (const std::string& param : names) entry.values.emplace(param, kAbsentValue);
    }
    // Skips a sweep in which every config failed.
    if (std::none_of(entries.begin(), entries.end(),
                     [](const Entry& entry) { return entry.time_us.has_value(); })) {
      continue;
    }
    Sweep sweep = sweep_of(name, names, entries);
    const auto& [device, problem] = sources.at(name);
    sweep.problem = problem;
    sweep.device = find_device_spec(device.arch);
    if (sweep.device) {
      sweep.device->name = device.name;
      sweep.device->sm_count = device.sm_count;
      predict_times(sweep, entries, {});
    }
    sweeps.push_back(std::move(sweep));
  }
  if (sweeps.empty()) throw UsageError("database '" + path + "' holds no timed candidate");
  return sweeps;
}

}  // namespace

std::vector<Sweep> read_sweeps(const std::string& path, const LockWait& lock) {
  if (path.ends_with(".db")) return read_database(path, lock);
  std::filesystem::path name = std::filesystem::path(path).filename();
  if (name.extension() == ".gz") name = name.stem();
  if (name.extension() == ".json") name = name.stem();
  std::vector<Sweep> sweeps;
  sweeps.push_back(
      parse_sweep(unpacked(read_input_file(path, "sweep", kMostSweepBytes), path), name.string()));
  return sweeps;
}

}  // namespace gemm_tune
