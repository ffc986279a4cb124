// Probe "system": the machine, as /proc sees it. Not namespaced: in a container this is the host,
// but for the network.
#include <algorithm>
#include <cerrno>

#include "probe/builtin.h"
#include "probe/host/device_sums.h"
#include "probe/host/pressure_series.h"
#include "probe/host/process_text.h"
#include "probe/host/read_status.h"
#include "probe/host/system_text.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

constexpr std::size_t kMaxDisks = 512;
constexpr std::size_t kMaxInterfaces = 2048;
constexpr std::size_t kStatBytes = 256 << 10;

class SystemProbe final : public Probe {
 public:
  SystemProbe(const ProbeOptions& options, base::Files& files);

  std::string_view name() const noexcept override { return "system"; }
  ProbeState open(Board& board) override;
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override;

 private:
  std::string first_line(const std::string& path);
  std::string cpu_model();
  void add_series(Board& board);
  void sample_cpu(Board& board) noexcept;
  void sample_load(Board& board) noexcept;
  void sample_memory(Board& board) noexcept;
  void sample_disks(Board& board) noexcept;
  void sample_network(Board& board) noexcept;
  void sample_cpu_count(Board& board) noexcept;
  bool is_whole_disk(std::string_view name) noexcept;

  std::string proc_, sys_;
  base::Files& files_;
  base::KeptFile stat_, loadavg_, meminfo_, diskstats_, net_dev_, online_;
  PressureSeries pressure_;
  std::vector<char> buffer_;
  std::string path_;  // of a disk in sysfs
  DeviceSums disks_{kMaxDisks};
  DeviceSums interfaces_{kMaxInterfaces};
  CpuTicks last_;
  bool has_last_ = false;
  std::uint32_t entity_ = 0;
  std::uint32_t busy_ = kNoSeries, user_ = kNoSeries, system_ = kNoSeries, iowait_ = kNoSeries,
                steal_ = kNoSeries, load_ = kNoSeries, cpus_ = kNoSeries;
  std::uint32_t total_ = kNoSeries, used_ = kNoSeries, available_ = kNoSeries, free_ = kNoSeries,
                swap_total_ = kNoSeries, swap_used_ = kNoSeries;
  std::uint32_t disk_read_ = kNoSeries, disk_write_ = kNoSeries, net_receive_ = kNoSeries,
                net_send_ = kNoSeries;
};

SystemProbe::SystemProbe(const ProbeOptions& options, base::Files& files)
    : proc_(options.proc_root),
      sys_(options.sys_root),
      files_(files),
      stat_(proc_ + "/stat", files),
      loadavg_(proc_ + "/loadavg", files),
      meminfo_(proc_ + "/meminfo", files),
      diskstats_(proc_ + "/diskstats", files),
      net_dev_(proc_ + "/net/dev", files),
      online_(sys_ + "/devices/system/cpu/online", files),
      pressure_(proc_ + "/pressure/", "", files) {}

std::string SystemProbe::first_line(const std::string& path) {
  std::string_view text;
  base::KeptFile file(path, files_);
  if (file.read(buffer_, text) != 0) return "";
  return std::string(base::next_part(text, '\n'));
}

std::string SystemProbe::cpu_model() {
  std::string_view text;
  base::KeptFile file(proc_ + "/cpuinfo", files_);
  if (file.read(buffer_, text) != 0) return "";
  for (const std::string_view key : {"model name", "Model", "cpu model", "cpu"}) {
    if (const std::string_view model = find_text(text, key); !model.empty()) {
      return std::string(model);
    }
  }
  return "";
}

ProbeState SystemProbe::open(Board& board) {
  buffer_.resize(kStatBytes);
  path_.reserve(sys_.size() + 64);
  std::string_view text;
  const int error = stat_.read(buffer_, text);
  if (error != 0 && meminfo_.read(buffer_, text) != 0) {
    const bool denied = error == EACCES || error == EPERM;
    return {denied ? ProbeState::Kind::denied : ProbeState::Kind::absent,
            "neither stat nor meminfo can be read in " + proc_, "mount proc there"};
  }
  Entity machine{EntityKind::machine, "machine", first_line(proc_ + "/sys/kernel/hostname"), {}};
  const auto fact = [&](const char* key, std::string value) {
    if (!value.empty()) machine.facts.emplace_back(key, std::move(value));
  };
  fact("host", machine.name);
  fact("kernel", first_line(proc_ + "/sys/kernel/osrelease"));
  fact("cpu", cpu_model());
  const std::uint32_t cpus = count_cpus(first_line(online_.path()));
  if (cpus > 0) fact("cpus", std::to_string(cpus));
  if (machine.name.empty()) machine.name = "machine";
  entity_ = board.add_entity(machine);
  add_series(board);
  return {};
}

void SystemProbe::add_series(Board& board) {
  const auto add = [&](std::string_view source, const Metric& metric, Tier tier = Tier::normal) {
    return board.add_series(entity_, metric, tier, source);
  };
  using trace::metric;
  cpus_ = add(online_.path(), metric("cpu_count"), Tier::slow);
  busy_ = add(stat_.path(), metric("cpu_busy_ratio"));
  user_ = add(stat_.path(), metric("cpu_user_ratio"));
  system_ = add(stat_.path(), metric("cpu_system_ratio"));
  iowait_ = add(stat_.path(), metric("cpu_iowait_ratio"));
  steal_ = add(stat_.path(), metric("cpu_steal_ratio"));
  load_ = add(loadavg_.path(), metric("load_1m"));
  total_ = add(meminfo_.path(), metric("memory_total_bytes"));
  used_ = add(meminfo_.path(), metric("memory_used_bytes"));
  available_ = add(meminfo_.path(), metric("memory_available_bytes"));
  free_ = add(meminfo_.path(), metric("memory_free_bytes"));
  swap_total_ = add(meminfo_.path(), metric("swap_total_bytes"));
  swap_used_ = add(meminfo_.path(), metric("swap_used_bytes"));
  disk_read_ = add(diskstats_.path(), metric("disk_read_bytes"));
  disk_write_ = add(diskstats_.path(), metric("disk_write_bytes"));
  net_receive_ = add(net_dev_.path(), metric("net_receive_bytes"));
  net_send_ = add(net_dev_.path(), metric("net_send_bytes"));
  pressure_.add(board, entity_);
}

void SystemProbe::sample(Tier tier, std::int64_t /*now_ns*/, Board& board) noexcept {
  if (tier == Tier::slow) return sample_cpu_count(board);
  if (tier != Tier::normal) return;
  sample_cpu(board);
  sample_load(board);
  sample_memory(board);
  sample_disks(board);
  sample_network(board);
  pressure_.sample(board);
}

void SystemProbe::sample_cpu(Board& board) noexcept {
  std::string_view text;
  CpuTicks now;
  CpuShares shares;
  // Only the first line is of use; the kernel makes the whole file in any case.
  int error = stat_.read(std::span(buffer_).first(512), text);
  if (error == 0 && !parse_cpu_line(text, now)) error = EINVAL;
  if (error != 0) {
    has_last_ = false;
    for (const std::uint32_t series : {busy_, user_, system_, iowait_, steal_}) {
      set_failure(board, series, error);
    }
    return;
  }
  if (!has_last_) {
    for (const std::uint32_t series : {busy_, user_, system_, iowait_, steal_}) {
      board.set(series, SampleStatus::pending, "a share needs two readings");
    }
    has_last_ = true;
    last_ = now;
    return;
  }
  if (!cpu_shares(last_, now, shares)) return;  // the last shares are as good as any
  last_ = now;
  board.set(busy_, shares.busy);
  board.set(user_, shares.user);
  board.set(system_, shares.system);
  board.set(iowait_, shares.iowait);
  board.set(steal_, shares.steal);
}

void SystemProbe::sample_load(Board& board) noexcept {
  double load = 0;
  const int error = loadavg_.read_number(load);
  set_read(board, load_, error, load);
}

void SystemProbe::sample_memory(Board& board) noexcept {
  std::string_view text;
  const int error = meminfo_.read(buffer_, text);
  const auto bytes = [&](std::string_view key, double& value) {
    std::uint64_t kib = 0;
    if (!find_number(text, key, kib)) return error != 0 ? error : EOPNOTSUPP;
    value = static_cast<double>(kib) * 1024;
    return 0;
  };
  double total = 0, available = 0, free = 0, swap_total = 0, swap_free = 0;
  const int total_error = bytes("MemTotal:", total);
  const int available_error = bytes("MemAvailable:", available);
  const int swap_total_error = bytes("SwapTotal:", swap_total);
  const int swap_free_error = bytes("SwapFree:", swap_free);
  const int free_error = bytes("MemFree:", free);
  set_read(board, total_, total_error, total);
  set_read(board, available_, available_error, available);
  set_read(board, used_, total_error != 0 ? total_error : available_error, total - available);
  set_read(board, free_, free_error, free);
  set_read(board, swap_total_, swap_total_error, swap_total);
  set_read(board, swap_used_, swap_total_error != 0 ? swap_total_error : swap_free_error,
           swap_total - swap_free);
}

// Asked once for each name.
bool SystemProbe::is_whole_disk(std::string_view name) noexcept {
  if (is_stacked_disk(name)) return false;
  path_ = sys_;
  path_ += "/block/";
  const std::size_t folder = path_.size();
  path_ += name;
  std::replace(path_.begin() + static_cast<std::ptrdiff_t>(folder), path_.end(), '/', '!');
  if (base::UniqueFd(files_.open(path_.c_str())).valid()) return true;
  path_.resize(folder);
  const bool sysfs = base::UniqueFd(files_.open(path_.c_str())).valid();
  return !sysfs && !is_partition_name(name);
}

void SystemProbe::sample_disks(Board& board) noexcept {
  std::string_view text;
  const int error = diskstats_.read(buffer_, text);
  while (!text.empty()) {
    DeviceLine line;
    if (!parse_disk_line(base::next_part(text, '\n'), line)) continue;
    bool added = false;
    DeviceSums::Device* const disk = disks_.find(line.name, added);
    if (disk == nullptr) continue;
    if (added) disk->counted = is_whole_disk(line.name);
    if (disk->counted) disks_.update(*disk, line.in_bytes, line.out_bytes);
  }
  set_read(board, disk_read_, error, disks_.in_bytes());
  set_read(board, disk_write_, error, disks_.out_bytes());
}

void SystemProbe::sample_network(Board& board) noexcept {
  std::string_view text;
  const int error = net_dev_.read(buffer_, text);
  while (!text.empty()) {
    DeviceLine line;
    if (!parse_net_line(base::next_part(text, '\n'), line) || line.name == "lo") continue;
    bool added = false;
    DeviceSums::Device* const interface = interfaces_.find(line.name, added);
    if (interface != nullptr) interfaces_.update(*interface, line.in_bytes, line.out_bytes);
  }
  set_read(board, net_receive_, error, interfaces_.in_bytes());
  set_read(board, net_send_, error, interfaces_.out_bytes());
}

void SystemProbe::sample_cpu_count(Board& board) noexcept {
  std::string_view text;
  int error = online_.read(buffer_, text);
  const std::uint32_t cpus = count_cpus(text);
  if (error == 0 && cpus == 0) error = EINVAL;
  set_read(board, cpus_, error, cpus);
}

}  // namespace

std::unique_ptr<Probe> make_system_probe(const ProbeOptions& options, base::Files& files) {
  return std::make_unique<SystemProbe>(options, files);
}

}  // namespace genscope::probe
