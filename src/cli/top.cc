// genscope top
#include <poll.h>
#include <unistd.h>

#include <chrono>
#include <cmath>
#include <csignal>

#include "base/terminal.h"
#include "cli/command.h"
#include "cli/exit_code.h"
#include "cli/output.h"
#include "cli/run_word.h"
#include "cli/top/json.h"
#include "cli/top/screen.h"
#include "cli/top/view.h"
#include "cli/top/watcher.h"

namespace genscope::cli {
namespace {

using Clock = std::chrono::steady_clock;

// Waits until `end`, or until nobody reads our stdout any more.
void wait_for_tick(Clock::time_point end) {
  for (;;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(end - Clock::now()).count();
    if (left <= 0) return;
    pollfd output{STDOUT_FILENO, 0, 0};  // POLLERR is reported unasked
    if (poll(&output, 1, static_cast<int>(left)) > 0) {
      if ((output.revents & POLLERR) != 0) throw BrokenPipe{};
      poll(nullptr, 0, static_cast<int>(left));  // a file, or a closed descriptor: the write tells
    }
  }
}

class Top final : public Command {
 public:
  const char* name() const override { return "top"; }
  const char* summary() const override { return "Watch this machine, or a run in progress"; }

  void add_options(Options& options) override {
    const Option run =
        options.add("RUN", options_.run, "",
                    "A run's stages and processes: last, a name or the start of one, a directory");
    options.add("--pid", options_.pid, "PID", "Show this process and its descendants")
        .positive()
        .excludes(run);
    options.add("--interval", options_.interval_seconds, "SECONDS", "Seconds between updates")
        .range(0.1, 3600.0)
        .show_default();
    options.flag("--once", options_.once, "Print one screen and exit");
    options.flag("--json", json_,
                 "Print JSON Lines, one object per update; with --once one object");
    options.footer(
        std::string(
            "Without RUN and --pid the processes of this terminal's session are shown, those\n"
            "that GPUs list, and the busiest of the machine. Nothing that is watched is\n"
            "disturbed. Keys: q or Ctrl-C quits; c, m and g sort the processes by CPU, memory\n"
            "and GPU memory.\n\n"
            "Examples:\n"
            "  genscope top\n"
            "  genscope top genscope-runs/20260101-120000-demo-4242\n"
            "  genscope top --once --json | jq '.gpus[].memory_used_bytes'\n\n") +
        kExitCodesHelp);
  }

  Result<int> run(const Globals& globals) override {
    if (!std::isfinite(options_.interval_seconds)) {
      return Error{ErrorCode::invalid_argument, "--interval: give a number of seconds"};
    }
    if (!options_.run.empty()) {
      Result<std::string> path = run_path(options_.run);
      if (!path) return path.error();
      options_.run = std::move(*path);
    }
    if (options_.once) return once(globals);
    return json_ ? stream() : full_screen(globals);
  }

 private:
  static watch::Look look(const Globals& globals, std::size_t width) {
    return {
        .width = width, .color = base::use_color(globals.color), .unicode = base::output_is_utf8()};
  }

  Result<int> once(const Globals& globals) {
    top::Watcher watcher(options_);
    if (const Status started = watcher.start(); !started) return started.error();
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    watcher.frame();  // CPU time of processes needs two
    watcher.settle();
    if (json_) {
      output->sink()(top::frame_json(watcher.frame()));
      return kFine;
    }
    const auto width = static_cast<std::size_t>(base::output_width());
    top::Frame frame = watcher.frame();
    frame.trails.clear();  // one moment has no course
    std::string text;
    for (const std::string& line : top::frame_lines(frame, look(globals, width), 0, false)) {
      text += line + "\n";
    }
    output->sink()(text);
    return kFine;
  }

  Result<int> stream() {
    top::Watcher watcher(options_);
    if (const Status started = watcher.start(); !started) return started.error();
    Result<Output> output = Output::open("-");
    if (!output) return output.error();
    const Sink sink = output->sink();
    const auto interval = std::chrono::duration_cast<Clock::duration>(
        std::chrono::duration<double>(options_.interval_seconds));
    Clock::time_point next = Clock::now();
    for (;;) {
      sink(top::frame_json(watcher.frame()));
      next = std::max(next + interval, Clock::now());  // late ticks are skipped, not bunched
      wait_for_tick(next);
    }
  }

  Result<int> full_screen(const Globals& globals) {
    top::Watcher watcher(options_);  // first, so that the terminal is restored before it stops
    Result<std::unique_ptr<top::Screen>> screen = top::Screen::open();
    if (!screen) return screen.error();
    if (const Status started = watcher.start(); !started) return started.error();
    top::ProcessOrder order = top::ProcessOrder::cpu;
    for (;;) {
      top::Frame frame = watcher.frame();
      const auto shown_at = Clock::now();
      for (bool tick = false; !tick;) {
        top::sort_processes(frame.processes, order);
        (*screen)->draw(
            top::frame_lines(frame, look(globals, (*screen)->columns()), (*screen)->rows(), true));
        const std::chrono::duration<double> passed = Clock::now() - shown_at;
        const top::Event event = (*screen)->wait(options_.interval_seconds - passed.count());
        switch (event.input) {
          case top::Input::nothing:
            tick = true;
            break;
          case top::Input::key:
            if (event.key == 'q' || event.key == 'Q') return kFine;
            if (event.key == 'c') order = top::ProcessOrder::cpu;
            if (event.key == 'm') order = top::ProcessOrder::memory;
            if (event.key == 'g') order = top::ProcessOrder::gpu_memory;
            break;
          case top::Input::interrupt:
            return kInterrupted;
          case top::Input::terminate:
            return kTerminated;
          case top::Input::suspend:
            (*screen)->suspend();
            break;
          case top::Input::resize:
            break;
        }
      }
    }
  }

  static constexpr int kTerminated = 128 + SIGTERM;

  top::WatchOptions options_;
  bool json_ = false;
};

}  // namespace

std::unique_ptr<Command> make_top() { return std::make_unique<Top>(); }

}  // namespace genscope::cli
