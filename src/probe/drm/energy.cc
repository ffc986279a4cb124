#include "probe/drm/energy.h"

namespace genscope::probe::drm {
namespace {

constexpr std::int64_t kStuckNs = 3'000'000'000;
constexpr double kIdleWatts = 5;  // below it, a counter with coarse steps may stand still honestly
constexpr const char* kStuck = "stuck: the counter stands still while power is drawn";

}  // namespace

void EnergyMeter::note(double joules, double watts, std::int64_t now_ns, Board& board) noexcept {
  // A fall is a reset of the counter: what was used in between is not known.
  if (!has_last_ || joules < joules_) {
    has_last_ = true;
    joules_ = joules;
    moved_ns_ = now_ns;
    board.set(energy_, joules);
    board.set(power_, SampleStatus::pending, "a difference needs two readings of the counter");
    return;
  }
  if (joules > joules_) {
    if (now_ns > moved_ns_) {
      board.set(power_, (joules - joules_) / (static_cast<double>(now_ns - moved_ns_) * 1e-9));
    }
    joules_ = joules;
    moved_ns_ = now_ns;
    board.set(energy_, joules);
    return;
  }
  // Without a sensor beside it any device that is awake draws power.
  const bool drawing = watts < 0 || watts > kIdleWatts;
  if (drawing && now_ns - moved_ns_ >= kStuckNs) {
    board.set(energy_, SampleStatus::stale, kStuck);
    board.set(power_, SampleStatus::stale, kStuck);
  } else {
    board.set(energy_, joules);
  }
  if (!drawing) moved_ns_ = now_ns;
}

}  // namespace genscope::probe::drm
