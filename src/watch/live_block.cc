#include "watch/live_block.h"

#include <fmt/format.h>

#include <algorithm>
#include <optional>

#include "watch/figures.h"
#include "watch/gpu_lines.h"

namespace genscope::watch {
namespace {

constexpr std::size_t kBlockLabel = 9;  // columns of the label and the blanks after it
constexpr std::size_t kNarrow = 40;     // below it labels and sparklines give way
constexpr std::size_t kBlockSparkline = 16;

class Block {
 public:
  Block(const LiveState& state, const Look& look) : state_(state), look_(look) {}

  std::vector<std::string> make() {
    tree_ = first_of(now(), EntityKind::process_tree);
    machine_ = first_of(now(), EntityKind::machine);
    cgroup_ = first_of(now(), EntityKind::cgroup);
    header();
    stage();
    cpu();
    memory();
    io();
    machine();
    note();
    for (std::string& line : gpu_lines(state_, look_)) lines_.push_back(std::move(line));
    return std::move(lines_);
  }

 private:
  const Snapshot& now() const { return state_.snapshot; }
  std::optional<double> value(std::optional<std::uint32_t> entity, const char* metric) const {
    return entity ? value_of(now(), *entity, metric) : std::nullopt;
  }
  std::optional<double> rate(std::optional<std::uint32_t> entity, const char* metric) const {
    return entity ? rate_of(now(), *entity, metric) : std::nullopt;
  }
  bool narrow() const { return look_.width < kNarrow; }

  Line labelled(const char* label) const {
    Line line(look_);
    line.add(label, Style::dim);
    if (narrow()) return line.add(" "), line;
    return line.to_column(kBlockLabel), line;
  }
  void sparkline(Line& line, std::optional<std::uint32_t> entity, const char* metric,
                 double full) const {
    if (!entity || narrow() || *entity >= now().entities.size()) return;
    const auto trail = state_.trails.find(now().entities[*entity].id + metric);
    if (trail == state_.trails.end()) return;
    line.add_whole(trail->second.draw(kBlockSparkline, full, look_.unicode), Style::good);
  }
  void finish(const Line& line) { lines_.push_back(line.text()); }

  void header() {
    const std::string clock = clock_time(state_.elapsed_seconds);
    Line line(look_);
    line.add("genscope", Style::bold).add(" ");
    const std::size_t room = line.room() > clock.size() + 1 ? line.room() - clock.size() - 1 : 0;
    line.add(cut(clean(state_.command, look_.unicode), room));
    if (look_.width > clock.size()) line.to_column(look_.width - clock.size());
    line.add(clock, Style::bold);
    finish(line);
  }

  void stage() {
    const Progress::Process* process = shown_process(state_.progress);
    if (process == nullptr) return;
    Line line = labelled("stage");
    if (process->stage.empty()) {
      line.add("after ").add(process->last_stage, Style::bold);
      line.add_whole(seconds_text(process->last_stage_seconds));
      return finish(line);
    }
    line.add(process->stage, Style::bold);
    if (process->steps_total && *process->steps_total > 0) {
      const std::uint64_t done = std::min(process->steps_done, *process->steps_total);
      const double ratio = static_cast<double>(done) / static_cast<double>(*process->steps_total);
      line.add_whole(fmt::format("{}/{}", done, *process->steps_total));
      if (!narrow()) line.add_whole(bar_text(ratio, kBlockSparkline, look_.unicode), Style::good);
      line.add_whole(percent_text(ratio));
    } else if (process->steps_done > 0) {
      line.add_whole(fmt::format("step {}", process->steps_done));
    }
    if (process->eta_seconds) {
      line.add_whole("ETA " + clock_time(*process->eta_seconds), Style::bold);
    }
    if (process->step_seconds) line.add_whole(seconds_text(*process->step_seconds) + "/step");
    const auto others =
        std::count_if(state_.progress.processes.begin(), state_.progress.processes.end(),
                      [&](const auto& p) { return &p != process && p.alive && !p.stage.empty(); });
    if (others > 0) line.add_whole(fmt::format("+{} more", others), Style::dim);
    finish(line);
  }

  void cpu() {
    Line line = labelled("CPU");
    const auto ns = rate(tree_, "cpu_ns");
    auto cores = value(cgroup_, "cpu_limit_cores");
    const auto all = value(machine_, "cpu_count");
    if (!cores || (all && *all < *cores)) cores = all;
    const std::string used = ns ? figure(*ns / 1e9) : kUnknown;
    line.add(cores ? fmt::format("{} of {} cores", used, figure(*cores)) : used + " cores");
    sparkline(line, tree_, "cpu_ns", cores ? *cores * 1e9 : 0);
    if (const auto n = value(tree_, "processes")) line.add_whole(fmt::format("{:.0f} proc", *n));
    if (const auto n = value(tree_, "threads")) line.add_whole(fmt::format("{:.0f} threads", *n));
    finish(line);
  }

  void memory() {
    Line line = labelled(narrow() ? "mem" : "memory");
    const auto rss = value(tree_, "rss_bytes");
    line.add(bytes_text(rss));
    sparkline(line, tree_, "rss_bytes", 0);
    if (const auto anon = value(tree_, "rss_anon_bytes")) {
      line.add_whole(bytes_text(anon) + " anon");
    }
    const auto limit = value(cgroup_, "memory_limit_bytes");
    if (limit) {
      const auto used = value(cgroup_, "memory_working_set_bytes");
      const double ratio = used && *limit > 0 ? *used / *limit : 0;
      line.add_whole("limit " + bytes_text(limit), ratio > 0.9 ? Style::bad : Style::plain);
    }
    if (const auto swap = value(tree_, "swap_bytes"); swap && *swap > 0) {
      line.add_whole(bytes_text(swap) + " swapped", Style::warn);
    }
    finish(line);
  }

  std::string per_second(std::optional<double> bytes) const {
    return bytes ? bytes_text(bytes) + "/s" : kUnknown;
  }

  void io() {
    Line line = labelled("I/O");
    line.add("read " + per_second(rate(tree_, "io_read_bytes")));
    line.add_whole("write " + per_second(rate(tree_, "io_write_bytes")));
    if (const auto faults = rate(tree_, "major_faults"); faults && *faults >= 1) {
      line.add_whole(fmt::format("{} major faults/s", figure(*faults)), Style::warn);
    }
    finish(line);
  }

  void machine() {
    Line line = labelled(narrow() ? "all" : "machine");
    line.add("CPU " + percent_text(value(machine_, "cpu_busy_ratio")));
    line.add_whole(bytes_text(value(machine_, "memory_available_bytes")) + " free");
    std::string waits;
    for (const auto& [word, metric] :
         {std::pair{"CPU", "pressure_cpu_some_ns"}, std::pair{"memory", "pressure_memory_some_ns"},
          std::pair{"I/O", "pressure_io_some_ns"}}) {
      const auto ns = rate(machine_, metric);
      if (!ns) continue;
      waits += fmt::format("{}{} {}", waits.empty() ? "" : ", ", word, percent_text(*ns / 1e9));
    }
    line.add_whole("waiting for " + (waits.empty() ? std::string(kUnknown) : waits));
    finish(line);
  }

  // One line at most: what was to be said, else why there is no GPU.
  void note() {
    std::string text = state_.note;
    if (text.empty() && state_.gpus_wanted && !first_of(now(), EntityKind::gpu)) {
      text = no_gpu_reason(state_.probes);
      if (!text.empty()) text = "GPU n/a: " + text;
    }
    if (!text.empty()) finish(Line(look_).add(text, Style::dim));
  }

  const LiveState& state_;
  const Look& look_;
  std::optional<std::uint32_t> tree_, machine_, cgroup_;
  std::vector<std::string> lines_;
};

}  // namespace

const Progress::Process* shown_process(const Progress& progress) {
  const Progress::Process* best = nullptr;
  int best_rank = 0;
  for (const Progress::Process& process : progress.processes) {
    const bool in_stage = process.alive && !process.stage.empty();
    const int rank = in_stage && process.steps_total ? 3
                     : in_stage                      ? 2
                     : !process.last_stage.empty()   ? 1
                                                     : 0;
    if (rank > best_rank) {
      best = &process;
      best_rank = rank;
    }
  }
  return best;
}

void extend_trails(Trails& trails, const Snapshot& snapshot) {
  constexpr std::size_t kMaxTrails = 256;  // entities come and go; a terminal shows few
  const auto extend = [&](std::uint32_t entity, const char* metric, bool rate) {
    const std::string key = snapshot.entities[entity].id + metric;
    if (trails.size() >= kMaxTrails && trails.find(key) == trails.end()) return;
    trails[key].push(rate ? rate_of(snapshot, entity, metric) : value_of(snapshot, entity, metric));
  };
  for (std::uint32_t i = 0; i < snapshot.entities.size(); ++i) {
    const EntityKind kind = snapshot.entities[i].kind;
    if (kind == EntityKind::process_tree) {
      extend(i, "cpu_ns", true);
      extend(i, "rss_bytes", false);
    } else if (kind == EntityKind::gpu || kind == EntityKind::gpu_instance) {
      extend(i, "busy_ratio", false);
    }
  }
}

std::vector<std::string> live_block(const LiveState& state, const Look& look,
                                    std::size_t max_lines) {
  std::vector<std::string> lines = Block(state, look).make();
  if (lines.size() > max_lines) lines.resize(max_lines);
  return lines;
}

}  // namespace genscope::watch
