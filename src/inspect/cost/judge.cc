#include <genscope/predict.h>

#include <fmt/format.h>

#include <cmath>

namespace genscope {
namespace {

struct Bands {
  double good, fair;
};

// From published timings. A fast device is harder to keep busy: its kernels are short against the
// gaps between them.
Bands bands_of(const Hardware& hardware) {
  constexpr double kFast = 200;  // TFLOPS
  return hardware.bf16_tflops > kFast ? Bands{0.50, 0.30} : Bands{0.65, 0.40};
}

// Faster than what the device can do.
bool is_impossible(const Prediction& p, double ratio) {
  return ratio > 1 || p.compute_seconds / ratio < p.step_seconds * (1 - 1e-9);
}

std::string note_for(const Prediction& p, double ratio, const Bands& bands) {
  if (is_impossible(p, ratio)) {
    return fmt::format(
        "faster than the floor of {} arithmetic on {}, so an assumption of this prediction is "
        "wrong: another arithmetic (--arithmetic fp8, int8 or w4a4), quantised or sparse "
        "attention, "
        "cached or skipped blocks, fewer guidance passes, a smaller size, or another device",
        name(p.arithmetic), p.hardware.name);
  }
  const std::string limits =
      fmt::format("for {} good is {:.0f} % and more, fair {:.0f} to {:.0f} %", p.hardware.name,
                  100 * bands.good, 100 * bands.fair, 100 * bands.good);
  if (p.bound != "compute") {
    return fmt::format(
        "{}; but this step is bound by {}, whose floor is {:.0f} % of the compute "
        "peak",
        limits, p.bound, 100 * p.compute_seconds / p.step_seconds);
  }
  return limits;
}

}  // namespace

Mfu judge(const Prediction& prediction, double measured_step_seconds) {
  Mfu mfu;
  if (!std::isfinite(measured_step_seconds) || measured_step_seconds <= 0) {
    mfu.note = "a measured step takes more than 0 seconds";
    return mfu;
  }
  const Bands bands = bands_of(prediction.hardware);
  mfu.ratio = prediction.compute_seconds / measured_step_seconds;
  mfu.band = is_impossible(prediction, mfu.ratio) ? "assumption wrong"
             : mfu.ratio >= bands.good            ? "good"
             : mfu.ratio >= bands.fair            ? "fair"
                                                  : "poor";
  mfu.note = note_for(prediction, mfu.ratio, bands);
  return mfu;
}

}  // namespace genscope
