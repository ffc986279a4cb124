// genscope run
#include <fmt/format.h>
#include <unistd.h>

#include <cstdio>
#include <cstdlib>
#include <exception>
#include <filesystem>
#include <functional>

#include <genscope/analyze.h>
#include <genscope/record.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "base/secrets.h"
#include "base/terminal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/live_server.h"
#include "cli/output.h"
#include "cli/shown.h"
#include "cli/whole.h"
#include "watch/environment.h"
#include "watch/figures.h"
#include "watch/gpu_lines.h"
#include "watch/logs/record_sink.h"
#include "watch/logs/relay.h"
#include "watch/python.h"
#include "watch/python_trouble.h"
#include "watch/settings.h"
#include "watch/unless_it_fails.h"
#include "watch/watcher.h"

namespace genscope::cli {
namespace {

constexpr const char* kExitHelp =
    "Exit codes:\n"
    "  the command's own, 128+signal if one ended it; and if it was never started:\n"
    "  2    usage\n"
    "  126  it is not executable\n"
    "  127  there is no such command\n";

// A directory that is this run's and nobody else's, or why there is none.
struct RunFolder {
  std::string path;  // absolute; empty: nothing is recorded
  bool is_new = false;
  std::string problem;
};

// The trace of this process: what the probes read.
class OwnTrace {
 public:
  using Tags = std::vector<std::pair<std::string, std::string>>;
  OwnTrace(const std::string& run_dir, const Tags& tags, bool keep_args) {
    if (run_dir.empty()) return;
    SessionOptions options;
    options.run_dir = run_dir;
    // A few thousand readings a second at most; to lay out more costs a short command milliseconds.
    options.buffer_bytes = 512u << 10;
    options.quiet = true;          // we say it ourselves, when the screen is free
    options.span = !tags.empty();  // the command's own spans are what a reader looks for
    options.keep_args = keep_args;
    session_ = std::make_unique<Session>("genscope", options);
    for (const auto& [key, value] : tags) session_->arg(key, std::string_view(value));
    record_environment();
    sink_ = make_recording_sink();
  }
  SampleSink* sink() const { return sink_.get(); }
  // Why not all could be recorded, or "".
  std::string close() {
    if (!session_) return "";
    std::string error = session_->error();
    session_->close();
    return error.empty() ? session_->error() : error;
  }

 private:
  static void record_environment() {
    const watch::Environment found = watch::watched_environment();
    for (const auto& [key, value] : found.values) event("environment", {{key, value}});
    event("environment", {{"env.launch_blocking", found.launch_blocking}});
  }

  std::unique_ptr<Session> session_;
  std::unique_ptr<SampleSink> sink_;
};

class RunCommand final : public Command {
 public:
  const char* name() const override { return "run"; }
  const char* summary() const override {
    return "Watch a command: its processes, its GPUs, its stages";
  }
  bool wants_tail() const override { return true; }
  bool takes_command() const override { return true; }
  void set_tail(std::vector<std::string> words) override { command_ = std::move(words); }

  void add_options(Options& options) override {
    options.add("-o,--out", flags_.out, "DIR", "Folder for the new run directory ($GENSCOPE_OUT)");
    options.add("--run-dir", run_dir_, "DIR", "The run directory itself, made if missing");
    options.add("--name", name_, "NAME", "Name of the run; default: the program's");
    options.flag("--keep-args", flags_.keep_args,
                 "Record command lines as they are; else what looks like a secret is ***; see "
                 "docs/security.md");
    options
        .add("--live", flags_.live, "WHEN",
             "Live block at the bottom of the terminal: auto, always or never")
        .one_of({"auto", "always", "never"});
    options.flag("--no-gpu", flags_.no_gpu, "Do not look at GPUs");
    options
        .add("--probes", flags_.probes, "LIST",
             "Only these, separated by commas; see genscope doctor")
        .split_at(',');
    options
        .add("--interval", flags_.interval_ms, "MS", "Milliseconds between two fast readings [100]")
        .range(10, 60'000);
    options
        .add("--instrument", instrument_, "LIST",
             "What to record of Python programs: auto, none, or names with commas; see "
             "docs/python.md")
        .split_at(',');
    options
        .add("--logs", logs_, "FORMAT",
             "Read stages and steps from the command's output: auto, tqdm, comfyui or sdcpp; see "
             "docs/logs.md")
        .one_of({"auto", "tqdm", "comfyui", "sdcpp"});
    const Option stacks = options.flag(
        "--stacks", stacks_always_,
        "Sample the stacks of Python programs to the end; else only until they mark or hook "
        "something");
    options.flag("--no-stacks", no_stacks_, "Do not sample stacks").excludes(stacks);
    options.add("--stacks-rate", stacks_.rate, "HZ", "Samples of stacks a second [50]")
        .range(1, 1000);
    const Option config =
        options.add("--config", flags_.config, "FILE", "Settings file, see docs/config.md");
    options.add("--preset", flags_.preset, "NAME", "development, production or debugging")
        .excludes(config);
    options.add("--json", json_, "FILE", "Write the report as JSON to this file at the end");
    const Option serve = options.flag(
        "--serve", serve_, "Show the run in the browser while it runs; see docs/serve.md");
    options.add("--port", port_, "N", "With --serve: port; 0 takes any that is free")
        .range(0, 65535)
        .needs(serve);
    options.flag("--linger", linger_, "With --serve: go on after the command's end, until Ctrl-C")
        .needs(serve);
    shown_.add_options(options);
    options.footer(
        std::string(
            "`genscope run [OPTIONS] CMD [ARG...]` runs CMD as it would run alone:\n"
            "same stdin, stdout and stderr, same process group, same exit code. The\n"
            "summary goes to stderr, the samples and what CMD itself records into a\n"
            "new run directory. What follows CMD is CMD's. If CMD begins with a dash, put --\n"
            "before it. See docs/run.md.\n\n"
            "Examples:\n"
            "  genscope run -- python generate.py --steps 20\n"
            "  genscope run --live never --json report.json -- ./pipeline > images.txt\n"
            "  genscope run --no-gpu --interval 50 -- make -j8\n"
            "  genscope run --serve -- ./pipeline\n"
            "  genscope run --logs sdcpp -- sd -m model.gguf -p \"a cat\"\n\n") +
        kExitHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (command_.empty()) {
      return Error{ErrorCode::invalid_argument,
                   "nothing to run: genscope run [OPTIONS] CMD [ARG...]\n"
                   "See `genscope run --help`."};
    }
    if (const Status fine = watch::check_instrument(instrument_); !fine) return fine.error();
    using When = watch::StackPlan::When;
    stacks_.when = no_stacks_ ? When::never : stacks_always_ ? When::always : When::until_marked;
    flags_.quiet = globals.quiet;
    Result<watch::RunSettings> settings = watch::settings_of(flags_);
    if (!settings) return settings.error();
    settings_ = std::move(*settings);
    watch::CannotStart why;
    const std::string file = watch::find_command(command_[0], std::getenv("PATH"), why);
    if (file.empty()) return cannot_start(why);
    Result<RunFolder> place = settings_.enabled ? make_place() : RunFolder{};
    if (!place) return place.error();
    return watch_it(file, *place, globals);
  }

 private:
  // Whatever fails on our side, the command runs, and its exit code is ours.
  int watch_it(const std::string& file, RunFolder& place, const Globals& globals) {
    watch::CannotStart why;
    std::optional<watch::Ending> ending;
    try {
      ending = watch_and_tell(
          {file, command_, watch::joined(shown_command()), place.path, settings_.live,
           settings_.redraw_ns, globals.color, settings_.skip, added_environment(place)},
          place, globals, why);
    } catch (const std::exception& failure) {  // before it was started: later nothing escapes
      why.no_process = true;
      why.message = failure.what();
    }
    if (ending) return ending->exit_code;
    server_.reset();
    watch::unless_it_fails([&] { remove(place); });
    if (!why.no_process) return cannot_start(why);
    say("there is no room for us beside the command, so it runs alone and unrecorded: " +
        why.message);
    watch::run_instead(file, command_);
    return cannot_start(why);
  }

  std::optional<watch::Ending> watch_and_tell(watch::WatchOptions options, RunFolder& place,
                                              const Globals& globals, watch::CannotStart& why) {
    const std::unique_ptr<watch::LogRelay> relay = open_relay(place);
    options.logs = relay.get();
    std::optional<watch::Watcher> watcher(std::move(options));
    OwnTrace trace(place.path, settings_.tags, settings_.keep_args);
    if (!watch::unless_it_fails([&] { start_server(place); }))
      say("there is no live page: no memory");
    watch::Telemetry telemetry(settings_.telemetry, trace.sink());
    const std::optional<watch::Ending> ending = watcher->watch(telemetry, why);
    if (relay && ending) watch::unless_it_fails([&] { tell_logs(*relay); });
    if (ending) watch::unless_it_fails([&] { look_at_python(place); });
    std::string problem;
    watch::unless_it_fails([&] { problem = trace.close(); });
    if (!ending) return ending;
    const bool told = watch::unless_it_fails([&] {
      if (place.problem.empty()) place.problem = problem;
      finish(place, *ending);
      watcher.reset();  // the run is written: Ctrl-C may end the rest
      std::string ignored;
      if (settings_.summary && !place.path.empty()) whole(place, ignored);
      complain(place);
      if (settings_.summary) show(place, *ending, telemetry, globals);
      write_files(place);
    });
    if (!told) say("the run is recorded, but there is not enough memory to show all of it");
    if (server_) {
      bool finished = true;
      watch::unless_it_fails([&] { finished = server_->finish(linger_); });
      if (!finished) leave_at_once(ending->exit_code);
    }
    return ending;
  }

  // For the terminal, whose text ends up in logs.
  std::vector<std::string> shown_command() const {
    return settings_.keep_args ? command_ : base::mask_secrets(command_);
  }

  std::vector<std::pair<std::string, std::string>> added_environment(const RunFolder& place) const {
    if (place.path.empty()) return {};
    auto added = watch::instrument_environment(instrument_, stacks_, watch::find_injection());
    if (settings_.keep_args) added.emplace_back("GENSCOPE_KEEP_ARGS", "1");
    return added;
  }

  std::unique_ptr<watch::LogRelay> open_relay(const RunFolder& place) {
    using watch::LogFormat;
    if (logs_.empty() || place.path.empty()) return nullptr;
    const LogFormat format = logs_ == "tqdm"      ? LogFormat::tqdm
                             : logs_ == "comfyui" ? LogFormat::comfyui
                             : logs_ == "sdcpp"   ? LogFormat::sdcpp
                                                  : LogFormat::automatic;
    std::string why;
    std::unique_ptr<watch::LogRelay> relay = watch::LogRelay::open(format, log_spans_, why);
    if (!relay) say("the log is not read: " + why);
    return relay;
  }

  // Into the trace and the summary: why a Python program has no hooks.
  void look_at_python(const RunFolder& place) {
    if (place.path.empty() || (instrument_.size() == 1 && instrument_[0] == "none")) return;
    python_ = watch::take_python_notes(place.path);
    if (!python_) python_ = watch::python_trouble(command_, watch::find_injection());
    if (!python_) return;
    const std::string reason = python_->reason + "; " + python_->remedy;
    event("instrument",
          {{"target", "python"}, {"status", "failed"}, {"reason", std::string_view(reason)}});
  }

  // Into the trace: what was read of the log, for who wonders why there is nothing.
  void tell_logs(const watch::LogRelay& relay) const {
    event("logs", {{"format", std::string_view(logs_)},
                   {"lines", relay.understood()},
                   {"skipped_bytes", relay.skipped_bytes()}});
  }

  void start_server(const RunFolder& place) {
    if (!serve_) return;
    if (place.path.empty()) return say("there is no live page: nothing is recorded");
    Result<LiveServer> server = LiveServer::start(place.path, static_cast<std::uint16_t>(port_));
    if (!server) return say("there is no live page: " + server.error().message);
    server_.emplace(std::move(*server));
    std::fprintf(stderr, "genscope: live at %s\n", server_->url().c_str());
  }

  // Only a mistake of the user's is an error: a disk that is full must not keep the command from
  // running.
  Result<RunFolder> make_place() const {
    RunFolder place;
    std::error_code failed;
    place.is_new = run_dir_.empty() || !std::filesystem::exists(run_dir_, failed);
    const Result<std::string> path = create_run({.out = settings_.out,
                                                 .path = run_dir_,
                                                 .name = name_,
                                                 .command = command_,
                                                 .keep_args = settings_.keep_args});
    if (path) {
      place.path = std::filesystem::absolute(*path, failed).string();
    } else if (path.error().code == ErrorCode::invalid_argument) {
      return path.error();
    } else {
      place.problem = path.error().message;
    }
    return place;
  }

  static void remove(const RunFolder& place) {
    std::error_code ignored;
    if (place.is_new && !place.path.empty()) std::filesystem::remove_all(place.path, ignored);
  }

  // Whatever is in it, somebody may want to read it.
  static bool holds_a_trace(const RunFolder& place) {
    std::error_code failed;
    for (std::filesystem::directory_iterator it(place.path, failed), end; !failed && it != end;
         it.increment(failed)) {
      if (it->path().extension() == ".gst") return true;
    }
    return failed && failed != std::errc::no_such_file_or_directory;
  }

  static int cannot_start(const watch::CannotStart& why) {
    fail({ErrorCode::not_found, why.message});
    return why.exit_code;
  }

  static void say(const std::string& message) { fail({ErrorCode::io, message}); }
  void say_once(const std::string& message) {
    if (said_ != message) say(message);
    said_ = message;
  }

  // From here on the command has ended, and its exit code stands whatever happens.
  static void finish(RunFolder& place, const watch::Ending& ending) {
    if (place.path.empty()) return;
    const Status finished = finish_run(place.path, ending.exit_code,
                                       {.max_rss_bytes = ending.max_rss_bytes(),
                                        .cpu_ns = ending.cpu_ns(),
                                        .cpu_wait_ns = ending.cpu_wait_ns,
                                        .last_words = ending.last_words});
    if (!finished && place.problem.empty()) place.problem = finished.error().message;
  }

  void complain(const RunFolder& place) const {
    if (!place.problem.empty()) {
      say(fmt::format("this run is not {}recorded: {}", whole_ ? "fully " : "", place.problem));
    }
    if (!whole_) return;
    for (const std::string& note : whole_->run.notes) {
      say("the run is recorded, but not all of it could be read here: " + note);
    }
  }

  void show(const RunFolder& place, const watch::Ending& ending, const watch::Telemetry& telemetry,
            const Globals& globals) {
    std::string ignored;
    const WholeRun* const recorded = place.path.empty() ? nullptr : whole(place, ignored);
    if (recorded != nullptr && !shown_.full) return show_screen(*recorded, place, ending, globals);
    if (recorded == nullptr && !place.problem.empty()) {
      std::fputs(("\n" + watch::unrecorded_text(ending)).c_str(), stderr);
      return;
    }
    watch::Look look;
    look.width = static_cast<std::size_t>(shown_.width(STDERR_FILENO));
    look.color = base::use_color(globals.color, STDERR_FILENO);
    const std::string no_gpu =
        telemetry.gpus_wanted() ? watch::no_gpu_reason(telemetry.reports()) : "";
    // The command may have left the cursor in the middle of a line.
    std::string text =
        "\n" + watch::summary_text(recorded != nullptr ? &recorded->analysis : nullptr, ending,
                                   watch::joined(shown_command()), no_gpu, look);
    if (!place.path.empty()) {
      std::string table;
      if (recorded != nullptr) table = stages(*recorded, look);
      if (table.empty()) {
        for (const std::string& note : python_notes(10)) text += "  " + note + "\n";
      }
      text += table;
      const std::string path = watch::clean(place.path);
      text += fmt::format("\nRecorded in {}\nTo see it again: genscope report {}\n", path, path);
      if (settings_.html_in_run) text += fmt::format("In a browser: {}/report.html\n", path);
    }
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }

  // Why nothing of a Python program is marked, and what to do.
  std::vector<std::string> python_notes(std::size_t column) const {
    const auto labelled = [&](const char* label, const std::string& text) {
      return fmt::format("{:<{}}{}", label, column, text);
    };
    if (python_) {
      return {labelled("Python", fmt::format("no hooks: {}; {}", watch::clean(python_->reason),
                                             watch::clean(python_->remedy)))};
    }
    if (instrument_ == std::vector<std::string>{"none"} || !watch::is_python_program(command_)) {
      return {};
    }
    return {
        labelled("Python", "it used no library that genscope knows; to mark a loop of your own:"),
        labelled("", "for i in genscope.steps(range(n)): ...   (docs/python.md)")};
  }

  void show_screen(const WholeRun& whole, const RunFolder& place, const watch::Ending& ending,
                   const Globals& globals) const {
    ScreenOptions options;
    options.width = shown_.width(STDERR_FILENO);
    options.color = base::use_color(globals.color, STDERR_FILENO);
    options.unicode = base::output_is_utf8();
    options.run = watch::clean(word_for_new_run(place.path));
    if (settings_.html_in_run) options.page = place.path + "/report.html";
    if (whole.analysis.stage_tree.nodes.empty()) options.notes = python_notes(8);
    const std::string left = watch::left_text(ending);
    if (!left.empty()) options.notes.push_back(left);
    std::string text = "\n";  // the command may have left the cursor in the middle of a line
    report_screen(whole.run, whole.analysis, whole.advice, options,
                  [&](std::string_view piece) { text += piece; });
    std::fputs(text.c_str(), stderr);
    std::fflush(stderr);
  }

  // The stage table of what the command recorded and what the advisor says, or "" if it marked
  // nothing.
  std::string stages(const WholeRun& whole, const watch::Look& look) const {
    const auto ours = [this](const Trace& trace) {
      const bool own = trace.process.pid == static_cast<std::uint32_t>(getpid());
      return (own && logs_.empty()) || trace.spans.size() == 0;
    };
    const auto& traces = whole.run.traces;
    if (std::all_of(traces.begin(), traces.end(), ours)) return "";
    std::string text;
    report_text(whole.run, whole.analysis, whole.advice,
                {.width = static_cast<int>(look.width), .color = look.color, .stages_only = true},
                [&](std::string_view piece) { text += piece; });
    return text;
  }

  // What the settings ask for beside the trace.
  void write_files(const RunFolder& place) {
    std::string why;
    const bool recorded =
        !place.path.empty() && (place.problem.empty() || whole(place, why) != nullptr);
    if (!json_.empty() && !recorded) say("no report was written: there is no run to report");
    if (!recorded) {
      if (!holds_a_trace(place)) remove(place);  // so that no later command takes it for the newest
      return;
    }
    const auto json = [this](const Sink& sink) {
      report_json(whole_->run, whole_->analysis, whole_->advice, sink);
    };
    if (!json_.empty()) write_file(place, json_, json);
    if (settings_.json_in_run) write_file(place, place.path + "/report.json", json);
    if (settings_.html_in_run) {
      write_file(place, place.path + "/report.html", [this](const Sink& sink) {
        report_html(whole_->run, whole_->analysis, whole_->advice, sink);
      });
    }
    if (settings_.samples_in_run) {
      write_file(place, place.path + "/samples.csv", [this](const Sink& sink) {
        samples_csv(whole_->run, whole_->analysis, settings_.points, sink);
      });
    }
  }

  // The run as it was recorded, read once; null with the reason if it cannot be read.
  const WholeRun* whole(const RunFolder& place, std::string& why) {
    if (!whole_ && unreadable_.empty()) {
      try {
        Result<WholeRun> read = read_whole(place.path);
        if (read) {
          whole_ = std::move(*read);
        } else {
          unreadable_ = read.error().message;
        }
      } catch (const std::exception&) {
        unreadable_ = "the run is recorded, but there is not enough memory to read it here";
      }
    }
    why = unreadable_;
    return whole_ ? &*whole_ : nullptr;
  }

  void write_file(const RunFolder& place, const std::string& path,
                  const std::function<void(const Sink&)>& write) {
    std::string why;
    if (whole(place, why) == nullptr) return say_once(why);
    try {
      Result<Output> output = Output::open(path);
      if (!output) return say(output.error().message);
      write(output->sink());
      if (const Status done = output->commit(); !done) say(done.error().message);
    } catch (const OutputFailure& failure) {
      say(failure.error.message);
    } catch (const BrokenPipe&) {
    } catch (const std::exception&) {
      say("there is not enough memory to write " + path);
    }
  }

  std::vector<std::string> command_, instrument_;
  watch::RunFlags flags_;
  watch::StackPlan stacks_;
  Shown shown_;
  watch::RunSettings settings_;
  std::optional<WholeRun> whole_;
  std::string run_dir_, name_, json_, logs_;
  std::string unreadable_, said_;
  std::optional<watch::PythonTrouble> python_;
  watch::LogRecorder log_spans_;
  std::optional<LiveServer> server_;
  int port_ = 0;
  bool serve_ = false, linger_ = false;
  bool stacks_always_ = false, no_stacks_ = false;
};

}  // namespace

std::unique_ptr<Command> make_run() { return std::make_unique<RunCommand>(); }

}  // namespace genscope::cli
