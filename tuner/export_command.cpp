// gemm-tune export: the winners of one architecture for another build.
#include <spdlog/fmt/fmt.h>

#include <filesystem>
#include <fstream>

#include "core/error.h"
#include "db/export_header.h"
#include "tuner/commands.h"
#include "tuner/exit_code.h"
#include "tuner/target.h"

namespace gemm_tune {
namespace {

// Whole or not at all: written aside, then renamed into place.
void write_file(const std::filesystem::path& path, const std::string& text) {
  const std::filesystem::path aside = path.string() + ".partial";
  std::ofstream file(aside, std::ios::binary);
  file << text;
  file.close();
  std::error_code error;
  if (file) std::filesystem::rename(aside, path, error);
  if (!file || error) {
    std::error_code ignored;
    std::filesystem::remove(aside, ignored);
    throw UsageError("'" + path.string() +
                     "' cannot be written: name a file in a folder with "
                     "room and permission");
  }
}

}  // namespace

int run_export(const Options& options) {
  const std::string arch = options.arch.empty() ? resolve_target(options).spec.arch : options.arch;
  const Database database(database_path(options), Database::Mode::read_only);
  const std::string header = export_header(database, arch);
  if (options.output.empty()) {
    fmt::print("{}", header);
  } else {
    write_file(options.output, header);
  }
  return kExitOk;
}

}  // namespace gemm_tune
