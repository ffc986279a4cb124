#include "cli/top/view.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "cli/top/gpu_part.h"
#include "cli/top/labelled_lines.h"
#include "watch/figures.h"
#include "watch/gpu_lines.h"

namespace genscope::cli::top {
namespace {

using watch::Line;
using watch::Look;
using watch::Style;

std::string percent(double ratio) { return watch::percent_text(ratio); }
std::string per_second(double bytes) { return watch::bytes_text(bytes) + "/s"; }

class View {
 public:
  View(const Frame& frame, const Look& look, bool full_screen)
      : frame_(frame), now_(frame.snapshot), look_(look), full_screen_(full_screen) {}

  std::vector<std::string> make() {
    machine_ = watch::first_of(now_, EntityKind::machine);
    title();
    cpu();
    memory();
    limit();
    io();
    waits();
    power();
    lines_.emplace_back();
    for (std::string& line : gpu_part(frame_, look_)) lines_.push_back(std::move(line));
    lines_.emplace_back();
    run();
    processes();
    return std::move(lines_);
  }

 private:
  void finish(const Line& line) { lines_.push_back(line.text()); }
  const Reading* of(std::optional<std::uint32_t> entity, const char* metric) const {
    return entity ? reading_of(now_, *entity, metric) : nullptr;
  }
  const Reading* rate(std::optional<std::uint32_t> entity, const char* metric) const {
    return entity ? rate_reading_of(now_, *entity, metric) : nullptr;
  }
  std::optional<double> value(std::optional<std::uint32_t> entity, const char* metric) const {
    return entity ? watch::value_of(now_, *entity, metric) : std::nullopt;
  }
  // Appends what is known; what is not is left out, for a line has one thing that must be there.
  void add_known(Line& line, const char* word, const Reading* reading,
                 const std::function<std::string(double)>& text) const {
    if (reading != nullptr && watch::known(*reading)) {
      line.add_whole(value_text(word, reading, text));
    }
  }

  void title() {
    Line line(look_);
    line.add("genscope top", Style::bold);
    if (machine_) line.add_whole(now_.entities[*machine_].name);
    line.add_whole(fmt::format("every {} s", watch::figure(frame_.interval_seconds)), Style::dim);
    if (full_screen_) line.add_whole("q quits; c m g sort", Style::dim);
    finish(line);
  }

  void cpu() {
    Line line = labelled(look_, "CPU");
    const Reading* busy = of(machine_, "cpu_busy_ratio");
    line.add(value_text("", busy, percent));
    add_bar(line, look_, value(machine_, "cpu_busy_ratio"));
    if (machine_) add_trail(line, look_, frame_, *machine_, "cpu_busy_ratio");
    if (const auto cpus = value(machine_, "cpu_count")) {
      line.add_whole(fmt::format("{:.0f} CPUs", *cpus));
    }
    add_known(line, "load", of(machine_, "load_1m"), watch::figure);
    add_known(line, "user", of(machine_, "cpu_user_ratio"), percent);
    add_known(line, "system", of(machine_, "cpu_system_ratio"), percent);
    add_known(line, "iowait", of(machine_, "cpu_iowait_ratio"), percent);
    add_known(line, "steal", of(machine_, "cpu_steal_ratio"), percent);
    finish(line);
  }

  void memory() {
    Line line = labelled(look_, "Memory");
    const auto used = value(machine_, "memory_used_bytes");
    const auto total = value(machine_, "memory_total_bytes");
    line.add(used ? watch::bytes_of_text(used, total)
                  : unknown_text(of(machine_, "memory_used_bytes")));
    if (used && total && *total > 0) add_bar(line, look_, *used / *total);
    add_known(line, "available", of(machine_, "memory_available_bytes"), watch::bytes_text);
    if (const auto swap = value(machine_, "swap_total_bytes"); swap && *swap > 0) {
      line.add_whole("swap " + watch::bytes_of_text(value(machine_, "swap_used_bytes"), swap));
    }
    finish(line);
  }

  // What the cgroup allows: in a container less than the machine has.
  void limit() {
    const auto cgroup = watch::first_of(now_, EntityKind::cgroup);
    const auto bytes = value(cgroup, "memory_limit_bytes");
    const auto cores = value(cgroup, "cpu_limit_cores");
    if (!bytes && !cores) return;
    Line line = labelled(look_, "Limit");
    if (bytes) {
      auto used = value(cgroup, "memory_working_set_bytes");
      if (!used) used = value(cgroup, "memory_used_bytes");
      const bool ratio_known = used && *bytes > 0;
      line.add("memory " + watch::bytes_of_text(used, bytes),
               by_level(ratio_known ? std::optional(*used / *bytes) : std::nullopt));
    }
    if (cores) line.add_whole(fmt::format("{} cores", watch::figure(*cores)));
    add_known(line, "throttled", rate(cgroup, "cpu_throttled_ns"),
              [](double ns) { return percent(ns / 1e9); });
    finish(line);
  }

  void io() {
    Line line = labelled(look_, "I/O");
    line.add(value_text("disk read", rate(machine_, "disk_read_bytes"), per_second));
    line.add_whole(value_text("write", rate(machine_, "disk_write_bytes"), per_second));
    line.add_whole(value_text("net in", rate(machine_, "net_receive_bytes"), per_second));
    line.add_whole(value_text("out", rate(machine_, "net_send_bytes"), per_second));
    finish(line);
  }

  // Pressure: the share of time in which some task waited.
  void waits() {
    Line line = labelled(look_, "Waits");
    const auto share = [](double ns) { return percent(ns / 1e9); };
    const Reading* cpu = rate(machine_, "pressure_cpu_some_ns");
    line.add(value_text("for CPU", cpu, share));
    add_known(line, "memory", rate(machine_, "pressure_memory_some_ns"), share);
    add_known(line, "I/O", rate(machine_, "pressure_io_some_ns"), share);
    finish(line);
  }

  void power() {
    Line line = labelled(look_, "Power");
    bool any = false;
    for (std::uint32_t i = 0; i < now_.entities.size(); ++i) {
      if (now_.entities[i].kind != EntityKind::cpu_package) continue;
      line.add_whole(value_text(now_.entities[i].name, rate(i, "energy_joules"),
                                [](double watts) { return watch::watts_text(watts); }));
      any = true;
    }
    if (!any) line.add(no_power());
    finish(line);
  }

  std::string no_power() const {
    for (const ProbeReport& report : frame_.probes) {
      if (report.name != "rapl" || report.state.reason.empty()) continue;
      return fmt::format("{} ({})", watch::kUnknown, report.state.reason);
    }
    return unknown_text(nullptr);
  }

  void run() {
    if (!frame_.run) return;
    Line line = labelled(look_, "Run");
    line.add(frame_.run->path, Style::bold);
    const auto& processes = frame_.run->progress.processes;
    const bool alive = std::any_of(processes.begin(), processes.end(),
                                   [](const auto& process) { return process.alive; });
    if (!alive)
      line.add_whole(processes.empty() ? "nothing recorded yet" : "has ended", Style::warn);
    finish(line);
    for (const Progress::Process& process : processes) stage(process);
    lines_.emplace_back();
  }

  void stage(const Progress::Process& process) {
    if (process.stage.empty() && process.last_stage.empty()) return;
    Line line = labelled(look_, "");
    line.add(fmt::format("{:>7} ", process.pid), Style::dim);
    if (process.stage.empty()) {
      line.add(fmt::format("{} {} took {}", process.alive ? "after" : "ended after",
                           process.last_stage, watch::seconds_text(process.last_stage_seconds)));
      return finish(line);
    }
    line.add(process.stage, process.alive ? Style::bold : Style::dim);
    if (!process.alive) line.add_whole("process has ended", Style::warn);
    if (process.steps_total && *process.steps_total > 0) {
      const std::uint64_t done = std::min(process.steps_done, *process.steps_total);
      line.add_whole(
          watch::bar_text(static_cast<double>(done) / static_cast<double>(*process.steps_total),
                          kTrail, look_.unicode));
      line.add_whole(fmt::format("{}/{}", done, *process.steps_total));
    } else if (process.steps_done > 0) {
      line.add_whole(fmt::format("step {}", process.steps_done));
    }
    if (process.alive && process.eta_seconds) {
      line.add_whole("ETA " + watch::clock_time(*process.eta_seconds), Style::bold);
    }
    if (process.step_seconds) line.add_whole(watch::seconds_text(*process.step_seconds) + "/step");
    if (process.dropped_spans > 0)
      line.add_whole(fmt::format("{} lost", process.dropped_spans), Style::bad);
    finish(line);
  }

  void processes() {
    const auto tree = watch::first_of(now_, EntityKind::process_tree);
    Line title = labelled(look_, "Tasks");
    title.add("of " + frame_.watched +
              (frame_.machine.empty() ? " and of GPUs" : ", of GPUs, and the busiest of all"));
    if (const auto count = value(tree, "processes")) {
      title.add_whole(fmt::format("{:.0f} processes", *count));
    }
    if (const auto count = value(tree, "threads"))
      title.add_whole(fmt::format("{:.0f} threads", *count));
    finish(title);
    if (frame_.processes.empty()) return;
    process_line("PID", "CPU", "MEMORY", "GPU MEM", "GPU", "NAME", Style::dim);
    std::map<std::string, std::set<std::string>> missing;  // reason -> columns
    const auto cell = [&](const char* column, const Reading& reading, auto text) -> std::string {
      if (const auto known_value = watch::known(reading)) return text(*known_value);
      // Nothing to know: the first frame, or a process that is in no such list.
      if (reading.status == SampleStatus::pending || reading.status == SampleStatus::absent) {
        return "-";
      }
      missing[why(reading)].insert(column);
      return watch::kUnknown;
    };
    const auto bytes = [](double n) { return watch::bytes_text(n); };
    for (const ProcessLine& line : frame_.processes) {
      process_line(
          std::to_string(line.row.pid),
          cell("CPU", line.cpu_cores, [](double n) { return fmt::format("{:.0f}%", n * 100); }),
          cell("MEMORY", line.row.rss_bytes, bytes),
          cell("GPU MEM", line.row.gpu_memory_bytes, bytes),
          cell("GPU", line.row.gpu_busy_ratio, percent),
          line.row.visible ? line.row.name : "(outside this container)", Style::plain);
    }
    for (const auto& [reason, columns] : missing) {
      finish(Line(look_).add(
          fmt::format("{}: {} ({})", watch::kUnknown, fmt::join(columns, ", "), reason),
          Style::dim));
    }
  }

  void process_line(std::string_view pid, std::string_view cpu, std::string_view rss,
                    std::string_view gpu_memory, std::string_view gpu, std::string_view name,
                    Style style) {
    Line line(look_);
    line.add(fmt::format("{:>7} {:>6} {:>9}", pid, cpu, rss), style);
    constexpr std::size_t kWithGpu = 56;  // below it the name needs the room
    if (look_.width >= kWithGpu) line.add(fmt::format(" {:>9} {:>5}", gpu_memory, gpu), style);
    line.add("  ").add(name, style);
    finish(line);
  }

  const Frame& frame_;
  const Snapshot& now_;
  const Look& look_;
  bool full_screen_;
  std::optional<std::uint32_t> machine_;
  std::vector<std::string> lines_;
};

}  // namespace

std::vector<std::string> frame_lines(const Frame& frame, const Look& look, std::size_t rows,
                                     bool full_screen) {
  std::vector<std::string> lines = View(frame, look, full_screen).make();
  if (rows == 0 || lines.size() <= rows) return lines;
  const std::size_t missing = lines.size() - rows + 1;
  lines.resize(rows);
  lines.back() = Line(look).add(fmt::format("... {} more lines", missing), Style::dim).text();
  return lines;
}

}  // namespace genscope::cli::top
