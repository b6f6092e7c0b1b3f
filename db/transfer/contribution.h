// SPDX-License-Identifier: Apache-2.0
// The winners of a device as a text to hand on: `gemm-tune db contribute`, the folder winners/.
//
// A contribution is JSON of db/transfer/exchange.h, read by import_text(): whole measured rows of
// the winners, with their baselines and runs, a row a line, sorted. Rows are referred to by their
// texts, so that another winner adds lines and changes none. Only winners of finals, of the given
// revisions, are written. Hosts and command lines are left out, since the text may become public.
// It depends on nothing but these rows. Any thread.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/lock_wait.h"
#include "db/record.h"

namespace gemm_tune {

struct Contribution {
  DeviceKey device;
  std::string file_name;  // follows from the device: "sm_90-nvidia-h100-80gb-hbm3-132sm.json"
  std::string text;
  std::int64_t winners = 0;
};

// One for each device with winners, by device. arch: only its devices; nullopt: all. Throws
// DatabaseError if the database cannot be read, NothingFound if there is no such winner, UsageError
// where a name is not printable or two devices would have one file.
std::vector<Contribution> contributions(const std::filesystem::path& database,
                                        const std::optional<std::string>& arch,
                                        const KernelRevisions& revisions,
                                        const LockWait& lock = {});

struct CheckedContribution {
  DeviceKey device;
  std::int64_t winners = 0;
  std::int64_t valid = 0;  // of these: of the given revisions; the others are never chosen
};

// Throws UsageError, with a sentence that names the file and its fault, unless the text is what
// contributions() writes for such rows, under the device's file name.
CheckedContribution check_contribution(const std::string& text, const std::filesystem::path& file,
                                       const KernelRevisions& revisions);

}  // namespace gemm_tune
