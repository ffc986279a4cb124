// The built-in probes, one factory each. A new one: its file, a line here, a row in registry.cc.
#pragma once

#include <memory>

#include "base/file_reader.h"
#include "genscope/probe.h"

namespace genscope::probe {

// `files` is where they read from; it outlives the probe.
std::unique_ptr<Probe> make_process_probe(const ProbeOptions& options, base::Files& files);
std::unique_ptr<Probe> make_system_probe(const ProbeOptions& options, base::Files& files);
std::unique_ptr<Probe> make_cgroup_probe(const ProbeOptions& options, base::Files& files);
std::unique_ptr<Probe> make_rapl_probe(const ProbeOptions& options, base::Files& files);
std::unique_ptr<Probe> make_nvml_probe(const ProbeOptions& options, base::Files& files);
std::unique_ptr<Probe> make_amdgpu_probe(const ProbeOptions& options, base::Files& files);
std::unique_ptr<Probe> make_intel_probe(const ProbeOptions& options, base::Files& files);

// Whether sysfs lists a card of that vendor. Wakes none.
bool has_amd_card(const ProbeOptions& options, base::Files& files);
bool has_intel_card(const ProbeOptions& options, base::Files& files);

}  // namespace genscope::probe
