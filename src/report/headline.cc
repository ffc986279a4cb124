// The one sentence that every report begins with.
#include <fmt/format.h>

#include <algorithm>
#include <string>

#include <genscope/report.h>

#include "report/cpu_wait.h"
#include "report/format.h"
#include "report/printable.h"
#include "report/screen_facts.h"
#include "report/stage_shares.h"

namespace genscope {
namespace {

namespace rep = report;

// From here on waiting for a CPU is what a reader must know before anything else.
constexpr double kMuchWaiting = 0.25;
constexpr double kManyOthers = 0.25;  // of the CPUs
constexpr double kMostlyAsleep = 0.75;
constexpr std::int64_t kLeastForSleep = 500'000'000;  // ns: a start alone takes some
constexpr double kMuchQuota = 0.05;                   // of the time
constexpr std::size_t kMaxName = 40, kMaxWords = 120;

std::string whole_percent(double ratio) {
  if (ratio > 0 && ratio < 0.01) return "under 1%";
  return fmt::format("{:.0f}%", ratio * 100);
}

// A name of plain words begins a sentence with a capital.
std::string as_subject(std::string_view name) {
  std::string text = rep::shorten(rep::printable(name), kMaxName);
  const bool plain = std::all_of(text.begin(), text.end(),
                                 [](char c) { return (c >= 'a' && c <= 'z') || c == ' '; });
  if (plain && !text.empty()) text[0] = static_cast<char>(text[0] - 'a' + 'A');
  return text;
}

class Headline {
 public:
  Headline(const Run& run, const Analysis& analysis, const Advice& advice)
      : run_(run),
        analysis_(analysis),
        advice_(advice),
        wall_(analysis.wall_ns > 0 ? rep::duration(analysis.wall_ns) : "") {}

  std::string make() {
    const std::string end = ending();
    const std::string time = time_taken(!end.empty());
    text_ = end;
    if (!time.empty()) text_ += (end.empty() ? "" : "; ") + time;
    text_ += '.';
    last_words();
    memory();
    findings();
    return std::move(text_);
  }

 private:
  // How it ended, if not well, and after what time.
  std::string ending() const {
    const RunEnding ending = run_ending(run_);
    std::string text;
    switch (ending.how) {
      case RunEnd::fine:
        return "";
      case RunEnd::failed:
        text = fmt::format("Failed (exit {})", *ending.exit_code);
        break;
      case RunEnd::killed:
        text = fmt::format("Killed ({})", ending.signal);
        break;
      case RunEnd::interrupted:
        text = fmt::format("Interrupted ({})", ending.signal);
        break;
      case RunEnd::running:
        text = "Still running";
        break;
      case RunEnd::cut_off:
        text = "Ended without closing its recording";
        break;
    }
    return wall_.empty() ? text : text + " after " + wall_;
  }

  // What it said last, and whether the kernel took its memory back.
  void last_words() {
    const RunEnd how = run_ending(run_).how;
    if (how != RunEnd::failed && how != RunEnd::killed) return;
    if (analysis_.resources.host.oom_kills.value_or(0) > 0) {
      text_ += " Memory ran out: the kernel says so.";
    }
    if (run_.last_words.empty()) return;
    text_ +=
        " Last on stderr: " + rep::shorten_end(rep::printable(run_.last_words.back()), kMaxWords);
    if (!text_.ends_with('.') && !text_.ends_with('!')) text_ += '.';
  }

  std::string time_taken(bool after_ending) const {
    if (wall_.empty()) return after_ending ? "" : "Nothing was recorded";
    const std::string waited = waiting(after_ending);
    if (!waited.empty()) return waited;
    const rep::StageShares shares = rep::stage_shares(analysis_.stage_tree);
    if (shares.rows.empty()) return unmarked(after_ending);
    const rep::StageShare& top = shares.rows.front();
    const std::string of = after_ending ? "of that" : "of " + wall_;
    if (shares.outside_share > top.share) {
      return fmt::format("{} {} was outside the marked stages", whole_percent(shares.outside_share),
                         of);
    }
    const StageNode& node = analysis_.stage_tree.nodes[top.node];
    const std::string subject =
        after_ending ? rep::shorten(rep::printable(node.name), kMaxName) : as_subject(node.name);
    std::string text = fmt::format("{} took {} {}", subject, whole_percent(top.share), of);
    if (analysis_.stage_tree.processes > 1) {
      text += fmt::format(" in {} processes", rep::count(analysis_.stage_tree.processes));
    }
    return text + steps_of(node);
  }

  // Only if all steps lie in that stage: their median is of all.
  std::string steps_of(const StageNode& node) const {
    const StepSummary& steps = analysis_.steps;
    if (node.steps == 0 || node.steps != steps.count) return "";
    return fmt::format(": {} of {}", rep::counted(steps.count, "step", "steps"),
                       rep::duration(steps.steady_p50_ns.value_or(steps.p50_ns)));
  }

  // What took the CPUs: others, the quota of the control group, or both.
  std::string others() const {
    const HostUse& host = analysis_.resources.host;
    const EntityRow* const machine = analysis_.telemetry.first(EntityKind::machine);
    const auto cpus =
        machine == nullptr ? std::nullopt : machine->value("cpu_count", &SeriesRow::max);
    std::string text;
    if (host.other_cores && cpus && *host.other_cores >= kManyOthers * *cpus) {
      text = fmt::format(": other programs used {} of {} cores", rep::cores(*host.other_cores),
                         rep::cores(*cpus));
    }
    if (host.throttled_share.value_or(0) < kMuchQuota || !host.cpus) return text;
    return text + fmt::format("{} its quota of {} CPUs held it back {} of the time",
                              text.empty() ? ":" : ",", rep::cores(*host.cpus),
                              whole_percent(*host.throttled_share));
  }

  std::string waiting(bool after_ending) const {
    const rep::CpuWait wait = rep::cpu_wait(run_, analysis_);
    if (!wait.share || *wait.share < kMuchWaiting) return "";
    const std::string of = after_ending ? "that" : wall_;
    if (wait.of_main_thread) {
      return fmt::format("{} main thread waited for a CPU {} of {}", after_ending ? "its" : "Its",
                         whole_percent(*wait.share), of);
    }
    return fmt::format("{} for a CPU {} of {}{}", after_ending ? "waited" : "Waited",
                       whole_percent(*wait.share), of, others());
  }

  // Of a program that marks nothing: what its processes did all the time, if it was one thing.
  std::string unmarked(bool after_ending) const {
    const TimeSplit& split = analysis_.resources.time;
    const std::string of = after_ending ? "of that" : "of " + wall_;
    if (split.storage_share && *split.storage_share >= kMuchWaiting) {
      return fmt::format("{} for storage {} {}", after_ending ? "waited" : "Waited",
                         whole_percent(*split.storage_share), of);
    }
    if (const double asleep = asleep_share(); asleep >= kMostlyAsleep && !gpu_works()) {
      return fmt::format("{} {} {}", after_ending ? "slept or waited" : "Slept or waited",
                         whole_percent(asleep), of);
    }
    if (after_ending) return "no stage is marked";
    std::string text = "Took " + wall_;
    const std::optional<double>& used = analysis_.resources.host.own_cores;
    if (used) text += fmt::format(" with {} cores busy", rep::cores(*used));
    return text + "; no stage is marked";
  }

  // A run too short for readings has what the kernel said at its end.
  double asleep_share() const {
    if (const auto share = analysis_.resources.time.other_share) return *share;
    if (!run_.cpu_ns || !run_.cpu_wait_ns || analysis_.wall_ns < kLeastForSleep) return 0;
    return 1 - static_cast<double>(*run_.cpu_ns + *run_.cpu_wait_ns) /
                   static_cast<double>(analysis_.wall_ns);
  }

  // Who waits for a GPU is at work.
  bool gpu_works() const {
    const EntityRow* const gpu = analysis_.telemetry.first(EntityKind::gpu);
    const auto busy = gpu == nullptr ? std::nullopt : gpu->value("busy_ratio", &SeriesRow::mean);
    return busy && *busy >= kMuchWaiting;
  }

  void memory() {
    for (const MemoryGrowth& growth : analysis_.resources.growth) {
      if (!growth.leak || !growth.bytes_per_second) continue;
      const std::string where = growth.what == "host" ? "Memory" : "Memory of " + growth.what;
      text_ += fmt::format(
          " {} grew by {} a second.", rep::printable(where),
          rep::bytes(static_cast<std::uint64_t>(std::max(0.0, growth.bytes_per_second->value))));
      return;
    }
  }

  void findings() {
    const std::size_t count = advice_.findings.size();
    text_ += count == 0 ? " No findings." : " " + rep::counted(count, "finding", "findings") + ".";
  }

  const Run& run_;
  const Analysis& analysis_;
  const Advice& advice_;
  std::string wall_;  // "" if it is not known
  std::string text_;
};

}  // namespace

std::string headline(const Run& run, const Analysis& analysis, const Advice& advice) {
  return Headline(run, analysis, advice).make();
}

}  // namespace genscope
