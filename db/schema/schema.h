// SPDX-License-Identifier: Apache-2.0
// The text of db/schema/schema.sql, embedded at build time.
//
// Private to db/. kSchema is executed once, to make a new database. The numbers are the schema's
// own PRAGMAs, which identify a file before SQLite opens it. Constants; any thread.
#pragma once

#include <cstdint>

namespace gemm_tune {

extern const char* const kSchema;

inline constexpr std::uint32_t kApplicationId = 1735681122;
inline constexpr std::uint32_t kSchemaVersion = 1;
inline constexpr std::uint32_t kEarlierApplicationId =
    1734700397;  // of files before the first release

}  // namespace gemm_tune
