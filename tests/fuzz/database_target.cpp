// SPDX-License-Identifier: Apache-2.0
// A database file of anybody's making: opened, read and written; checked.
//
// The input's first byte says what is done with the rest: 'f' takes it for a whole file; anything
// else for edits of a sound one, each two bytes of offset, one of length and as many bytes to put
// there; an edit that is cut short cuts the file at its offset. Every file is read; after 'x' its
// winners are chosen among and exported too, after 'w' it is written to.
#include <SQLiteCpp/SQLiteCpp.h>

#include <algorithm>
#include <cstdint>
#include <filesystem>
#include <string>

#include "choose/choose.h"
#include "choose/export_header.h"
#include "core/error.h"
#include "db/database.h"
#include "db/file/check.h"
#include "tests/fuzz/targets.h"
#include "tests/temp_folder.h"

namespace gemm_tune::fuzz {
namespace {

namespace fs = std::filesystem;

const DeviceKey kDevice{"sm_86", "NVIDIA RTX A6000", 84};
const KernelRevisions kRevisions = {{"naive", "00112233aabbccdd"}};
constexpr const char* kConfig = "naive/BM=16,BN=16,COALESCED=1,PRED=1";
constexpr const char* kOtherConfig = "naive/BM=8,BN=32,COALESCED=1,PRED=0";

const fs::path& scratch() {
  static const TempFolder folder;
  return folder.path();
}

void store_rows(Database& database) {
  const auto store = [&](const char* problem, const char* config, const Outcome& outcome,
                         Source source) {
    database.store(kDevice, parse_problem(problem), config, "00112233aabbccdd", outcome, source);
  };
  database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 64", 7});
  Timing timing{12.5, {12.5, 12.75, 12.25}, 20};
  database.store_baseline(kDevice, parse_problem("64x64x64"), {"cublasSgemm", "13.1.0", timing});
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
  store("64x32x7:align=4", kConfig, measured, Source::measured);
  Outcome crashed;
  crashed.disposition = Disposition::crashed;
  crashed.detail = "was killed by signal 11";
  store("64x32x7:align=4", kOtherConfig, crashed, Source::measured);
}

// Of the smallest pages that there are, so that an edit seldom falls on unused bytes.
std::string sound_database() {
  const fs::path path = scratch() / "sound.db";
  {
    Database database(path, Database::Mode::create_or_open);
    store_rows(database);
  }
  SQLite::Database db(path.string(), SQLite::OPEN_READWRITE);
  db.exec("UPDATE runs SET started_at = '2026-01-02T03:04:05Z'");
  db.exec("UPDATE measurements SET recorded_at = '2026-01-02T03:04:05Z'");
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
  database.devices();
  database.for_each_record([](const Record&) {});
  database.winners("sm_86", kRevisions);
}

void use_winners(const Database& database) {
  const Tuned tuned = load_tuned(database, "sm_86", kRevisions);
  for (const char* const problem : {"60x60x60", "4096x64x512:batch=3"}) {
    const Choice choice = choose(tuned, kDevice, parse_problem(problem), {.library = true});
    require(choice.config != nullptr, "the built-in default serves where no row does");
    require(choice.expected_us.value_or(1) > 0, "an expected time is a time");
  }
  try {
    export_header(database, "sm_86", kRevisions);
  } catch (const NothingFound&) {  // no winner is left
  }
}

// A folder with the file that an input stands for, and nothing else.
struct DamagedFile {
  explicit DamagedFile(std::string_view input) : folder(scratch() / "file") {
    static const std::string sound = sound_database();
    if (!input.empty()) first = input.front();
    const std::string_view rest = input.substr(input.empty() ? 0 : 1);
    bytes = first == 'f' ? std::string(rest) : edited(sound, rest);
    fs::remove_all(folder);
    fs::create_directory(folder);
    write_file(path, bytes);
  }

  void require_untouched() const {
    require(read_file(path) == bytes, "the file is as it was");
    for (const auto& entry : fs::directory_iterator(folder)) {
      require(entry.path() == path, "no side files are left behind");
    }
  }

  const fs::path folder;
  const fs::path path = folder / "tune.db";
  char first = '\0';
  std::string bytes;
};

}  // namespace

void check_database(std::string_view input) {
  const DamagedFile file(input);
  const bool reads = answers(file.path, [&] {
    const Database database(file.path, Database::Mode::read_only);
    read(database);
    if (file.first == 'x') use_winners(database);
  });
  file.require_untouched();
  answers(file.path, [&] {
    const bool sound = gemm_tune::check_database(file.path).empty();
    require(reads || !sound, "what cannot be read has a finding");
  });
  file.require_untouched();
  if (file.first != 'w') return;
  answers(file.path, [&] {
    Database database(file.path, Database::Mode::create_or_open);
    store_rows(database);
  });
}

}  // namespace gemm_tune::fuzz
