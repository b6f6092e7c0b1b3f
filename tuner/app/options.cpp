// SPDX-License-Identifier: Apache-2.0
#include "tuner/app/options.h"

#include <spdlog/fmt/fmt.h>
#include <spdlog/fmt/ranges.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <limits>

#include "core/error.h"
#include "core/launch_recipe.h"
#include "core/parse_number.h"
#include "core/printable.h"
#include "core/shell_quote.h"
#include "search/strategy_by_name.h"
#include "tuner/app/exit_code.h"
#include "tuner/app/man_page.h"
#include "tuner/app/shell_completion.h"
#include "tuner/app/usage_sentence.h"
#include "tuner/app/version_text.h"

namespace gemm_tune {
namespace {

constexpr const char* kFooter = R"(
Sizes: 1024 (square), 4096x512x1024 (MxNxK), 512:4096:512 (range), @file, and lists of these; a
single one may name its own type, layout or batch: 1024:layout=nt.
Exit codes: 0 done; 1 defect of the program; 2 usage; 3 no usable GPU or CUDA library where one was
demanded, or the system gives no process, thread, memory or file descriptor; 4 no candidate
survived, or the query found nothing; 5 every candidate that ran was wrong or failed; 6 database;
7 standard output or an output file took not all; 130 interrupted (what was finished is stored).
Database: --db, else GEMM_TUNE_DB, else $XDG_DATA_HOME/gemm-tune/gemm-tune.db, below which best
reads gemm-tune/*.db of XDG_DATA_DIRS and the winners that were installed.)";

// Options of this group are for the project's own callers: CLI11's help leaves them out.
constexpr const char* kUnlisted = "";

// CLI11's own parser accepts 0x10, 010 as 8, " 5", and -1 for an unsigned number.
template <class T>
CLI::Validator whole_number(T least, T greatest) {
  const std::string range = std::to_string(least) + " to " + std::to_string(greatest);
  const auto refusal = [=](const std::string& text) {
    const std::optional<T> value = parse_number<T>(text);
    const bool good = value && text == std::to_string(*value);
    if (good && *value >= least && *value <= greatest) return std::string();
    return "'" + excerpt(text) + "' is not a whole number from " + range +
           ", written in decimal digits";
  };
  return {refusal, "from " + range};
}

CLI::Validator number(double least, double greatest) {
  const std::string range = fmt::format("{} to {}", least, greatest);
  const auto refusal = [=](const std::string& text) {
    const std::optional<double> value = parse_number<double>(text);
    if (value && *value >= least && *value <= greatest) return std::string();  // never NaN
    return "'" + excerpt(text) + "' is not a number from " + range;
  };
  return {refusal, "from " + range};
}

CLI::Validator any_seed() {
  return whole_number(std::uint64_t{0}, std::numeric_limits<std::uint64_t>::max());
}

// CLI11's own check says "foo not in {model,random}".
CLI::Validator one_of(const std::vector<std::string>& names) {
  const auto refusal = [=](const std::string& text) {
    if (std::find(names.begin(), names.end(), text) != names.end()) return std::string();
    return fmt::format("'{}' is none of: {}", excerpt(text), fmt::join(names, ", "));
  };
  return {refusal, fmt::format("one of {}", fmt::join(names, ", "))};
}

// Refuses an empty text: it comes from a script's empty variable, not from a wish for the default.
// A transformation, because transformations run before the option's other checks.
void refuse_empty_texts(CLI::App& app) {
  const auto refusal = [](const std::string& text) {
    return text.empty() ? std::string("its value is empty: write one, or leave the option out")
                        : std::string();
  };
  for (CLI::Option* option : app.get_options()) {
    const bool is_flag = option->get_items_expected_max() == 0;
    if (!is_flag) option->transform(CLI::Validator(refusal, ""));
  }
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    refuse_empty_texts(*command);
  }
}

void add_common(CLI::App& app, Options& o) {
  app.add_option(
      "--arch", o.arch,
      "Target, as in sm_86; default: the GPU of --device, or without one the only device of the "
      "database that is read");
  app.add_option("--device", o.device, "GPU to use, by CUDA's number")
      ->check(whole_number(0, 1023))
      ->capture_default_str();
  app.add_option("--db", o.db, "Database file");
  app.add_option("--sm-count", o.sm_count,
                 "SMs of the target; default: its own, or the typical card's")
      ->check(whole_number(1, 4096));
  app.add_flag("--json", o.json, "Results as JSON");
  app.add_flag("-v,--verbose", o.verbose, "Say what happens to each candidate");
  app.add_flag("-q,--quiet", o.quiet, "No progress, errors only; of tune a line for each problem");
  app.add_flag("--from-python", o.from_python, "Name arguments as the Python package does")
      ->group(kUnlisted);
}

CLI::Option* add_sizes(CLI::App& app, Options& o) {
  app.add_option("--type", o.type,
                 "Element type: f32, f16 or bf16; or those of A, B, C and D, as in "
                 "bf16/bf16/f32/f32")
      ->capture_default_str();
  app.add_option("--layout", o.layout,
                 "Operands stored transposed, A's letter first: nn, nt, tn or tt")
      ->capture_default_str();
  app.add_option("--batch", o.batch,
                 "Products of one launch, with equal distances between their matrices")
      ->check(whole_number<std::int64_t>(1, kMaxBatch))
      ->capture_default_str();
  return app.add_option("--sizes", o.sizes, "Problems, as in 1024,4096x512x1024");
}

void add_winner_rule(CLI::App& app, Options& o) {
  app.add_option("--objective", o.objective,
                 "Which time decides: with operands in L2 (hot) or outside (cold)")
      ->check(one_of({"hot", "cold"}))
      ->capture_default_str();
  app.add_option("--max-error", o.max_error,
                 "Greatest error of a winner, as a ratio to cuBLAS's error: 1.0 is no more than "
                 "cuBLAS's")
      ->check(number(0.001, 1e6));
}

void add_kernel_dir(CLI::App& app, Options& o) {
  app.add_option("--kernel-dir", o.kernel_dir,
                 "Folder that holds a kernel_templates/ to use instead of the built-in one");
}

void add_search(CLI::App& app, Options& o) {
  app.add_option("--jobs", o.jobs,
                 "Compile processes; default: one per core, less one per GPU in use")
      ->check(whole_number(1, 1024));
  app.add_option("--seed", o.seed, "Seed of search order and operands; default: random")
      ->check(any_seed());
  add_kernel_dir(app, o);
  app.add_option("--devices", o.devices, "GPUs of one model to share the work, as in 0,1, or 'all'")
      ->excludes("--device");
  app.add_flag("--require-gpu", o.require_gpu, "Fail rather than predict");
}

std::vector<std::string> strategy_names() { return {kStrategyNames.begin(), kStrategyNames.end()}; }

void add_tune(CLI::App& app, Options& o) {
  add_common(app, o);
  add_sizes(app, o);
  add_search(app, o);
  app.add_option("--strategy", o.strategy,
                 "How to search; default: model, but list order where all are tried")
      ->check(one_of(strategy_names()));
  app.add_option_function<std::string>(
         "--from-capture", [&o](const std::string& file) { o.sizes = "@" + file; },
         "Tune what `capture` wrote, the most GPU time first")
      ->excludes("--sizes");
  app.add_option("--budget", o.budget,
                 "Distinct candidates tried per problem, or 'all'; default: by the space's size");
  app.add_option("--target", o.target,
                 "Stop when the rest of the budget would likely gain less, as in 0.98: 2 %")
      ->check(number(0.5, 0.9999));
  app.add_option("--time", o.time,
                 "Time for the search, as in 15:00; the finals, and any time in which the program "
                 "is stopped, are not counted");
  app.add_option("--config", o.configs,
                 "Try only this config; repeatable; @FILE has one on each line");
  app.add_option("--baselines", o.baselines,
                 "Baselines of the finals, of cublas, cublaslt (the best of its proposals) and "
                 "cublas-autotuned (CUBLAS_GEMM_AUTOTUNE)")
      ->delimiter(',')
      ->check(one_of({"cublas", "cublaslt", "cublas-autotuned"}))
      ->capture_default_str();
  add_winner_rule(app, o);
  app.add_flag("--finals", o.finals,
               "Time finalists and baselines again even if their times are stored");
  app.add_flag("--retry-failed", o.retry_failed,
               "First try the candidates again that failed in earlier runs");
  CLI::Option* const cache = app.add_option(
      "--kernel-cache", o.kernel_cache,
      "Folder of compiled kernels, also for gt_open(): stored winners' kernels, all that the "
      "library may launch, are written there, and kernels found there are not compiled again; "
      "default: "
      "$XDG_CACHE_HOME/gemm-tune, else ~/.cache/gemm-tune, for what the search compiles anyhow");
  app.add_flag("--no-kernel-cache", o.no_kernel_cache, "Keep no compiled kernels")->excludes(cache);
  app.add_flag("--why", o.why,
               "The long report: every reason for a rejection, all baselines' times");
  app.add_flag("--dry-run", o.dry_run, "Count and estimate; compile nothing");
}

void add_replay(CLI::App& app, Options& o) {
  CLI::App* replay = app.add_subcommand("replay", "A search strategy over recorded sweeps");
  replay
      ->add_option("sweeps", o.sweeps,
                   "Kernel Tuner cache files or T4 results (.json, .json.gz), or databases (.db); "
                   "at most 256 MB of JSON, unpacked, and 500,000 configs each")
      ->required();
  replay->add_option("--strategy", o.strategy, "How to search; default: model")
      ->check(one_of(strategy_names()));
  replay
      ->add_option("--prior", o.prior,
                   "Expected times: none, the static model's (model), the model's corrected by the "
                   "other sweeps (others), or those of the sweep in a file")
      ->capture_default_str();
  replay->add_option("--repeats", o.repeats, "Runs of each sweep, each with its own seed")
      ->check(whole_number(1, 1000000))
      ->capture_default_str();
  replay->add_option("--budget", o.budget, "Evaluations per run, or 'all'; default: 200");
  replay->add_option("--in-flight", o.in_flight, "Evaluations at the same time")
      ->check(whole_number(1, 100000))
      ->capture_default_str();
  replay->add_option("--seed", o.seed, "Seed of the first run; default: 1")->check(any_seed());
  replay->add_option("--trace", o.trace, "File to write: a line of JSON for each run");
  replay->add_flag("--json", o.json, "Results as JSON");
  replay->add_flag("-q,--quiet", o.quiet, "No progress, errors only");
  replay->callback([&o] {
    o.command = Command::replay;
    if (o.strategy.empty()) o.strategy = "model";
  });
}

void add_report(CLI::App& app, Options& o) {
  CLI::App* report = app.add_subcommand(
      "report", "A page about a database, to open in a browser: times, speed-ups, rejections");
  report->add_option("--db", o.db, "Database file");
  report->add_option("--arch", o.arch, "Only this architecture, as in sm_86; default: all");
  CLI::Option* const type = report->add_option(
      "--type", o.type, "Only this element type, as in f32 or bf16/bf16/f32/f32; default: all");
  add_kernel_dir(*report, o);
  report->add_option("-o,--output", o.output,
                     "File of HTML to write; default, and '-': standard output");
  report->add_flag("-q,--quiet", o.quiet, "No progress, errors only");
  report->callback([&o, type] {
    o.command = Command::report;
    if (type->count() == 0) o.type.clear();
  });
}

void add_db(CLI::App& app, Options& o) {
  CLI::App* db = app.add_subcommand(
      "db",
      "The database itself: info, check, salvage, rekey, merge, diff, import, contribute, "
      "prune");
  db->require_subcommand(1);
  const auto add = [&](const char* name, const char* what, Command command) {
    CLI::App* sub = db->add_subcommand(name, what);
    sub->add_option("--db", o.db, "Database file");
    sub->add_flag("-q,--quiet", o.quiet, "No progress, errors only");
    sub->callback([&o, command] { o.command = command; });
    return sub;
  };
  add("info", "Count the rows, and those that are still valid", Command::db_info)
      ->add_flag("--json", o.json, "Results as JSON");
  add("check", "Check the whole file for damage; write nothing", Command::db_check);
  add("salvage", "Save the readable rows of a damaged database in a new one", Command::db_salvage)
      ->add_option("-o,--output", o.output, "New file to write")
      ->required();
  CLI::App* rekey = add("rekey",
                        "Let rows of another kernel text count again if the current text gives the "
                        "same machine code; checks the best and the finals",
                        Command::db_rekey);
  rekey->add_flag("--all", o.all, "Check every row, not only the best and the finals");
  add_kernel_dir(*rekey, o);
  CLI::App* merge = db->add_subcommand(
      "merge", "Bring the rows of several databases together in one, new or not");
  merge->add_option("output", o.output, "Database that gets the rows; a new one is made")
      ->required();
  merge->add_option("inputs", o.inputs, "Databases to read; they do not change")->required();
  merge->add_flag("-q,--quiet", o.quiet, "No progress, errors only");
  merge->callback([&o] { o.command = Command::db_merge; });
  CLI::App* diff = db->add_subcommand(
      "diff", "The rows of B that A has not, and the winners that differ; write nothing");
  diff->add_option("databases", o.inputs, "A and B")->required()->expected(2);
  diff->add_flag("--json", o.json, "Results as JSON");
  diff->add_flag("-q,--quiet", o.quiet, "No progress, errors only");
  diff->callback([&o] { o.command = Command::db_diff; });
  add("import", "Bring in the rows of an export as JSON or CSV", Command::db_import)
      ->add_option("file", o.inputs, "File that export --format json or csv has written")
      ->required()
      ->expected(1);
  CLI::App* contribute =
      add("contribute", "Write the winners of each device to a text file, to hand on or to ship",
          Command::db_contribute);
  contribute->add_option("--arch", o.arch, "Only this architecture, as in sm_86; default: all");
  CLI::Option* const folder = contribute->add_option(
      "-o,--output", o.output, "Folder for the files; the file of a device is replaced");
  contribute->add_option("--check", o.inputs, "Write nothing; check these files")->excludes(folder);
  CLI::App* prune = add("prune", "Copy the database without some rows; say which, without --output",
                        Command::db_prune);
  prune->add_option("-o,--output", o.output, "New file to write");
  prune->add_flag("--stale", o.stale, "Leave out the rows of kernels that have changed since");
  prune->add_flag("--failures", o.failures, "Leave out the rows of failed candidates");
  prune->add_option("--of", o.of, "Leave out the rows of this device or architecture; repeatable");
}

CLI::Option* add_audit(CLI::App& app, Options& o) {
  return app.add_flag(
      "--audit", o.audit,
      "Reach a program that finds cuBLAS by dlsym(), too: JAX, CTranslate2, ctypes");
}

void add_drop_in(CLI::App& app, Options& o) {
  CLI::App* run = app.add_subcommand(
      "run", "A program, its cuBLAS calls served by the winners: run [OPTIONS] -- PROGRAM ...");
  run->add_option("--db", o.db, "Database file");
  run->add_option("--report", o.report, "File for the report: lines of JSON");
  add_audit(*run, o);
  run->add_flag("-q,--quiet", o.quiet, "Print no report");
  run->callback([&o] { o.command = Command::run; });
  CLI::App* capture = app.add_subcommand(
      "capture", "The problems that a program multiplies: capture -o FILE -- PROGRAM ...");
  capture->add_option("-o,--output", o.output, "File to write, for --from-capture")->required();
  capture->add_option("--db", o.db, "Database file");
  CLI::Option* const log =
      capture->add_option("--log", o.log,
                          "Run no program: read cuBLAS's log (CUBLAS_LOGINFO_DBG=1, "
                          "CUBLAS_LOGDEST_DBG=FILE) or PyTorch's tunableop_untuned*.csv");
  add_audit(*capture, o)->excludes(log);
  capture->callback([&o] { o.command = Command::capture; });
}

// The words behind the first "--" of `run` and `capture` are another program's: CLI11 would read
// its options, and lists in its arguments.
int own_words(int argc, const char* const* argv) {
  const std::string_view first = argc > 1 ? argv[1] : "";
  if (first != "run" && first != "capture") return argc;
  return static_cast<int>(std::find(argv, argv + argc, std::string_view("--")) - argv);
}

// A word that goes on with the value of --sizes: "4096", "x", "512]", or "-n" of cuBLAS's notation.
bool continues_sizes(std::string_view word) {
  constexpr std::string_view kFirst = "0123456789,;[]()@*";
  if (word.empty()) return false;
  for (const std::string_view letter : {"m", "n", "k"}) {
    for (const std::string_view dashes : {"-", "--"}) {
      const std::string flag = std::string(dashes) + std::string(letter);
      if (word == flag || word.starts_with(flag + "=")) return true;
    }
  }
  return kFirst.find(word.front()) != kFirst.npos || word == "x" || word == "X" ||
         word == "\u00d7" || word.starts_with("torch.");
}

// The words with all that is the value of --sizes in one: people paste "4096 4096" without quotes.
std::vector<std::string> with_sizes_in_one(int argc, const char* const* argv) {
  std::vector<std::string> words(argv, argv + argc);
  const auto sizes = std::find_if(words.begin(), words.end(), [](const std::string& word) {
    return word == "--sizes" || word.starts_with("--sizes=");
  });
  if (sizes == words.end()) return words;
  const auto first = sizes + 1;
  const bool has_value = *sizes != "--sizes";
  const bool is_option = first != words.end() && first->starts_with("-");
  const auto begin = has_value || is_option || first == words.end() ? first : first + 1;
  const auto end = std::find_if_not(begin, words.end(), continues_sizes);
  if (begin == end) return words;
  std::string value = has_value ? sizes->substr(std::string_view("--sizes=").size()) : "";
  for (auto word = first; word != end; ++word) {
    const bool is_behind_file = word != first && word[-1].size() > 1 && word[-1].front() == '@';
    if (!value.empty()) value += is_behind_file ? "," : " ";
    value += *word;
  }
  *sizes = "--sizes=" + value;
  words.erase(first, end);
  return words;
}

// An option of `tune` before another command is treated as if it stood behind that command; if the
// command has no such option, it is refused.
void hand_down_options(CLI::App& app) {
  const auto hand_to = [&app](CLI::App* command) {
    for (CLI::Option* option : app.get_options()) {
      if (option->count() == 0 || option->check_lname("version")) continue;
      CLI::Option* own = command->get_option_no_throw(option->get_name());
      if (own == nullptr) {
        throw CLI::ParseError(option->get_name() + " is no option of '" + command->get_name() +
                                  "', before which it stands: leave it out",
                              CLI::ExitCodes::ExtrasError);
      }
      own->add_result(option->results());
      option->clear();
    }
  };
  for (CLI::App* command : app.get_subcommands([](CLI::App*) { return true; })) {
    const auto inner = command->get_subcommands([](CLI::App*) { return true; });
    for (CLI::App* leaf : inner) leaf->preparse_callback([=](std::size_t) { hand_to(leaf); });
    if (inner.empty()) command->preparse_callback([=](std::size_t) { hand_to(command); });
  }
}

// Begins with the program's name, not with the path that started it.
std::string command_line(int argc, const char* const* argv) {
  std::string line = "gemm-tune";
  for (int i = 1; i < argc; ++i) line += " " + shell_quote(argv[i]);
  return line;
}

}  // namespace

WinnerRule winner_rule(const Options& options) {
  return {options.objective == "cold" ? Objective::cold : Objective::hot, options.max_error};
}

ParsedOptions parse_options(int argc, const char* const* argv) {
  ParsedOptions parsed;
  Options& o = parsed.options;
  o.command_line = command_line(argc, argv);
  const int own = own_words(argc, argv);
  if (own < argc) o.application.assign(argv + own + 1, argv + argc);
  CLI::App app("Finds the fastest GEMM kernel for a GPU and matrix sizes, verified and timed.",
               "gemm-tune");
  app.footer(kFooter);
  app.set_version_flag("--version", program_version_text,
                       "Print the versions of program, database, kernels, NVRTC and driver");
  app.require_subcommand(0, 1);
  add_tune(app, o);

  CLI::App* tune = app.add_subcommand("tune", "Search, verify, time, store (the default command)");
  add_tune(*tune, o);
  CLI::App* best = app.add_subcommand("best", "The config for a size, from the database");
  add_common(*best, o);
  add_sizes(*best, o)->required();
  CLI::App* explain = app.add_subcommand(
      "explain", "One config beside the best other one, each figure with its origin");
  add_common(*explain, o);
  add_sizes(*explain, o)->required();
  explain->add_option("config", o.config, "Config text; default: the winner");
  add_winner_rule(*best, o);
  add_kernel_dir(*best, o);
  add_kernel_dir(*explain, o);
  explain->add_option("--cubin", o.cubin, "File to write the compiled kernel to");
  CLI::App* ladder = app.add_subcommand(
      "ladder", "The rungs from naive to the tuned winner, each tried and shown");
  add_common(*ladder, o);
  add_sizes(*ladder, o)->required();
  add_search(*ladder, o);
  CLI::App* bench = app.add_subcommand(
      "bench", "The database's winners timed beside every baseline, hot and cold");
  add_common(*bench, o);
  add_sizes(*bench, o);
  add_kernel_dir(*bench, o);
  CLI::App* exporter = app.add_subcommand("export", "Winners for another build");
  add_common(*exporter, o);
  exporter
      ->add_option(
          "--format", o.format,
          "header: a C++17 header; bundle: a folder with that header, the compiled kernels "
          "and a loader for C++17, for programs without gemm-tune and NVRTC; exports "
          "for several architectures may share it; json, csv: every row, for db import and other "
          "programs; t4: the measured rows of one problem as T4 results")
      ->check(one_of({"header", "bundle", "json", "csv", "t4"}))
      ->capture_default_str();
  add_sizes(*exporter, o);
  exporter->add_option("--family", o.family, "Kernel family whose rows are written as T4");
  add_winner_rule(*exporter, o);
  add_kernel_dir(*exporter, o);
  exporter->add_option("-o,--output", o.output,
                       "File to write, of a bundle the folder; default, and '-': standard output");
  add_report(app, o);
  add_replay(app, o);
  add_db(app, o);
  add_drop_in(app, o);
  CLI::App* man = app.add_subcommand("man", "This program's man page, for man -l");
  CLI::App* completion =
      app.add_subcommand("completion", "A script for a shell, to complete commands and options");
  std::string shell;
  completion->add_option("shell", shell, "Shell to write for")
      ->required()
      ->check(one_of({"bash", "zsh", "fish"}));
  refuse_empty_texts(app);
  hand_down_options(app);

  try {
    const std::vector<std::string> words = with_sizes_in_one(own, argv);
    std::vector<const char*> texts;
    for (const std::string& word : words) texts.push_back(word.c_str());
    app.parse(static_cast<int>(texts.size()), texts.data());
  } catch (const CLI::Success& success) {  // --help, --version
    std::ostringstream text;
    app.exit(success, text, text);
    parsed.exit_code = kExitOk;
    parsed.message = text.str();
    return parsed;
  } catch (const CLI::ParseError& error) {
    parsed.exit_code = kExitUsage;
    parsed.message = usage_sentence(app, error) + "; see gemm-tune --help";
    return parsed;
  }
  if (*man || *completion) {
    parsed.exit_code = kExitOk;
    parsed.message = *man ? man_page(app) : shell_completion(app, shell);
    return parsed;
  }
  if (*best) o.command = Command::best;
  if (*bench) o.command = Command::bench;
  if (*explain) o.command = Command::explain;
  if (*ladder) o.command = Command::ladder;
  if (*exporter) o.command = Command::export_winners;
  if (*exporter && o.json) {
    parsed.exit_code = kExitUsage;
    parsed.message = "export has no JSON: leave out --json, or write the rows by --format json";
  }
  const bool runs = o.command == Command::run || (o.command == Command::capture && o.log.empty());
  if (runs && o.application.empty()) {
    parsed.exit_code = kExitUsage;
    parsed.message = std::string("name the program behind --, as in gemm-tune ") +
                     (o.command == Command::run ? "run" : "capture -o calls.txt") +
                     " -- python3 train.py";
  } else if (!runs && !o.application.empty()) {
    parsed.exit_code = kExitUsage;
    parsed.message =
        "--log runs no program: leave out '" + excerpt(o.application[0]) + "', or --log";
  }
  return parsed;
}

std::size_t parse_budget(const std::string& text) {
  if (text == "all") return std::numeric_limits<std::size_t>::max();
  const std::size_t budget = parse_number<std::size_t>(text).value_or(0);
  if (budget > 0) return budget;
  throw UsageError("budget '" + excerpt(text) +
                   "' is not a number of candidates: write one, or 'all'");
}

}  // namespace gemm_tune
