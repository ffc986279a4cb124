// Probe "cgroup": the cgroup of the watched process, v1, v2 or hybrid.
#include <unistd.h>

#include <cerrno>
#include <optional>
#include <tuple>

#include "probe/builtin.h"
#include "probe/host/cgroup_limits.h"
#include "probe/host/cgroup_text.h"
#include "probe/host/pressure_series.h"
#include "probe/host/process_text.h"
#include "probe/host/read_status.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

constexpr std::size_t kMaxMountinfo = 1 << 22;
constexpr std::size_t kCgroupBytes = 1 << 14;

// A file that comes in many pieces, each as long as the kernel likes.
int read_whole(base::Files& files, const std::string& path, std::string& text) {
  const base::UniqueFd fd(files.open(path.c_str()));
  if (!fd.valid()) return -fd.get();
  char buffer[4096];
  for (;;) {
    const ssize_t n = ::read(fd.get(), buffer, sizeof buffer);
    if (n < 0 && errno == EINTR) continue;
    if (n < 0) return errno;
    if (n == 0 || text.size() > kMaxMountinfo) return 0;
    text.append(buffer, static_cast<std::size_t>(n));
  }
}

// A file of which one number is read: the first, or the one behind a key.
struct NumberFile {
  base::KeptFile file;
  std::string_view key;  // "usage_usec "; empty: the first number
  double scale = 1;
  std::uint32_t series = kNoSeries;
};

class CgroupProbe final : public Probe {
 public:
  CgroupProbe(const ProbeOptions& options, base::Files& files);

  std::string_view name() const noexcept override { return "cgroup"; }
  ProbeState open(Board& board) override;
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override;
  bool wants_rescan() const noexcept override { return moved_; }

 private:
  void add_series(Board& board, const CgroupPlaces& places);
  void add(Board& board, NumberFile& number, const Metric& metric, Tier tier,
           const std::optional<CgroupPlace>& place, const char* v2_file, const char* v1_file);
  int read(NumberFile& number, double& value) noexcept;
  void sample_number(Board& board, NumberFile& number) noexcept;
  void sample_working_set(Board& board) noexcept;
  void check_path() noexcept;

  std::string sys_root_;
  base::Files& files_;
  base::KeptFile cgroup_;
  std::string mountinfo_;
  std::vector<char> buffer_;
  std::string known_;  // the cgroup file, as open() saw it
  bool opened_ = false;
  bool moved_ = false;
  std::uint32_t entity_ = 0;
  NumberFile used_, peak_, oom_kills_, cpu_, throttled_, inactive_;
  CgroupLimits limits_;
  PressureSeries pressure_;
  bool has_pressure_ = false;
  std::uint32_t memory_limit_ = kNoSeries, cpu_limit_ = kNoSeries;
};

CgroupProbe::CgroupProbe(const ProbeOptions& options, base::Files& files)
    : sys_root_(options.sys_root), files_(files) {
  const auto pid = options.pid != 0 ? options.pid : ::getpid();
  const std::string folder = options.proc_root + "/" + std::to_string(pid);
  cgroup_ = base::KeptFile(folder + "/cgroup", files);
  mountinfo_ = folder + "/mountinfo";
}

ProbeState CgroupProbe::open(Board& board) {
  buffer_.resize(kCgroupBytes);
  std::string_view text;
  if (const int error = cgroup_.read(buffer_, text); error != 0) {
    const bool denied = error == EACCES || error == EPERM;
    return {denied ? ProbeState::Kind::denied : ProbeState::Kind::absent,
            cgroup_.path() + " cannot be read: " + failure_of(error).reason, ""};
  }
  known_ = text;
  std::string mountinfo;
  if (const int error = read_whole(files_, mountinfo_, mountinfo); error != 0) {
    return {ProbeState::Kind::absent, mountinfo_ + " cannot be read: " + failure_of(error).reason,
            ""};
  }
  const CgroupPlaces places = find_cgroups(known_, mountinfo, sys_root_);
  if (places.version.empty()) {
    return {ProbeState::Kind::absent,
            "no cgroup file system is mounted where the process can see it",
            "mount one at /sys/fs/cgroup, or start the container with it"};
  }
  if (opened_ && moved_) {
    board.set_all(entity_, SampleStatus::lost, "the process moved to another cgroup");
    board.event(entity_, "cgroup_left", "the process moved to another cgroup");
  }
  const auto& place = places.memory ? places.memory : places.cpu ? places.cpu : places.cpuset;
  const std::string path = place ? place->path : "/";
  entity_ = board.add_entity(
      {EntityKind::cgroup,
       "cgroup:" + path,
       path,
       {{"version", places.version}, {"path", path}, {"folder", place ? place->folder : ""}}});
  add_series(board, places);
  opened_ = true;
  moved_ = false;
  return {};
}

void CgroupProbe::add(Board& board, NumberFile& number, const Metric& metric, Tier tier,
                      const std::optional<CgroupPlace>& place, const char* v2_file,
                      const char* v1_file) {
  const std::string path = place ? place->folder + (place->v2 ? v2_file : v1_file) : "";
  number.file = base::KeptFile(path, files_);
  number.series = board.add_series(entity_, metric, tier, path);
}

void CgroupProbe::add_series(Board& board, const CgroupPlaces& places) {
  using trace::metric;
  const auto& [memory, cpu, cpuacct] = std::tie(places.memory, places.cpu, places.cpuacct);
  add(board, used_, metric("memory_used_bytes"), Tier::fast, memory, "/memory.current",
      "/memory.usage_in_bytes");
  add(board, peak_, metric("memory_peak_bytes"), Tier::normal, memory, "/memory.peak",
      "/memory.max_usage_in_bytes");
  oom_kills_.key = "oom_kill ";
  add(board, oom_kills_, metric("memory_oom_kills"), Tier::normal, memory, "/memory.events",
      "/memory.oom_control");
  const bool cpuacct_v2 = cpuacct && cpuacct->v2;
  cpu_.key = cpuacct_v2 ? "usage_usec " : "";
  cpu_.scale = cpuacct_v2 ? 1000 : 1;
  add(board, cpu_, metric("cpu_ns"), Tier::normal, cpuacct, "/cpu.stat", "/cpuacct.usage");
  const bool cpu_v2 = cpu && cpu->v2;
  throttled_.key = cpu_v2 ? "throttled_usec " : "throttled_time ";
  throttled_.scale = cpu_v2 ? 1000 : 1;
  add(board, throttled_, metric("cpu_throttled_ns"), Tier::normal, cpu, "/cpu.stat", "/cpu.stat");
  inactive_.key = memory && memory->v2 ? "inactive_file " : "total_inactive_file ";
  add(board, inactive_, metric("memory_working_set_bytes"), Tier::slow, memory, "/memory.stat",
      "/memory.stat");
  limits_ = CgroupLimits(places, sys_root_ + "/devices/system/cpu/online", files_);
  memory_limit_ = board.add_series(entity_, metric("memory_limit_bytes"), Tier::slow,
                                   "the limits of the cgroup and its ancestors");
  cpu_limit_ = board.add_series(entity_, metric("cpu_limit_cores"), Tier::slow,
                                "quota and cpuset of the cgroup and its ancestors");
  // In a hybrid the process usually sits at the top of the v2 side: that would be the machine's.
  has_pressure_ = places.version == "v2";
  pressure_ =
      PressureSeries(has_pressure_ ? places.unified->folder + "/" : "", ".pressure", files_);
  pressure_.add(board, entity_);
}

int CgroupProbe::read(NumberFile& number, double& value) noexcept {
  if (number.key.empty()) return number.file.read_number(value);
  std::string_view text;
  std::uint64_t raw = 0;
  if (const int error = number.file.read(buffer_, text); error != 0) {
    return error;
  }
  if (!find_number(text, number.key, raw)) return EOPNOTSUPP;
  value = static_cast<double>(raw) * number.scale;
  return 0;
}

void CgroupProbe::sample_number(Board& board, NumberFile& number) noexcept {
  double value = 0;
  const int error = read(number, value);
  if (error != ENOENT) return set_read(board, number.series, error, value);
  board.set(number.series, SampleStatus::absent,
            "the cgroup has no such file: the top has few, and old kernels lack some");
}

void CgroupProbe::sample_working_set(Board& board) noexcept {
  double used = 0, inactive = 0;
  int error = read(used_, used);
  if (error == 0) error = read(inactive_, inactive);
  // The two are read one after the other, so the difference may be a little below nothing.
  set_read(board, inactive_.series, error, used > inactive ? used - inactive : 0);
}

// A process may be moved while it runs; where it is gone the cgroup still counts.
void CgroupProbe::check_path() noexcept {
  std::string_view text;
  if (cgroup_.read(buffer_, text) == 0 && !text.empty()) moved_ = text != known_;
}

void CgroupProbe::sample(Tier tier, std::int64_t /*now_ns*/, Board& board) noexcept {
  switch (tier) {
    case Tier::fast:
      sample_number(board, used_);
      break;
    case Tier::normal:
      for (NumberFile* const number : {&peak_, &oom_kills_, &cpu_, &throttled_}) {
        sample_number(board, *number);
      }
      if (has_pressure_) {
        pressure_.sample(board);
      } else {
        pressure_.set_absent(board, "cgroup v1 has no pressure");
      }
      break;
    case Tier::slow:
      limits_.sample_memory(board, memory_limit_);
      limits_.sample_cpu(board, cpu_limit_);
      sample_working_set(board);
      check_path();
      break;
    case Tier::on_demand:
      break;
  }
}

}  // namespace

std::unique_ptr<Probe> make_cgroup_probe(const ProbeOptions& options, base::Files& files) {
  return std::make_unique<CgroupProbe>(options, files);
}

}  // namespace genscope::probe
