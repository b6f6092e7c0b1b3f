// SPDX-License-Identifier: Apache-2.0
// The texts of db/schema.sql and of version 1 of it, embedded at build time.
//
// Private to db/. kSchema is executed once, to make a new database. The numbers are the schema's
// own PRAGMAs, which identify a file before SQLite opens it. Constants; any thread.
#pragma once

#include <cstdint>

namespace gemm_tune {

extern const char* const kSchema;
extern const char* const kSchema1;  // db/schema_1.sql

inline constexpr std::uint32_t kApplicationId = 1734700397;
inline constexpr std::uint32_t kSchemaVersion = 2;

}  // namespace gemm_tune
