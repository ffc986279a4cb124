#include "report/resources_text.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/format.h"
#include "report/printable.h"

namespace genscope::report {
namespace {

// More than a person reads; JSON has all.
constexpr std::size_t kMaxStageUses = 24;
constexpr std::size_t kMaxKernels = 12;
constexpr double kWorthASentence = 0.01;  // share of the readings with throttling

std::string size_of(double value) {
  return bytes(static_cast<std::uint64_t>(std::max(0.0, value)));
}
std::string cores(double value) { return fmt::format("{:.3g}", value); }

std::string show(const std::optional<double>& value, std::string (*format)(double)) {
  return value ? format(*value) : "-";
}

bool has_figures(const StageUse& use) {
  return use.cpu_cores.mean || use.rss_bytes.mean || use.gpu_busy_ratio.mean ||
         use.gpu_memory_bytes.mean || use.gpu_power_watts.mean || use.energy_joules;
}

void add_growth(const Resources& resources, std::vector<std::string>& sentences) {
  for (const MemoryGrowth& growth : resources.growth) {
    if (!growth.leak) continue;
    const Slope& slope = *growth.bytes_per_second;
    std::string text = fmt::format(
        "Memory of {} grows by {} a second ({} to {}), {} {}, to the end: a leak, or a cache that "
        "is not "
        "full yet",
        growth.what == "host" ? "the host" : printable(growth.what), size_of(slope.value),
        size_of(slope.low), size_of(slope.high), percent(growth.growth_ratio.value_or(0)),
        growth.stretch == "steady steps" ? "over the steady steps" : "after the first quarter");
    if (!growth.stage.empty()) text += "; most of it in " + printable(growth.stage);
    sentences.push_back(text + ".");
  }
}

void add_energy(const Resources& resources, std::vector<std::string>& sentences) {
  if (resources.energy.empty()) return;
  std::string text = "Energy:";
  double least = 1;
  for (const EnergyPerUnit& row : resources.energy) {
    text += fmt::format("{} {} per {} ({})", text.back() == ':' ? "" : ",", energy(row.joules_each),
                        row.unit, count(row.count));
    least = std::min(least, row.covered);
  }
  constexpr double kWhole = 0.99;
  if (least < kWhole)
    text += fmt::format("; readings cover {} of the time or more", percent(least));
  sentences.push_back(text + ".");
}

void add_throttling(const Resources& resources, std::vector<std::string>& sentences) {
  for (const ThrottleShare& row : resources.throttling) {
    if (row.share < kWorthASentence) continue;
    sentences.push_back(fmt::format("{}: held down ({}) in {} of {}.", printable(row.gpu),
                                    row.cause, percent(row.share),
                                    counted(row.samples, "reading", "readings")));
  }
}

void add_utilisation(const Resources& resources, std::vector<std::string>& sentences) {
  const Utilisation& u = resources.utilisation;
  if (!u.mfu) {
    // Who has no model or no GPU to judge does not ask for it.
    if (!u.model.empty() && !u.hardware.empty()) {
      sentences.push_back("Utilisation: " + printable(u.reason) + ".");
    }
    return;
  }
  std::string text = fmt::format("Utilisation: {} of the peak ({}), {:.3g} TFLOP/s",
                                 percent(*u.mfu), u.band, u.tflops.value_or(0));
  text += fmt::format("; {} on {} takes {} a step at least, bound by {}", printable(u.model),
                      printable(u.hardware), duration(u.predicted_step_ns.value_or(0)), u.bound);
  if (!u.note.empty()) text += "; " + printable(u.note);
  sentences.push_back(text + ".");
}

Section stage_use(const Resources& resources) {
  using Cell = std::string (*)(const StageUse&);
  struct Column {
    Table::Column head;
    Cell cell;
  };
  const Column all[] = {
      {{"CPU cores", false, 0}, [](const StageUse& u) { return show(u.cpu_cores.mean, cores); }},
      {{"memory max", false, 0}, [](const StageUse& u) { return show(u.rss_bytes.max, size_of); }},
      {{"GPU busy", false, 0},
       [](const StageUse& u) { return show(u.gpu_busy_ratio.mean, percent); }},
      {{"GPU memory max", false, 0},
       [](const StageUse& u) { return show(u.gpu_memory_bytes.max, size_of); }},
      {{"power", false, 1}, [](const StageUse& u) { return show(u.gpu_power_watts.mean, watts); }},
      {{"energy", false, 0}, [](const StageUse& u) { return show(u.energy_joules, energy); }},
      {{"covered", false, 2},
       [](const StageUse& u) {
         return u.energy_joules ? percent(u.energy_covered) : std::string("-");
       }},
  };
  Section out("Use by stage");
  std::vector<const StageUse*> rows;
  for (const StageUse& use : resources.stages) {
    if (!has_figures(use)) continue;
    if (rows.size() < kMaxStageUses)
      rows.push_back(&use);
    else
      ++out.left_out;
  }
  std::vector<Table::Column> heads = {{"stage", true, 0}};
  std::vector<Cell> cells;
  for (const Column& column : all) {  // what nobody measured is no column
    const bool any = std::any_of(rows.begin(), rows.end(),
                                 [&](const StageUse* use) { return column.cell(*use) != "-"; });
    if (!any) continue;
    heads.push_back(column.head);
    cells.push_back(column.cell);
  }
  out.table = Table(std::move(heads));
  for (const StageUse* use : rows) {
    std::vector<std::string> row = {printable(use->name)};
    for (const Cell cell : cells) row.push_back(cell(*use));
    out.table.add(std::move(row));
  }
  return out;
}

Section device_time(const Resources& resources) {
  Section out("GPU time");
  out.table = Table({{"GPU", true, 0},
                     {"from first to last", false, 3},
                     {"busy", false, 0},
                     {"compute", false, 4},
                     {"comm", false, 2},
                     {"copies", false, 2},
                     {"exposed", false, 1},
                     {"host wait", false, 0},
                     {"kernel wait", false, 0},
                     {"other idle", false, 0},
                     {"kernels", false, 5}});
  for (const DeviceTimeline& device : resources.devices) {
    const auto all = static_cast<double>(device.end_ns) - static_cast<double>(device.begin_ns);
    const auto share = [&](std::int64_t ns) {
      return all > 0 ? percent(static_cast<double>(ns) / all) : "-";
    };
    out.table.add({printable(device.device), duration(all), share(device.busy_ns),
                   share(device.compute_ns), share(device.communication_ns), share(device.copy_ns),
                   share(device.exposed_ns), share(device.idle_host_wait_ns),
                   share(device.idle_kernel_wait_ns), share(device.idle_other_ns),
                   count(device.kernels)});
  }
  return out;
}

Section kernels(const Resources& resources) {
  Section out("Kernels");
  out.table =
      Table({{"kernel", true, 0}, {"stage", true, 0}, {"count", false, 0}, {"total", false, 0}});
  const std::size_t shown = std::min(resources.kernels.size(), kMaxKernels);
  out.left_out = resources.kernels.size() - shown;
  for (std::size_t i = 0; i < shown; ++i) {
    const KernelRow& row = resources.kernels[i];
    out.table.add({printable(row.name), row.stage.empty() ? "-" : printable(row.stage),
                   count(row.count), duration(row.total_ns, true)});
  }
  return out;
}

}  // namespace

std::vector<Section> resource_sections(const Resources& resources) {
  Section told("Resources");
  add_utilisation(resources, told.sentences);
  add_energy(resources, told.sentences);
  add_growth(resources, told.sentences);
  add_throttling(resources, told.sentences);
  std::vector<Section> all = {stage_use(resources), std::move(told), device_time(resources),
                              kernels(resources)};
  std::erase_if(all, [](const Section& section) { return section.empty(); });
  return all;
}

}  // namespace genscope::report
