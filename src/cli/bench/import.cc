// genscope bench import
#include <fmt/format.h>

#include "base/figures.h"
#include "base/file.h"
#include "bench/history/import.h"
#include "bench/result/timestamp.h"
#include "cli/bench/printing.h"
#include "cli/bench/session.h"
#include "cli/bench/verbs.h"
#include "cli/exit_code.h"

#include <genscope/version.h>

namespace genscope::cli::bench {
namespace {

constexpr std::size_t kImportLimit = std::size_t{256} << 20;  // bytes of a file

class ImportVerb final : public Command {
 public:
  const char* name() const override { return "import"; }
  const char* summary() const override {
    return "Take results of hyperfine, Google Benchmark or pytest-benchmark";
  }

  void add_options(Options& options) override {
    options.add("FILE", files_, "", "JSON of one of these tools; several are one result")
        .required();
    options.flag("--json", json_, "Print the result as JSON instead of keeping it");
    options.footer(
        "Each command or benchmark becomes a cell, its times are kept. Prints the id of the "
        "result.\n"
        "hyperfine starts a process for each time: each counts. The others repeat within a "
        "process:\n"
        "a file counts once, so give the files of several processes to get a verdict.\n\n"
        "Examples:\n"
        "  hyperfine --export-json h.json 'python gen.py'; genscope bench import h.json\n"
        "  ./my_bench --benchmark_out=g.json; genscope bench import g.json\n"
        "  pytest --benchmark-json=p.json; genscope bench import p.json\n"
        "  genscope bench compare $(genscope bench import a.json) $(genscope bench import "
        "b.json)\n\n"
        "Exit codes:\n"
        "  0    fine\n"
        "  2    a file that cannot be used\n"
        "  5    the environment: no space, an I/O error\n");
  }

  Result<int> run(const Globals& globals) override {
    std::optional<core::BenchResult> all;
    for (const std::string& file : files_) {
      const Result<std::string> text = base::read_file(file, kImportLimit);
      if (!text) return text.error();
      Result<core::BenchResult> one = core::import_result(*text, file);
      if (!one) return one.error();
      if (!all) {
        all = std::move(*one);
      } else if (const Status merged = core::merge_import(*all, *one, file); !merged) {
        return merged.error();
      }
    }
    all->id = core::new_result_id("import");
    if (all->started.empty()) all->started = core::timestamp_now();
    all->ended = all->started;
    all->tool_version = GENSCOPE_VERSION_STRING;
    return json_ ? print(*all) : keep(*all, globals);
  }

 private:
  static Result<int> print(const core::BenchResult& result) {
    if (const Status done = print_text(core::to_json(result)); !done) return done.error();
    return kFine;
  }

  static Result<int> keep(const core::BenchResult& result, const Globals& globals) {
    if (const Status kept = core::remember(result); !kept) return kept.error();
    std::printf("%s\n", result.id.c_str());
    std::size_t samples = 0;
    for (const core::Cell& cell : result.cells) {
      for (const core::Unit& unit : cell.units) samples += unit.samples.size();
    }
    print_notes({fmt::format("{}: {}, {}", result.workload.at("imported_from"),
                             base::counted(result.cells.size(), "benchmark", "benchmarks"),
                             base::counted(samples, "time", "times"))},
                globals);
    return kFine;
  }

  std::vector<std::string> files_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_bench_import() { return std::make_unique<ImportVerb>(); }

}  // namespace genscope::cli::bench
