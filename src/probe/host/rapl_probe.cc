// Probe "rapl": energy of CPU packages, by the powercap files of Intel and AMD.
//
// Zones nest: psys holds packages, a package holds core and uncore, and dram is beside them though
// listed below. So the sum of a package is its own zone and its dram; psys and the copies that
// intel-rapl-mmio shows would count twice.
#include <algorithm>
#include <cerrno>
#include <charconv>

#include "probe/builtin.h"
#include "probe/host/folder.h"
#include "probe/host/read_status.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

constexpr double kJoules = 1e-6;       // a microjoule
constexpr double kMostWatts = 10'000;  // of one package; more means that the counter was reset
constexpr std::size_t kMaxZones = 256;

struct Zone {
  base::KeptFile energy;
  double range_uj = 0;  // it wraps here; 0: unknown
  double last_uj = 0;
  double now_uj = 0;
};

struct Package {
  std::uint32_t entity = 0;
  std::uint32_t series = kNoSeries;
  std::vector<Zone> zones;  // the package, and dram where it has one
  double joules = 0;
  std::int64_t read_ns = 0;  // when all zones were last read
  bool has_last = false;
  std::uint64_t dropped = 0;  // intervals that could not be told
};

// What a counter gained; false if that cannot be known.
bool gained(const Zone& zone, double seconds, double& uj) noexcept {
  uj = zone.now_uj - zone.last_uj;
  if (uj >= 0) return true;
  if (zone.range_uj <= 0 || zone.last_uj > zone.range_uj) return false;
  uj += zone.range_uj;
  return uj * kJoules <= kMostWatts * std::max(seconds, 1.0);
}

class RaplProbe final : public Probe {
 public:
  RaplProbe(const ProbeOptions& options, base::Files& files)
      : folder_(options.sys_root + "/class/powercap"), files_(files) {}

  std::string_view name() const noexcept override { return "rapl"; }
  ProbeState open(Board& board) override;
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override;

 private:
  std::string text_of(const std::string& path);
  Zone zone_at(const std::string& path);
  std::vector<std::string> zones_in(const std::string& folder, const std::string& prefix);
  void add_dram(Package& package, const std::string& zone_name);
  int first_error();
  void sample(Package& package, std::int64_t now_ns, Board& board) noexcept;
  void tell_dropped(Package& package, Board& board) noexcept;

  std::string folder_;
  base::Files& files_;
  std::vector<Package> packages_;
};

std::string RaplProbe::text_of(const std::string& path) {
  char buffer[128];
  std::string_view text;
  base::KeptFile file(path, files_);
  return file.read(buffer, text) == 0 ? std::string(text) : "";
}

Zone RaplProbe::zone_at(const std::string& path) {
  Zone zone{base::KeptFile(path + "/energy_uj", files_)};
  base::KeptFile range(path + "/max_energy_range_uj", files_);
  if (range.read_number(zone.range_uj) != 0 || zone.range_uj < 0) zone.range_uj = 0;
  return zone;
}

// Names in `folder` that are `prefix` and a number, in order.
std::vector<std::string> RaplProbe::zones_in(const std::string& folder, const std::string& prefix) {
  std::vector<std::string> names;
  for_each_name(files_, folder.c_str(), [&](std::string_view name) {
    std::uint64_t number = 0;
    if (name.starts_with(prefix) && base::parse_number(name.substr(prefix.size()), number)) {
      names.emplace_back(name);
    }
    return names.size() < kMaxZones;
  });
  std::sort(names.begin(), names.end());
  return names;
}

// A zone's own zones are folders of it, and beside it in the class's folder as well.
void RaplProbe::add_dram(Package& package, const std::string& zone_name) {
  const std::string inner = folder_ + "/" + zone_name;
  for (const std::string& folder : {inner, folder_}) {
    for (const std::string& name : zones_in(folder, zone_name + ":")) {
      if (text_of(folder + "/" + name + "/name") != "dram") continue;
      package.zones.push_back(zone_at(folder + "/" + name));
      return;
    }
  }
}

int RaplProbe::first_error() {
  for (Package& package : packages_) {
    for (Zone& zone : package.zones) {
      double value = 0;
      if (const int error = zone.energy.read_number(value); error != 0) return error;
    }
  }
  return 0;
}

ProbeState RaplProbe::open(Board& board) {
  packages_.clear();
  for (const std::string& zone_name : zones_in(folder_, "intel-rapl:")) {
    const std::string name = text_of(folder_ + "/" + zone_name + "/name");
    if (!name.starts_with("package-")) continue;
    Package package;
    package.zones.push_back(zone_at(folder_ + "/" + zone_name));
    add_dram(package, zone_name);
    const std::string domains = package.zones.size() > 1 ? "package + dram" : "package";
    package.entity = board.add_entity({EntityKind::cpu_package,
                                       name,
                                       "CPU " + name,
                                       {{"zone", zone_name}, {"domains", domains}}});
    package.series = board.add_series(package.entity, trace::metric("energy_joules"), Tier::fast,
                                      "powercap " + zone_name + " energy_uj, " + domains);
    packages_.push_back(std::move(package));
  }
  if (packages_.empty()) {
    return {ProbeState::Kind::absent,
            "no CPU package in " + folder_ + ": a virtual machine, or a CPU without RAPL",
            "on a machine of your own: modprobe intel_rapl_msr"};
  }
  const int error = first_error();
  if (error == EACCES || error == EPERM) {
    for (const Package& package : packages_) set_failure(board, package.series, error);
    return {ProbeState::Kind::denied, "energy_uj is for root only (CVE-2020-8694)",
            "run as root, or with CAP_DAC_READ_SEARCH, or: sudo chmod a+r " + folder_ +
                "/intel-rapl:*/energy_uj " + folder_ + "/intel-rapl:*:*/energy_uj"};
  }
  if (error != 0) {
    return {ProbeState::Kind::works,
            std::string("an energy counter failed: ") + failure_of(error).reason, ""};
  }
  return {};
}

void RaplProbe::tell_dropped(Package& package, Board& board) noexcept {
  ++package.dropped;
  char text[64] = "intervals so far: ";
  const std::size_t head = std::string_view(text).size();
  const char* const end = std::to_chars(text + head, text + sizeof text, package.dropped).ptr;
  board.event(package.entity, "energy_interval_dropped",
              std::string_view(text, static_cast<std::size_t>(end - text)));
}

void RaplProbe::sample(Package& package, std::int64_t now_ns, Board& board) noexcept {
  const double seconds = static_cast<double>(now_ns - package.read_ns) * 1e-9;
  // All or nothing: what one zone gained while another fails is counted the next time.
  for (Zone& zone : package.zones) {
    if (const int error = zone.energy.read_number(zone.now_uj); error != 0) {
      return set_failure(board, package.series, error);
    }
  }
  double sum_uj = 0;
  bool known = true;
  for (Zone& zone : package.zones) {
    double uj = zone.now_uj;
    if (package.has_last && !gained(zone, seconds, uj)) known = false;
    zone.last_uj = zone.now_uj;
    sum_uj += uj;
  }
  if (known) {
    package.joules += sum_uj * kJoules;
  } else {
    tell_dropped(package, board);
  }
  package.has_last = true;
  package.read_ns = now_ns;
  board.set(package.series, package.joules);
}

void RaplProbe::sample(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  if (tier != Tier::fast) return;
  for (Package& package : packages_) sample(package, now_ns, board);
}

}  // namespace

std::unique_ptr<Probe> make_rapl_probe(const ProbeOptions& options, base::Files& files) {
  return std::make_unique<RaplProbe>(options, files);
}

}  // namespace genscope::probe
