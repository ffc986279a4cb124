// genscope demo
#include <fmt/format.h>

#include <filesystem>

#include <genscope/analyze.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include "base/terminal.h"
#include "cli/child.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/shown.h"
#include "cli/whole.h"

namespace genscope::cli {
namespace {

class Demo final : public Command {
 public:
  const char* name() const override { return "demo"; }
  const char* summary() const override { return "Profile the workload that ships with genscope"; }

  void add_options(Options& options) override {
    options.add("ARGS", arguments_, "", "After --: arguments of tinydiff, the workload");
    options.flag("--json", json_, "Print the report as JSON; the workload prints to stderr");
    shown_.add_options(options);
    options.footer(
        std::string("Runs tinydiff, a small diffusion pipeline on the CPU, under a new run\n"
                    "directory in $GENSCOPE_OUT (default ./genscope-runs), and shows what was\n"
                    "recorded. Its picture goes into that directory.\n\n"
                    "Examples:\n"
                    "  genscope demo\n"
                    "  genscope demo -- --arch unet --steps 20 --threads 2\n\n"
                    "If tinydiff fails, its exit code is passed on (128+signal).\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    const Result<std::string> program = find_program("tinydiff");
    if (!program) return program.error();
    RunRequest request;
    request.name = "demo";
    const Result<std::string> directory = create_run_folder(request);
    if (!directory) return directory.error();

    // As a user would: under `genscope run`. The picture goes beside the trace, unless the
    // arguments say otherwise.
    std::vector<std::string> command = {"/proc/self/exe",
                                        "--quiet",
                                        "run",
                                        "--live",
                                        json_ || globals.quiet ? "never" : "auto",
                                        "--run-dir",
                                        *directory,
                                        "--name",
                                        "demo",
                                        "--",
                                        *program,
                                        "--out",
                                        *directory + "/"};
    command.insert(command.end(), arguments_.begin(), arguments_.end());
    ChildOptions child;
    if (json_) child.output = ChildOptions::Stdout::to_stderr;
    if (globals.quiet) child.output = ChildOptions::Stdout::discard;
    const Result<int> code = run_child(command, child);
    if (!code) return code.error();
    return show(*directory, *code, globals);
  }

 private:
  // Prints what was recorded, even of a workload that failed.
  Result<int> show(const std::string& directory, int child_code, const Globals& globals) const {
    const Result<WholeRun> whole = read_whole(directory);
    if (!whole) {
      if (child_code == 0) return whole.error();
      std::error_code ignored;
      std::filesystem::remove(directory, ignored);  // only if it is empty
      return child_code;
    }
    const std::string page = directory + "/report.html";
    const Status written = write_html(*whole, page);
    if (!written) fail(written.error());
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    const Sink sink = output->sink();
    if (json_) {
      report_json(whole->run, whole->analysis, whole->advice, sink);
    } else {
      show_text(*whole, directory, written.ok() ? page : "", globals, sink);
    }
    if (child_code != 0) {
      std::fprintf(stderr, "genscope: tinydiff exited with code %d\n", child_code);
      return child_code;
    }
    return whole->analysis.recorder.spans > 0 ? kFine : kNothingMeasured;
  }

  void show_text(const WholeRun& whole, const std::string& directory, const std::string& page,
                 const Globals& globals, const Sink& sink) const {
    const int width = shown_.width();
    const bool color = base::use_color(globals.color);
    if (!shown_.full) {
      report_screen(whole.run, whole.analysis, whole.advice,
                    {.width = width,
                     .color = color,
                     .unicode = base::output_is_utf8(),
                     .run = word_for_new_run(directory),
                     .page = page},
                    sink);
      return;
    }
    report_text(whole.run, whole.analysis, whole.advice, {.width = width, .color = color}, sink);
    sink(fmt::format("\nRecorded in {}\nTo see it again: genscope report {}\n", directory,
                     directory));
    if (!page.empty()) sink(fmt::format("In a browser: {}\n", page));
  }

  std::vector<std::string> arguments_;
  Shown shown_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_demo() { return std::make_unique<Demo>(); }

}  // namespace genscope::cli
