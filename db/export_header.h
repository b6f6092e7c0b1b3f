// Writes the winners of one architecture as a dependency-free C++17 header.
//
// Identical database rows give identical bytes: no clock, no host names, rows in a fixed order.
#pragma once

#include <string>

#include "db/database.h"

namespace gemm_tune {

// The header's text. Throws UsageError where the database has no usable winner for arch.
std::string export_header(const Database& database, const std::string& arch);

}  // namespace gemm_tune
