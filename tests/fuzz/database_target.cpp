// A database file of anybody's making.
//
// The input's first byte says what is done with the rest: 'f' takes it for a whole file; anything
// else for edits of a sound one, each two bytes of offset, one of length and as many bytes to put
// there; an edit that is cut short cuts the file at its offset. Every file is read; after 'x' its
// winners are chosen among and exported too, after 'w' it is written to.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <filesystem>
#include <iterator>
#include <string>

#include "core/error.h"
#include "db/choose.h"
#include "db/database.h"
#include "db/export_header.h"
#include "tests/fuzz/scratch.h"
#include "tests/fuzz/targets.h"

namespace gemm_tune::fuzz {
namespace {

namespace fs = std::filesystem;

const DeviceKey kDevice{"sm_86", "NVIDIA RTX A6000", 84};
const KernelHashes kHashes = {{"naive", "00112233aabbccdd"}};
constexpr const char* kConfig = "naive/BM=16,BN=16,COALESCED=1,PRED=1";
constexpr const char* kOtherConfig = "naive/BM=8,BN=32,COALESCED=1,PRED=0";

const Scratch& scratch() {
  static const Scratch folder;
  return folder;
}

void store_rows(Database& database) {
  const auto store = [&](const char* problem, const char* config, const Outcome& outcome,
                         Source source) {
    database.store(kDevice, parse_problem(problem), config, "00112233aabbccdd", outcome, source);
  };
  database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 64", 7});
  Timing timing{12.5, {12.5, 12.75, 12.25}, 20};
  database.store_baseline(kDevice, parse_problem("64x64x64"), {"cublasSgemm", timing});
  timing.cold_us = 14.5;
  timing.conditions = GpuConditions{1980, 300.5, 55};
  Outcome measured;
  measured.resources = Resources{32, 0, 0, 1024, 8};
  measured.timing = timing;
  measured.predicted_us = 11.5;
  store("64x64x64", kConfig, measured, Source::measured);
  Outcome predicted;
  predicted.predicted_us = 9.5;
  store("64x64x64", kOtherConfig, predicted, Source::predicted);
  store("64x32x7:align=1", kConfig, measured, Source::measured);
  Outcome crashed;
  crashed.disposition = Disposition::crashed;
  crashed.detail = "was killed by signal 11";
  store("64x32x7:align=1", kOtherConfig, crashed, Source::measured);
}

// Of the smallest pages that there are, so that an edit seldom falls on unused bytes.
std::string sound_database() {
  const fs::path path = scratch().folder() / "sound.db";
  {
    Database database(path, Database::Mode::create_or_open);
    store_rows(database);
  }
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE);
  db.exec("UPDATE runs SET started_at = '2026-01-02T03:04:05Z'");
  db.exec("UPDATE candidates SET recorded_at = '2026-01-02T03:04:05Z'");
  db.exec("DROP VIEW winners; DROP VIEW outcomes");  // never read, but parsed at each opening
  db.exec(
      "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL");
  return read_file(path);
}

std::string edited(std::string bytes, std::string_view edits) {
  const auto byte = [&](std::size_t i) { return static_cast<unsigned char>(edits[i]); };
  while (edits.size() >= 2) {
    const std::size_t offset = (byte(0) * 256u + byte(1)) % (bytes.size() + 1);
    const std::size_t length = edits.size() > 2 ? byte(2) : 0;
    if (edits.size() < 3 + length) {
      bytes.resize(offset);
      return bytes;
    }
    bytes.replace(offset, std::min(length, bytes.size() - offset), edits.substr(3, length));
    edits.remove_prefix(3 + length);
  }
  return bytes;
}

// DatabaseError is an answer; it says which file it is about.
template <class F>
bool answers(const fs::path& path, const F& f) {
  try {
    f();
    return true;
  } catch (const DatabaseError& error) {
    require(std::string_view(error.what()).find(path.string()) != std::string_view::npos,
            "the sentence names the file");
    return false;
  }
}

void read(const Database& database) {
  for (const DeviceKey& device : database.devices()) {
    database.records(device, parse_problem("64x32x7:align=1"));
  }
  database.best_records("sm_86", 2);
}

void use_winners(const Database& database) {
  const Choice choice =
      choose(load_winners(database, "sm_86", kHashes), kDevice, parse_problem("60x60x60"));
  require(choice.match != Match::none, "the built-in default serves where no row does");
  try {
    export_header(database, "sm_86", kHashes);
  } catch (const UsageError&) {  // no winner is left
  }
}

std::size_t files_in(const fs::path& folder) {
  return static_cast<std::size_t>(
      std::distance(fs::directory_iterator(folder), fs::directory_iterator()));
}

}  // namespace

void check_database(std::string_view input) {
  static const std::string sound = sound_database();
  static const fs::path folder = scratch().folder() / "file";
  const char first = input.empty() ? '\0' : input.front();
  if (!input.empty()) input.remove_prefix(1);
  const std::string bytes = first == 'f' ? std::string(input) : edited(sound, input);

  fs::remove_all(folder);
  fs::create_directory(folder);
  const fs::path path = folder / "tune.db";
  write_file(path, bytes);
  answers(path, [&] {
    const Database database(path, Database::Mode::read_only);
    read(database);
    if (first == 'x') use_winners(database);
  });
  require(read_file(path) == bytes, "reading leaves the file as it was");
  require(files_in(folder) == 1, "reading leaves no side files behind");
  if (first != 'w') return;
  answers(path, [&] {
    Database database(path, Database::Mode::create_or_open);
    store_rows(database);
  });
}

}  // namespace gemm_tune::fuzz
