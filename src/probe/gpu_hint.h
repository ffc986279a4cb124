// Whether this machine has a GPU at all, told without a driver's library: from device files, the
// list of PCI devices and sysfs. Where there is none, nothing has to be started to ask.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/file_reader.h"
#include "genscope/probe.h"

namespace genscope::probe {

// Where a test looks instead.
struct GpuHintRoots {
  std::string dev = "/dev";
};

// works: that GPU probe may find something. absent: it cannot, with the reason. In doubt, works.
ProbeState gpu_hint(std::string_view probe, const ProbeOptions& options, base::Files& files,
                    const GpuHintRoots& roots = {});

// make_remote_probe(command) as soon as one of these GPU probes may find something; until then the
// reasons why not. It looks at the start, and then every half minute: a GPU may be plugged in.
std::unique_ptr<Probe> make_remote_gpu_probe(std::vector<std::string> probes,
                                             const ProbeOptions& options,
                                             std::vector<std::string> command,
                                             std::int64_t patience_ns,
                                             const GpuHintRoots& roots = {});

}  // namespace genscope::probe
