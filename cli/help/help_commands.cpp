// SPDX-License-Identifier: Apache-2.0
// gemm-tune man and completion: texts written from the program's own options.
#include <spdlog/fmt/fmt.h>

#include "cli/arguments/checks.h"
#include "cli/commands.h"
#include "cli/help/man_page.h"
#include "cli/help/shell_completion.h"
#include "cli/output/exit_code.h"

namespace gemm_tune {
namespace {

struct ManOptions {
  void declare(CLI::App&) {}
};

struct CompletionOptions {
  std::string shell;

  void declare(CLI::App& app) {
    app.add_option("shell", shell, "Shell to write for")
        ->required()
        ->check(one_of({"bash", "zsh", "fish"}));
  }
};

}  // namespace

void add_man(CLI::App& app, Call& call) {
  attach<ManOptions>(app, call, [&app](const ManOptions&) {
    fmt::print("{}", man_page(*app.get_parent()));
    return kExitOk;
  });
}

void add_completion(CLI::App& app, Call& call) {
  attach<CompletionOptions>(app, call, [&app](const CompletionOptions& o) {
    fmt::print("{}", shell_completion(*app.get_parent(), o.shell));
    return kExitOk;
  });
}

}  // namespace gemm_tune
