// genscope import
#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <filesystem>
#include <limits>

#include <genscope/compat/inferix.h>
#include <genscope/store.h>

#include "cli/command.h"
#include "cli/exit_code.h"

namespace genscope::cli {
namespace {

// One line on stderr that is rewritten while a long file is read; nothing without a terminal.
class ProgressLine {
 public:
  ProgressLine(std::string file, bool wanted)
      : file_(std::move(file)), wanted_(wanted && ::isatty(STDERR_FILENO) == 1) {}
  ~ProgressLine() {
    if (shown_) std::fputs("\r\x1b[K", stderr);
  }

  void show(std::uint64_t done, std::uint64_t all) {
    using namespace std::chrono_literals;
    const auto now = Clock::now();
    if (!wanted_ || now - last_ < 200ms) return;
    last_ = now;
    shown_ = true;
    const double mib = static_cast<double>(done) / (1 << 20);
    const std::string share =
        all == 0 ? ""
                 : fmt::format(" of {:.0f} MiB ({}%)", static_cast<double>(all) / (1 << 20),
                               done * 100 / all);
    std::fputs(fmt::format("\r\x1b[K{}: {:.0f} MiB{} read", file_, mib, share).c_str(), stderr);
    std::fflush(stderr);
  }

 private:
  using Clock = std::chrono::steady_clock;
  std::string file_;
  bool wanted_;
  bool shown_ = false;
  Clock::time_point last_ = Clock::now();
};

// For messages and the run's name: no control characters reach the terminal.
std::string file_name(const std::string& path) {
  std::string name = std::filesystem::path(path).filename().string();
  for (char& c : name) {
    if (static_cast<unsigned char>(c) < 0x20 || c == 0x7F) c = '?';
  }
  return name;
}

void describe(const std::string& file, const Imported& imported) {
  const ImportSummary& s = imported.summary;
  const Trace& t = imported.trace;
  const auto line = [&](const std::string& text) {
    std::fprintf(stderr, "genscope: %s: %s\n", file.c_str(), text.c_str());
  };
  line(fmt::format("{} spans, {} events, {} counter values on {} tracks{}", t.spans.size(),
                   t.events.size(), t.counters.size(), t.tracks.size(),
                   t.process.rank ? fmt::format(", rank {}", *t.process.rank) : ""));
  if (s.linked + s.unlinked > 0) {
    line(fmt::format("{} of {} device spans joined with their launch", s.linked,
                     s.linked + s.unlinked));
  }
  if (s.flows + s.other > 0) {
    line(fmt::format("{} flow arrows and {} events of other kinds dropped", s.flows, s.other));
  }
  if (s.overlaps > 0) {
    line(fmt::format("{} spans overlap others of their thread: put on tracks of their own",
                     s.overlaps));
  }
  for (const std::string& note : t.integrity.notes) line(note);
}

class Import final : public Command {
 public:
  const char* name() const override { return "import"; }
  const char* summary() const override {
    return "Make a run of a trace or profile of another tool";
  }

  void add_options(Options& options) override {
    options
        .add("FILE", files_, "",
             "Traces (Chrome, PyTorch, JAX: JSON or gzip of it), profiles (cProfile, speedscope), "
             "memory snapshots of PyTorch, nsys' SQLite, Inferix reports; each is one process or "
             "rank")
        .required();
    options.add("-o,--out", out_, "DIR",
                "Folder for the new run directory (default $GENSCOPE_OUT, else ./genscope-runs)");
    options.add("--run-dir", run_dir_, "DIR", "The run directory itself, made if missing");
    options.add("--name", name_, "NAME", "Name of the run (default: the first file's)");
    options.add("--max-gib", max_gib_, "N", "Refuse gzip that inflates to more GiB")
        .range(1, 1 << 20)
        .show_default();
    options.add("--max-ratio", max_ratio_, "N", "Refuse gzip that inflates to more times its size")
        .positive()
        .show_default();
    options.add("--max-events", max_events_, "N", "Stop reading a file after this many events")
        .positive()
        .show_default();
    options.footer(
        std::string(
            "Prints the path of the run. Operators, kernels, streams, annotations and\n"
            "memory events become tracks, spans and counters; docs/import.md is the table.\n"
            "From an Inferix report the session, samples and events are kept; its stages are\n"
            "totals and become events.\n"
            "What is malformed is skipped, counted and told; a file that was cut off gives\n"
            "what it holds.\n\n"
            "Examples:\n"
            "  genscope import trace.json\n"
            "  genscope import --name ddp rank*.pt.trace.json.gz\n"
            "  python -m cProfile -o gen.prof gen.py && genscope import gen.prof\n"
            "  genscope report $(genscope --quiet import trace.json.gz)\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    std::string run;
    std::uint64_t records = 0;
    std::size_t failed = 0;
    Error first_error;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      const Result<std::uint64_t> one = import_one(i, globals, run);
      if (one) {
        records += *one;
        continue;
      }
      if (failed++ == 0) first_error = one.error();
      if (files_.size() > 1) fail(one.error());
    }
    if (run.empty()) return files_.size() > 1 ? all_failed() : first_error;
    CommandUse use;
    if (begin_ns_ < end_ns_) use.wall_ns = end_ns_ - begin_ns_;
    if (const Status done = finish_run(run, 0, use); !done) return done.error();
    std::printf("%s\n", run.c_str());
    if (failed > 0) {
      return Error{first_error.code, fmt::format("{} of {} files could not be imported; the run "
                                                 "holds the others",
                                                 failed, files_.size())};
    }
    if (records > 0) return kFine;
    if (!globals.quiet) std::fprintf(stderr, "genscope: the trace holds no events\n");
    return kNothingMeasured;
  }

 private:
  Error all_failed() const {
    return {ErrorCode::bad_data,
            fmt::format("none of the {} files could be imported", files_.size())};
  }

  // The number of records; makes the run when the first file has been read.
  Result<std::uint64_t> import_one(std::size_t i, const Globals& globals, std::string& run) {
    const std::string& file = files_[i];
    ImportOptions options;
    options.max_bytes = max_gib_ << 30;
    options.max_ratio = max_ratio_;
    options.max_events = max_events_;
    Result<Imported> imported = [&]() -> Result<Imported> {
      if (is_inferix_report(file)) return import_inferix_report(file);
      ProgressLine line(file_name(file), !globals.quiet);
      options.progress = [&](std::uint64_t done, std::uint64_t all) {
        line.show(done, all);
        return true;
      };
      return import_chrome_trace(file, options);
    }();
    if (!imported) return imported.error();
    if (run.empty()) {
      Result<std::string> made = make_run();
      if (!made) return made.error();
      run = std::move(*made);
    }
    const Trace& t = imported->trace;
    begin_ns_ = std::min(begin_ns_, t.begin_ns);
    end_ns_ = std::max(end_ns_, t.end_ns);
    // Numbered, so that they are read in the order of the command line.
    const std::string path = fmt::format("{}/trace-{:05}-{}.gst", run, i, t.process.pid);
    if (const Status written = write_trace(t, path); !written) return written.error();
    if (!globals.quiet) describe(file_name(file), *imported);
    return t.spans.size() + t.events.size() + t.counters.size();
  }

  Result<std::string> make_run() const {
    RunRequest request;
    request.out = out_;
    request.path = run_dir_;
    request.name = name_.empty() ? file_name(files_.front()) : name_;
    request.command = {"genscope", "import"};
    request.command.insert(request.command.end(), files_.begin(), files_.end());
    return create_run(request);
  }

  std::vector<std::string> files_;
  std::string out_, run_dir_, name_;
  // Over all files; each has a clock of its own, so it is exact of one.
  std::int64_t begin_ns_ = std::numeric_limits<std::int64_t>::max();
  std::int64_t end_ns_ = std::numeric_limits<std::int64_t>::min();
  std::uint64_t max_gib_ = ImportOptions{}.max_bytes >> 30;
  std::uint64_t max_ratio_ = ImportOptions{}.max_ratio;
  std::uint64_t max_events_ = ImportOptions{}.max_events;
};

}  // namespace

std::unique_ptr<Command> make_import() { return std::make_unique<Import>(); }

}  // namespace genscope::cli
