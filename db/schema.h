// The text of db/schema.sql, embedded at build time.
//
// Private to db/: executed once, to make a new database. The numbers are the schema's own PRAGMAs,
// by which a file is known before SQLite opens it. Constants; any thread.
#pragma once

#include <cstdint>

namespace gemm_tune {

extern const char* const kSchema;

inline constexpr std::uint32_t kApplicationId = 1734700397;
inline constexpr std::uint32_t kSchemaVersion = 1;

}  // namespace gemm_tune
