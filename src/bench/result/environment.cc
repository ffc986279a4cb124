// The probes open once and read once; that is quick, and the same code as `genscope doctor`'s. What
// they do not tell (governor, turbo, the system's name) is read from sysfs and /etc here.
#include "bench/result/environment.h"

#include <fmt/format.h>
#include <sys/utsname.h>
#include <unistd.h>

#include <algorithm>
#include <cmath>
#include <set>

#include "base/checksum.h"
#include "base/file.h"
#include "base/file_reader.h"

namespace genscope::bench {
namespace {

using Facts = std::map<std::string, std::string>;

constexpr double kLoadPerCore = 0.3, kHotCelsius = 80, kLittleMemory = 0.1;

std::string first_line_of(const std::string& path) {
  const Result<std::string> text = base::read_file(path, 1 << 16);
  if (!text) return "";
  std::string_view rest = *text;
  return std::string(base::next_part(rest, '\n'));
}

// PRETTY_NAME="Debian GNU/Linux 12 (bookworm)"
std::string system_name() {
  const Result<std::string> text = base::read_file("/etc/os-release", 1 << 16);
  if (!text) return "";
  std::string_view rest = *text;
  while (!rest.empty()) {
    std::string_view line = base::next_part(rest, '\n');
    constexpr std::string_view kKey = "PRETTY_NAME=";
    if (!line.starts_with(kKey)) continue;
    line.remove_prefix(kKey.size());
    while (!line.empty() && line.front() == '"') line.remove_prefix(1);
    while (!line.empty() && line.back() == '"') line.remove_suffix(1);
    return std::string(line);
  }
  return "";
}

std::string fact_of(const Entity& entity, std::string_view key) {
  for (const auto& [name, value] : entity.facts) {
    if (name == key) return value;
  }
  return "";
}

std::optional<double> value_at(const Snapshot& now, std::uint32_t entity, std::string_view metric) {
  const Snapshot::Series* const series = now.find(entity, metric);
  if (series == nullptr || series->reading.status != SampleStatus::ok) return std::nullopt;
  return series->reading.value;
}

std::optional<std::uint32_t> entity_of(const Snapshot& now, EntityKind kind) {
  for (std::size_t i = 0; i < now.entities.size(); ++i) {
    if (now.entities[i].kind == kind) return static_cast<std::uint32_t>(i);
  }
  return std::nullopt;
}

Snapshot read_once(const ProbeOptions& options) {
  SamplerOptions sampling;
  sampling.fast_ns = sampling.normal_ns = sampling.slow_ns = 60'000'000'000;  // the first is enough
  Sampler sampler(sampling);
  std::vector<std::string_view> names = {"system", "cgroup"};
  names.insert(names.end(), gpu_probes().begin(), gpu_probes().end());
  for (const std::string_view name : names) {
    if (Result<std::unique_ptr<Probe>> probe = make_probe(name, options); probe) {
      sampler.add(std::move(*probe));
    }
  }
  if (!sampler.start()) return {};
  Snapshot now = sampler.snapshot();
  sampler.stop();
  return now;
}

void set_fact(Facts& facts, std::string key, std::string value) {
  if (!value.empty()) facts[std::move(key)] = std::move(value);
}

void add_host(const Snapshot& now, Facts& facts) {
  utsname names{};
  if (::uname(&names) == 0) {
    set_fact(facts, "os_family", names.sysname);
    set_fact(facts, "machine", names.machine);
  }
  set_fact(facts, "os", system_name());
  const auto machine = entity_of(now, EntityKind::machine);
  if (!machine) return;
  const Entity& entity = now.entities[*machine];
  set_fact(facts, "cpu", fact_of(entity, "cpu"));
  set_fact(facts, "cores", fact_of(entity, "cpus"));
  set_fact(facts, "kernel", fact_of(entity, "kernel"));
  if (const auto ram = value_at(now, *machine, "memory_total_bytes")) {
    facts["ram_bytes"] = fmt::format("{:.0f}", *ram);
  }
  const auto cgroup = entity_of(now, EntityKind::cgroup);
  if (!cgroup) return;
  if (const auto cores = value_at(now, *cgroup, "cpu_limit_cores")) {
    facts["cpu_limit_cores"] = fmt::format("{:g}", *cores);
  }
}

// The UUID says which card it is, so only its hash is kept.
std::string hash_of(const std::string& text) {
  return fmt::format("{:016x}", base::checksum(text.data(), text.size()));
}

void add_gpus(const Snapshot& now, Facts& facts) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < now.entities.size(); ++i) {
    const Entity& gpu = now.entities[i];
    if (gpu.kind != EntityKind::gpu) continue;
    const std::string prefix = fmt::format("gpus.{}.", n++);
    const auto number = static_cast<std::uint32_t>(i);
    set_fact(facts, prefix + "name", gpu.name);
    set_fact(facts, prefix + "uuid_hash", hash_of(gpu.id));
    set_fact(facts, prefix + "driver", fact_of(gpu, "driver"));
    set_fact(facts, prefix + "cuda", fact_of(gpu, "cuda"));
    if (const auto vram = value_at(now, number, "memory_total_bytes")) {
      facts[prefix + "vram_bytes"] = fmt::format("{:.0f}", *vram);
    }
    if (const auto limit = value_at(now, number, "power_limit_watts")) {
      facts[prefix + "power_limit_watts"] = fmt::format("{:g}", *limit);
    }
  }
}

EnvironmentCheck check_governor(const std::string& sys_root, Facts& facts) {
  std::set<std::string> found;
  for (int cpu = 0; cpu < 4096; ++cpu) {
    const std::string folder = fmt::format("{}/devices/system/cpu/cpu{}", sys_root, cpu);
    if (::access(folder.c_str(), F_OK) != 0) break;
    const std::string governor = first_line_of(folder + "/cpufreq/scaling_governor");
    if (!governor.empty()) found.insert(governor);
  }
  if (found.empty()) return {"governor", "unknown", "not shown by this system", "performance"};
  const std::string all = fmt::format("{}", fmt::join(found, ", "));
  facts["governor"] = all;
  return {"governor", all == "performance" ? "ok" : "warn", all, "performance"};
}

EnvironmentCheck check_turbo(const std::string& sys_root) {
  const std::string cpu = sys_root + "/devices/system/cpu";
  const std::string off = first_line_of(cpu + "/intel_pstate/no_turbo");
  const std::string on = first_line_of(cpu + "/cpufreq/boost");
  if (off.empty() && on.empty()) return {"turbo", "unknown", "not shown by this system", "off"};
  const bool boosts = !off.empty() ? off == "0" : on == "1";
  return {"turbo", boosts ? "warn" : "ok", boosts ? "on" : "off", "off"};
}

EnvironmentCheck check_load(const Snapshot& now, const Facts& facts) {
  const auto machine = entity_of(now, EntityKind::machine);
  const auto load = machine ? value_at(now, *machine, "load_1m") : std::nullopt;
  const auto cores = facts.find("cores");
  const double count = cores != facts.end() ? std::strtod(cores->second.c_str(), nullptr) : 0;
  const std::string limit = fmt::format("at most {:g} per core", kLoadPerCore);
  if (!load || count <= 0) return {"load", "unknown", "not readable", limit};
  const double per_core = *load / count;
  return {"load", per_core > kLoadPerCore ? "warn" : "ok", fmt::format("{:.2f} per core", per_core),
          limit};
}

EnvironmentCheck check_memory(const Snapshot& now) {
  const auto machine = entity_of(now, EntityKind::machine);
  const std::string limit = fmt::format("{:.0f} % free", kLittleMemory * 100);
  const auto free = machine ? value_at(now, *machine, "memory_available_bytes") : std::nullopt;
  const auto total = machine ? value_at(now, *machine, "memory_total_bytes") : std::nullopt;
  if (!free || !total || *total <= 0) return {"memory", "unknown", "not readable", limit};
  const double share = *free / *total;
  return {"memory", share < kLittleMemory ? "warn" : "ok",
          fmt::format("{:.0f} % free", share * 100), limit};
}

void check_gpu(const Snapshot& now, std::uint32_t gpu, const std::string& prefix,
               std::vector<EnvironmentCheck>& checks) {
  if (const auto heat = value_at(now, gpu, "temperature_celsius")) {
    checks.push_back({prefix + "temperature", *heat > kHotCelsius ? "warn" : "ok",
                      fmt::format("{:.0f} C", *heat), fmt::format("{:.0f} C", kHotCelsius)});
  }
  for (const Snapshot::Processes& list : now.processes) {
    if (list.entity != gpu) continue;
    const auto others = std::count_if(list.rows.begin(), list.rows.end(), [](const ProcessRow& p) {
      return p.pid != static_cast<std::uint32_t>(::getpid());
    });
    checks.push_back(
        {prefix + "processes", others > 0 ? "warn" : "ok", fmt::format("{}", others), "0"});
  }
}

void check_gpus(const Snapshot& now, std::vector<EnvironmentCheck>& checks) {
  std::size_t n = 0;
  for (std::size_t i = 0; i < now.entities.size(); ++i) {
    if (now.entities[i].kind != EntityKind::gpu) continue;
    check_gpu(now, static_cast<std::uint32_t>(i), fmt::format("gpu{}_", n++), checks);
  }
}

std::string fact_or(const Facts& facts, const std::string& key, std::string_view fallback) {
  const auto found = facts.find(key);
  return found != facts.end() ? found->second : std::string(fallback);
}

// "550.54.14" -> "550"
std::string branch_of(std::string_view driver) {
  return std::string(driver.substr(0, driver.find('.')));
}

}  // namespace

std::string environment_class(const Facts& facts) {
  std::map<std::string, int> models;
  std::string driver, cuda;
  for (std::size_t i = 0;; ++i) {
    const std::string prefix = fmt::format("gpus.{}.", i);
    const std::string model = fact_or(facts, prefix + "name", "");
    if (model.empty()) break;
    ++models[model];
    if (i == 0) {
      driver = branch_of(fact_or(facts, prefix + "driver", ""));
      cuda = fact_or(facts, prefix + "cuda", "");
    }
  }
  std::vector<std::string> parts;
  for (const auto& [model, count] : models) {
    parts.push_back(count > 1 ? fmt::format("{} x {}", count, model) : model);
  }
  if (!driver.empty()) parts.push_back("driver " + driver);
  if (!cuda.empty()) parts.push_back("CUDA " + cuda);
  const std::string cores = fact_or(facts, "cpu_limit_cores", fact_or(facts, "cores", ""));
  const std::string cpu = fact_or(facts, "cpu", "unknown CPU");
  parts.push_back(cores.empty() ? cpu : fmt::format("{}, {} cores", cpu, cores));
  parts.push_back(fmt::format("{} {}", fact_or(facts, "os_family", "unknown system"),
                              fact_or(facts, "machine", "")));
  while (parts.back().ends_with(' ')) parts.back().pop_back();
  return fmt::format("{}", fmt::join(parts, ", "));
}

Environment inspect_environment(const ProbeOptions& options) {
  const Snapshot now = read_once(options);
  Environment out;
  add_host(now, out.fingerprint);
  add_gpus(now, out.fingerprint);
  out.klass = environment_class(out.fingerprint);
  out.checks = {check_governor(options.sys_root, out.fingerprint), check_turbo(options.sys_root),
                check_load(now, out.fingerprint), check_memory(now)};
  check_gpus(now, out.checks);
  return out;
}

Environment inspect_environment() { return inspect_environment(probe_options_from_environment()); }

}  // namespace genscope::bench
