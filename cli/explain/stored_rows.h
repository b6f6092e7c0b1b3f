// SPDX-License-Identifier: Apache-2.0
// The rows of the user's database and of the layers at one problem on a device.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "db/database.h"
#include "db/validity/validity.h"
#include "kernel_templates/registry/registry.h"

namespace gemm_tune {

struct ProblemRow {
  Record record;
  std::string layer;  // the file of the layer that it is from; empty: the user's database
};

// Those of all configs that may serve the problem, the user's first. database: nullptr for none.
std::vector<ProblemRow> stored_rows(const Database* database,
                                    const std::vector<std::filesystem::path>& layers,
                                    const DeviceKey& device, const Problem& problem);

// A measured time of the config, the user's before a layer's. Rows of other revisions do not count.
std::optional<double> measured_us(const std::vector<ProblemRow>& rows,
                                  const KernelRevisions& revisions, const std::string& config);

// The kernel with the fastest other config, a measured one before a predicted one.
std::optional<KnownConfig> best_other(const std::vector<ProblemRow>& rows,
                                      const KernelRevisions& revisions, const std::string& config);

}  // namespace gemm_tune
