#include "analyze/resources/device_tracks.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "trace/arguments.h"

namespace genscope::analysis {
namespace {

constexpr std::string_view kStream = "/stream:";

// "gpu:0" of "gpu:0/stream:7"; empty for any other track.
std::string_view device_of(std::string_view track) {
  if (!track.starts_with("gpu:") || track.ends_with("/annotations")) return {};
  const std::size_t at = track.find(kStream);
  return at == std::string_view::npos ? std::string_view() : track.substr(0, at);
}

bool is_collective(std::string_view kernel) {
  constexpr std::array<std::string_view, 4> kStarts = {"nccl", "rccl", "oneccl", "void nccl"};
  return std::any_of(kStarts.begin(), kStarts.end(),
                     [&](std::string_view start) { return kernel.starts_with(start); });
}

Work classify(std::string_view name, std::string_view category) {
  if (category == "cuda_sync" || category == "gpu_user_annotation") return Work::none;
  const bool memory = category.ends_with("memcpy") || category.ends_with("memset") ||
                      name.starts_with("Memcpy ") || name.starts_with("Memset");
  if (memory) return name.starts_with("Memcpy HtoD") ? Work::copy_to_device : Work::copy;
  return is_collective(name) ? Work::communication : Work::compute;
}

}  // namespace

bool has_device_tracks(const Trace& trace) {
  return std::any_of(trace.tracks.begin(), trace.tracks.end(),
                     [](const TrackInfo& track) { return !device_of(track.name).empty(); });
}

DeviceTracks::DeviceTracks(const Trace& trace)
    : trace_(trace), on_device_(trace.tracks.size()), order_(trace), of_name_(trace.names.size()) {
  for (std::size_t t = 0; t < trace.tracks.size(); ++t) {
    on_device_[t] = trace.tracks[t].name.starts_with("gpu:") &&
                    trace.tracks[t].name.find(kStream) != std::string::npos;
  }
  std::vector<bool> seen(trace.names.size());
  for (const TrackOrder::Stretch& stretch : order_.stretches()) {
    const std::string& track = trace.tracks[trace.spans.track[order_[stretch.first]]].name;
    const std::string_view name = device_of(track);
    if (name.empty()) continue;
    auto device = std::find_if(devices_.begin(), devices_.end(),
                               [&](const Device& known) { return known.name == name; });
    if (device == devices_.end()) device = devices_.insert(device, {std::string(name), {}});
    device->streams.push_back(stretch);
    for (std::size_t place = stretch.first; place < stretch.last; ++place) {
      const std::size_t span = order_[place];
      const std::uint32_t n = trace.spans.name[span];
      if (seen[n]) continue;
      seen[n] = true;
      const auto category = trace::text_argument(trace, trace.span_args, span, "cat");
      of_name_[n] = classify(trace.names[n].text, category.value_or(""));
    }
  }
}

}  // namespace genscope::analysis
