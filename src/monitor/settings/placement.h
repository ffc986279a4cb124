// Where a model's weights go so that a generation fits: offload, VAE tiles, and if nothing else
// helps the size of the picture.
#pragma once

#include <cstdint>
#include <optional>

#include <genscope/predict.h>

namespace genscope::monitor {

struct Placement {
  Offload offload = Offload::none;
  bool tiled = false;
  std::uint64_t width = 0, height = 0;
  bool fits = false;
  double peak_bytes = 0;        // with all that
  double plain_peak_bytes = 0;  // without any of it, at the model's own size
  double limit_bytes = 0;
};

// What a program can have of a device's memory: the rest is taken by the driver, the context of the
// process and the gaps of its allocator.
inline constexpr double kUsableShare = 0.9;

// The kindest to speed that fits: tiles before offload, offload before a smaller picture.
Result<Placement> place(const CostSpec& spec, const Workload& workload, const Hardware& gpu);

}  // namespace genscope::monitor
