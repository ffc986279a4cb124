// The tracks of GPUs in a trace (docs/import.md): which there are, and what each name on them is.
#pragma once

#include <cstdint>
#include <queue>
#include <string>
#include <tuple>
#include <vector>

#include <genscope/trace.h>

#include "analyze/track_order.h"

namespace genscope::analysis {

enum class Work : std::uint8_t {
  none,           // a wait on a stream, an annotation: no work
  compute,        // a kernel
  communication,  // a kernel of a library of collectives
  copy_to_device,
  copy,  // any other copy, or filling memory
};
inline bool is_copy(Work work) noexcept {
  return work == Work::copy || work == Work::copy_to_device;
}

class DeviceTracks {
 public:
  struct Device {
    std::string name;  // "gpu:0"
    std::vector<TrackOrder::Stretch> streams;
  };

  // Takes no memory per span where the columns are in the order of tracks, as readers leave them.
  explicit DeviceTracks(const Trace& trace);

  const std::vector<Device>& devices() const noexcept { return devices_; }
  bool is_device(std::size_t span) const noexcept { return on_device_[trace_.spans.track[span]]; }
  // Of a span on a stream; one answer per name, from the category of the first of that name.
  Work work(std::size_t span) const noexcept { return of_name_[trace_.spans.name[span]]; }

  // Calls visit(span) for all work of a device in the order of begins, streams merged.
  template <class Visit>
  void visit(const Device& device, Visit&& visit) const {
    using Head = std::tuple<std::int64_t, std::size_t, std::size_t>;  // begin, place, end of stream
    std::priority_queue<Head, std::vector<Head>, std::greater<>> heads;
    const auto push = [&](std::size_t place, std::size_t end) {
      if (place < end) heads.push({trace_.spans.begin_ns[order_[place]], place, end});
    };
    for (const TrackOrder::Stretch& stream : device.streams) push(stream.first, stream.last);
    while (!heads.empty()) {
      const auto [begin, place, end] = heads.top();
      heads.pop();
      push(place + 1, end);
      if (work(order_[place]) != Work::none) visit(order_[place]);
    }
  }

 private:
  const Trace& trace_;
  std::vector<bool> on_device_;  // per track
  TrackOrder order_;
  std::vector<Device> devices_;
  std::vector<Work> of_name_;
};

// Whether any track is a GPU's, without the cost of a DeviceTracks.
bool has_device_tracks(const Trace& trace);

}  // namespace genscope::analysis
