#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <csignal>
#include <cstring>

#include <genscope/analyze.h>

namespace genscope {
namespace {

constexpr std::array<std::string_view, 6> kEndNames = {"ok",          "failed",  "killed",
                                                       "interrupted", "running", "cut off"};

// Of an exit code as shells and `genscope run` pass a signal on; "" if it is none.
std::string signal_of(int exit_code) {
  constexpr int kSignalBase = 128;
  const char* const word =
      exit_code > kSignalBase ? sigabbrev_np(exit_code - kSignalBase) : nullptr;
  return word == nullptr ? "" : std::string("SIG") + word;
}

}  // namespace

std::string_view name(RunEnd end) noexcept {
  const auto index = static_cast<std::size_t>(end);
  return index < kEndNames.size() ? kEndNames[index] : kEndNames[0];
}

RunEnding run_ending(const Run& run) {
  RunEnding ending;
  ending.exit_code = run.exit_code;
  const auto any = [&](auto&& is) {
    return std::any_of(run.traces.begin(), run.traces.end(),
                       [&](const Trace& trace) { return is(trace.integrity); });
  };
  if (!run.exit_code) {
    if (any([](const Integrity& i) { return i.in_progress; })) {
      ending.how = RunEnd::running;
    } else if (any([](const Integrity& i) { return !i.closed; })) {
      ending.how = RunEnd::cut_off;
    }
    return ending;
  }
  ending.signal = signal_of(*run.exit_code);
  ending.how = *run.exit_code == 0         ? RunEnd::fine
               : ending.signal.empty()     ? RunEnd::failed
               : ending.signal == "SIGINT" ? RunEnd::interrupted
                                           : RunEnd::killed;
  return ending;
}

std::string ending_text(const RunEnding& ending) {
  std::string text(name(ending.how));
  if (ending.how == RunEnd::failed) text += fmt::format(" (exit {})", *ending.exit_code);
  if (ending.how == RunEnd::killed) text += fmt::format(" ({})", ending.signal);
  return text;
}

}  // namespace genscope
