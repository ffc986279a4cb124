// A GPU that a driver serves has a device file or a card in sysfs; one that no driver serves is
// still on the PCI bus, and then its probe has something to say ("the driver is not loaded"). What
// is neither cannot be read by any probe of ours. A process that holds the probes costs 20 ms at
// the start and wakes at every tick, so on a machine without GPUs it is not started.
//
// The PCI bus is one file, /proc/bus/pci/devices: its second column is vendor and device in hex. A
// kernel without that file leaves the device files to decide; a library that was named by hand is
// always tried.
#include "probe/gpu_hint.h"

#include <unistd.h>

#include <algorithm>
#include <utility>

#include "probe/builtin.h"

namespace genscope::probe {
namespace {

constexpr std::int64_t kLookAgainNs = 30'000'000'000;
constexpr std::string_view kNvidiaVendor = "10de";

// NVIDIA's own, that of Windows' subsystem for Linux, and those of Tegra.
constexpr std::string_view kNvidiaNodes[] = {"nvidiactl", "nvidia0",    "dxg",
                                             "nvgpu",     "nvhost-gpu", "nvmap"};

bool nvidia_on_pci(const std::string& proc_root, base::Files& files) {
  base::KeptFile list(proc_root + "/bus/pci/devices", files);
  std::vector<char> buffer(64 << 10);
  std::string_view text;
  if (list.read(buffer, text) != 0) return false;
  if (text.size() + 4096 > buffer.size()) return true;  // so many that it was cut: look closer
  while (!text.empty()) {
    std::string_view line = base::next_part(text, '\n');
    base::next_word(line);  // bus and function
    if (base::next_word(line).starts_with(kNvidiaVendor)) return true;
  }
  return false;
}

ProbeState nvidia_hint(const ProbeOptions& options, base::Files& files, const GpuHintRoots& roots) {
  if (!options.nvml_library.empty()) return {};
  for (const std::string_view node : kNvidiaNodes) {
    const std::string path = roots.dev + "/" + std::string(node);
    if (::access(path.c_str(), F_OK) == 0) return {};
  }
  if (nvidia_on_pci(options.proc_root, files)) return {};
  return {ProbeState::Kind::absent,
          "no NVIDIA GPU: neither a device file nor an NVIDIA device on the PCI bus", ""};
}

ProbeState drm_hint(bool found, const char* name, const ProbeOptions& options) {
  if (found) return {};
  return {ProbeState::Kind::absent,
          std::string("no ") + name + " GPU in " + options.sys_root + "/class/drm", ""};
}

class RemoteGpuProbe final : public Probe {
 public:
  RemoteGpuProbe(std::vector<std::string> probes, ProbeOptions options,
                 std::vector<std::string> command, std::int64_t patience_ns, GpuHintRoots roots)
      : probes_(std::move(probes)),
        options_(std::move(options)),
        command_(std::move(command)),
        patience_ns_(patience_ns),
        roots_(std::move(roots)) {}

  std::string_view name() const noexcept override { return "remote"; }

  ProbeState open(Board& board) override {
    rescan_ = false;
    if (remote_ == nullptr) {
      ProbeState none = look();
      if (none.kind == ProbeState::Kind::absent) return none;
      remote_ = make_remote_probe(command_, patience_ns_);
    }
    return remote_->open(board);
  }

  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override {
    if (remote_ != nullptr) return remote_->sample(tier, now_ns, board);
    if (tier != Tier::slow) return;
    if (next_look_ns_ == 0) next_look_ns_ = now_ns + kLookAgainNs;
    if (now_ns < next_look_ns_) return;
    next_look_ns_ = now_ns + kLookAgainNs;
    rescan_ = true;  // open() looks, where allocation is allowed
  }

  bool wants_rescan() const noexcept override {
    return remote_ != nullptr ? remote_->wants_rescan() : rescan_;
  }

 private:
  ProbeState look() const {
    ProbeState all{ProbeState::Kind::absent, "", ""};
    for (const std::string& probe : probes_) {
      ProbeState one = gpu_hint(probe, options_, base::Files::system(), roots_);
      if (one.kind != ProbeState::Kind::absent) return one;
      all.reason += (all.reason.empty() ? "" : "; ") + probe + ": " + one.reason;
    }
    return all;
  }

  const std::vector<std::string> probes_;
  const ProbeOptions options_;
  const std::vector<std::string> command_;
  const std::int64_t patience_ns_;
  const GpuHintRoots roots_;
  std::unique_ptr<Probe> remote_;
  std::int64_t next_look_ns_ = 0;
  bool rescan_ = false;
};

}  // namespace

ProbeState gpu_hint(std::string_view probe, const ProbeOptions& options, base::Files& files,
                    const GpuHintRoots& roots) {
  if (probe == "nvml") return nvidia_hint(options, files, roots);
  if (probe == "amdgpu") return drm_hint(has_amd_card(options, files), "AMD", options);
  if (probe == "intel") return drm_hint(has_intel_card(options, files), "Intel", options);
  return {};
}

std::unique_ptr<Probe> make_remote_gpu_probe(std::vector<std::string> probes,
                                             const ProbeOptions& options,
                                             std::vector<std::string> command,
                                             std::int64_t patience_ns, const GpuHintRoots& roots) {
  return std::make_unique<RemoteGpuProbe>(std::move(probes), options, std::move(command),
                                          patience_ns, roots);
}

}  // namespace genscope::probe
