// Probes of which a vendor's library is a part run in a child of ours, `genscope probe-child`, so
// that a library that crashes or hangs takes nobody along.
#pragma once

#include <string>
#include <vector>

#include <genscope/probe.h>

namespace genscope::watch {

// The command that serves these probes on its stdout: this program, asked by its hidden subcommand.
std::vector<std::string> probe_child_command(const std::vector<std::string>& probes,
                                             const ProbeOptions& options,
                                             const SamplerOptions& sampling);

// The named probes: those that load driver code through one child of ours for each, the others in
// this process. A name that make_probe does not know is an error.
Result<std::vector<std::unique_ptr<Probe>>> make_probes(const std::vector<std::string>& names,
                                                        const ProbeOptions& options,
                                                        const SamplerOptions& sampling);

// The reports of a sampler to which make_probes(names, ...) was added, each under its own name:
// that of a child is "remote".
std::vector<ProbeReport> named_reports(const Sampler& sampler,
                                       const std::vector<std::string>& names);

// The names of all_probes().
std::vector<std::string> all_probe_names();

}  // namespace genscope::watch
