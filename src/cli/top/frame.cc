#include "cli/top/frame.h"

#include <algorithm>
#include <tuple>

#include "watch/figures.h"

namespace genscope::cli::top {
namespace {

using watch::known;

// Values of a process from a second list: memory adds up over GPUs, of busy ratios the highest
// stays, and what is known replaces what is not.
void merge(ProcessRow& into, const ProcessRow& from) {
  const auto take = [](Reading& to, const Reading& other, auto combine) {
    if (!known(other)) {
      if (!known(to) && other.status != SampleStatus::pending) to = other;
      return;
    }
    const double before = to.value;
    const bool both = known(to).has_value();
    to = other;
    if (both) to.value = combine(before, other.value);
  };
  const auto keep_first = [](double first, double) { return first; };
  take(into.cpu_ns, from.cpu_ns, keep_first);
  take(into.rss_bytes, from.rss_bytes, keep_first);
  take(into.gpu_memory_bytes, from.gpu_memory_bytes, [](double a, double b) { return a + b; });
  take(into.gpu_busy_ratio, from.gpu_busy_ratio, [](double a, double b) { return std::max(a, b); });
  if (into.name[0] == '\0') std::copy(std::begin(from.name), std::end(from.name), into.name);
  into.visible |= from.visible;
}

void give_reason(Reading& reading, const char* reason) {
  if (reading.status == SampleStatus::pending && reading.reason == nullptr) {
    reading.status = SampleStatus::absent;
    reading.reason = reason;
  }
}

std::vector<ProcessLine> merged_processes(const Snapshot& snapshot,
                                          const std::vector<ProcessRow>& machine) {
  std::map<std::uint32_t, ProcessLine> by_pid;
  for (const Snapshot::Processes& list : snapshot.processes) {
    const bool tree = list.entity < snapshot.entities.size() &&
                      snapshot.entities[list.entity].kind == EntityKind::process_tree;
    for (const ProcessRow& row : list.rows) {
      const auto [place, is_new] = by_pid.try_emplace(row.pid);
      ProcessLine& line = place->second;
      if (is_new) {
        line.row = row;
      } else {
        merge(line.row, row);
        if (tree) line.row.parent = row.parent;
        if (row.start != 0) line.row.start = row.start;
      }
      line.in_tree |= tree;
      line.on_gpu |= !tree;
    }
  }
  for (const ProcessRow& row : machine) {
    const auto [place, is_new] = by_pid.try_emplace(row.pid);
    ProcessRow& known_row = place->second.row;
    if (is_new) {
      known_row = row;
    } else if (!known(known_row.cpu_ns)) {  // a GPU's list knows its memory there, no more
      merge(known_row, row);
      known_row.start = row.start;
    }
  }
  std::vector<ProcessLine> lines;
  for (auto& [pid, line] : by_pid) {
    give_reason(line.row.gpu_memory_bytes, "on no GPU that lists it");
    give_reason(line.row.gpu_busy_ratio, "on no GPU that lists it");
    if (!line.in_tree) {
      give_reason(line.row.cpu_ns, "not in the watched tree");
      give_reason(line.row.rss_bytes, "not in the watched tree");
    }
    lines.push_back(line);
  }
  return lines;
}

void extend(watch::Trails& trails, const Snapshot& snapshot) {
  constexpr std::size_t kMaxTrails = 256;  // entities come and go; a terminal shows few
  for (std::uint32_t i = 0; i < snapshot.entities.size(); ++i) {
    const Entity& entity = snapshot.entities[i];
    const bool gpu = entity.kind == EntityKind::gpu || entity.kind == EntityKind::gpu_instance;
    if (!gpu && entity.kind != EntityKind::machine) continue;
    const std::string metric = gpu ? "busy_ratio" : "cpu_busy_ratio";
    const std::string key = entity.id + metric;
    if (trails.size() >= kMaxTrails && !trails.contains(key)) continue;
    trails[key].push(watch::value_of(snapshot, i, metric));
  }
}

}  // namespace

void sort_processes(std::vector<ProcessLine>& lines, ProcessOrder order) {
  const auto figures = [order](const ProcessLine& line) {
    const double cpu = known(line.cpu_cores).value_or(-1);
    const double memory = known(line.row.rss_bytes).value_or(-1);
    const double gpu = known(line.row.gpu_memory_bytes).value_or(-1);
    return order == ProcessOrder::cpu      ? std::tuple(cpu, memory, gpu)
           : order == ProcessOrder::memory ? std::tuple(memory, cpu, gpu)
                                           : std::tuple(gpu, cpu, memory);
  };
  std::stable_sort(lines.begin(), lines.end(),
                   [&](const auto& a, const auto& b) { return figures(a) > figures(b); });
}

std::string why(const Reading& reading) {
  if (reading.reason != nullptr && *reading.reason != '\0') return reading.reason;
  if (reading.status == SampleStatus::ok) return "not a number";
  std::string words(name(reading.status));
  std::replace(words.begin(), words.end(), '_', ' ');
  return words;
}

Reading Tracker::cpu_cores(const ProcessRow& row, std::map<Key, CpuTime>& now) const {
  const std::optional<double> ns = known(row.cpu_ns);
  if (!ns) return row.cpu_ns;
  const Key key{row.pid, row.start};
  now[key] = {*ns, row.cpu_ns.at_ns};
  const auto before = last_.find(key);
  Reading cores;  // pending
  cores.at_ns = row.cpu_ns.at_ns;
  if (before == last_.end()) return cores;
  const auto elapsed = static_cast<double>(row.cpu_ns.at_ns - before->second.at_ns);
  if (elapsed <= 0 || *ns < before->second.ns) return cores;
  cores.value = (*ns - before->second.ns) / elapsed;
  cores.status = SampleStatus::ok;
  return cores;
}

void Tracker::complete(Frame& frame) {
  std::map<Key, CpuTime> now;
  frame.processes = merged_processes(frame.snapshot, frame.machine);
  for (ProcessLine& line : frame.processes) line.cpu_cores = cpu_cores(line.row, now);
  last_ = std::move(now);
  sort_processes(frame.processes, ProcessOrder::cpu);
  std::size_t others = 0;
  std::erase_if(frame.processes, [&](const ProcessLine& line) {
    return !line.in_tree && !line.on_gpu && ++others > Frame::kBusiest;
  });
  extend(trails_, frame.snapshot);
  frame.trails = trails_;
}

}  // namespace genscope::cli::top
