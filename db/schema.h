// SPDX-License-Identifier: Apache-2.0
// The texts of db/schema.sql and of versions 1 to 3 of it, embedded at build time.
//
// Private to db/. kSchema is executed once, to make a new database. The numbers are the schema's
// own PRAGMAs, which identify a file before SQLite opens it. Constants; any thread.
#pragma once

#include <cstdint>

namespace gemm_tune {

extern const char* const kSchema;
extern const char* const kSchema1;  // db/schema_1.sql
extern const char* const kSchema2;  // db/schema_2.sql
extern const char* const kSchema3;  // db/schema_3.sql

inline constexpr std::uint32_t kApplicationId = 1734700397;
inline constexpr std::uint32_t kSchemaVersion = 4;

}  // namespace gemm_tune
