// Recorded sweeps: what every config of a space took, from files that this program or others wrote.
//
// Read: Kernel Tuner cache files, T4 results (github.com/odgaard/TuningSchema), both as .json or
// .json.gz, and databases of this program (.db), which hold a sweep for each device and problem.
// Nothing is written. Errors are UsageErrors that name the file and the entry; a file that cannot
// be opened or read is a DatabaseError.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "search/search_space.h"

namespace gemm_tune {

struct Sweep {
  std::string name;  // the file's, without .json and .gz; of a database its device and problem
  SearchSpace space;
  std::vector<std::string> keys;               // what the file calls each point
  std::vector<std::optional<double>> time_us;  // nothing for a point that failed
  std::vector<double> predicted_us;  // by the static model; infinite for unknown, empty for none
};

std::vector<Sweep> read_sweeps(const std::string& path);

// The sweeps that a text holds: JSON, called `name` in the result and in errors.
Sweep parse_sweep(const std::string& text, const std::string& name);

// What another sweep says of this one's points, as a prior for a search: the time of the point with
// the same values of all parameters that both have, the geometric mean where there are several, NaN
// where there is none or it failed. Throws UsageError where no point is found.
std::vector<double> prior_from(const Sweep& other, const Sweep& sweep);

}  // namespace gemm_tune
