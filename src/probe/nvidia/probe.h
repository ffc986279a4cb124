// The NVML probe: the driver's library, the GPUs it shows, and when to look for them again.
#pragma once

#include <memory>

#include "base/file_reader.h"
#include "genscope/probe.h"
#include "probe/nvidia/device.h"

namespace genscope::probe::nvml {

// As make_nvml_probe() of builtin.h, with the clock that measures how long a call takes.
std::unique_ptr<Probe> make_probe(const ProbeOptions& options, base::Files& files, Clock clock);

}  // namespace genscope::probe::nvml
