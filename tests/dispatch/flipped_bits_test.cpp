// SPDX-License-Identifier: Apache-2.0
// A database with a flipped bit, as everybody reads it: `best`, `db check`, exports and the
// library's look-up. None crashes or hangs. Each gives the sound file's answer, or says in a
// sentence which file is damaged, or the check finds the bit. Of an export of rows only the latter
// two: a command line, say, may be any text.
#include <SQLiteCpp/SQLiteCpp.h>

#include <gemm_tune/gemm_tune.hpp>
#include <random>
#include <regex>
#include <string>

#include "choose/choose.h"
#include "choose/export_header.h"
#include "core/error.h"
#include "db/file/check.h"
#include "db/transfer/exchange.h"
#include "tests/dispatch/open_kernels.h"
#include "tests/matchers.h"
#include "tests/rounds.h"
#include "tests/temp_folder.h"

namespace gemm_tune {
namespace {

const DeviceKey kDevice = {"sm_86", "NVIDIA GeForce RTX 3090", 82};
constexpr std::int64_t kEdges[] = {256, 1024};

class FlippedBitsTest : public ::testing::Test {
 protected:
  // Of the smallest pages that there are, so that a flip seldom falls on unused bytes.
  FlippedBitsTest() {
    {
      Database database(file_, Database::Mode::create_or_open);
      database.begin_run({"0.1.0", "13.0", "580.159.04", "gemm-tune --sizes 256,1024", 1});
      const std::string revision = current_revisions().at("naive");
      for (const std::int64_t edge : kEdges) {
        const Problem problem = packed_problem(edge, edge, edge);
        database.store_baseline(kDevice, problem,
                                {"cublasSgemm", "13.1.0", Timing{160, {159, 160, 161}, 4}});
        for (const int rows : {8, 16, 32}) {
          Outcome outcome;
          const double us = 150 + rows;
          outcome.timing = Timing{us, {us - 1, us, us + 1}, 4};
          database.store(kDevice, problem,
                         "naive/BM=" + std::to_string(rows) + ",BN=16,COALESCED=1,PRED=0", revision,
                         outcome, Source::measured);
        }
      }
    }
    SQLite::Database db(file_.string(), SQLite::OPEN_READWRITE);
    db.exec(
        "PRAGMA journal_mode = DELETE; PRAGMA page_size = 512; VACUUM; PRAGMA journal_mode = WAL");
    sound_ = read_file(file_);
  }

  // What a reader answers; its sentence where it refuses, which must name the file.
  template <class Read>
  std::string answer_of(const Read& read) const {
    try {
      return read();
    } catch (const DatabaseError& error) {
      EXPECT_THAT(error.what(), HasSubstr(file_.string()));
      EXPECT_EQ(std::string(error.what()).find('\n'), std::string::npos) << error.what();
      return kRefused + std::string(error.what());
    } catch (const NothingFound&) {
      return "nothing";
    }
  }

  std::string best() const {
    return answer_of([&] {
      const Database database(file_, Database::Mode::read_only);
      std::string all;
      for (const std::int64_t edge : kEdges) {
        const Choice choice = choose(database, kDevice, packed_problem(edge, edge, edge));
        all += to_string(choice.config->config()) + choice.explanation + "\n";
      }
      return all;
    });
  }

  std::string looked_up() const {
    gt_handle* handle = nullptr;
    if (open_database(file_, &handle) != GT_OK) {
      EXPECT_THAT(gt_last_error(), HasSubstr(file_.string()));
      return kRefused;
    }
    std::string all;
    for (const std::int64_t edge : kEdges) {
      const gt_device device = {"sm_86", "NVIDIA GeForce RTX 3090", 82};
      const gt_gemm_call call = make_call(edge, edge, edge);
      gt_recipe recipe{};
      EXPECT_EQ(gt_lookup(handle, &device, &call, &recipe), GT_OK) << gt_last_error();
      all += std::string(recipe.config) + " " + std::to_string(recipe.tuned_us) + "\n";
    }
    gt_close(handle);
    return all;
  }

  // But for the baselines' versions, which may be any texts.
  std::string header() const {
    return answer_of([&] {
      return std::regex_replace(
          export_header(Database(file_, Database::Mode::read_only), "sm_86", current_revisions()),
          std::regex("\"cublasSgemm [^\"]*\""), "\"cublasSgemm\"");
    });
  }

  std::string json() const {
    return answer_of([&] { return export_as_json(file_, std::nullopt, current_revisions()); });
  }

  bool is_found_by_check() const {
    const std::string found =
        answer_of([&] { return std::string(check_database(file_).empty() ? "" : "found"); });
    return !found.empty();
  }

  static constexpr const char* kRefused = "refused: ";
  const TempFolder temp_;
  const std::filesystem::path file_ = temp_.path() / "tune.db";
  std::string sound_;
};

TEST_F(FlippedBitsTest, AreRefusedOrFoundByTheCheckOrChangeNoAnswer) {
  const std::string sound_best = best(), sound_lookup = looked_up(), sound_header = header();
  std::mt19937 random(40);
  int found = 0;
  for (int flips = 0; flips < rounds(150, 10'000); ++flips) {
    const std::size_t bit = random() % (8 * sound_.size());
    SCOPED_TRACE("bit " + std::to_string(bit));
    std::string damaged = sound_;
    damaged[bit / 8] ^= static_cast<char>(1u << bit % 8);
    write_file(file_, damaged);
    const bool is_found = is_found_by_check();
    found += is_found ? 1 : 0;
    const std::string now_best = best(), now_lookup = looked_up(), now_header = header(),
                      now_json = json();  // whatever they say, in a sentence
    if (!is_found) {
      EXPECT_EQ(now_best, sound_best);
      EXPECT_EQ(now_lookup, sound_lookup);
      EXPECT_EQ(now_header, sound_header);
      EXPECT_THAT(now_json, Not(StartsWith(kRefused)));
    }
    EXPECT_EQ(read_file(file_), damaged);
  }
  EXPECT_GT(found, 30);  // many bits are of views, of indexes that nothing reads, or of free space
}

}  // namespace
}  // namespace gemm_tune
