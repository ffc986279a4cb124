// A probe of this folder on a tree of a test, with a clock that the test turns.
#pragma once

#include <memory>
#include <string>
#include <string_view>

#include "probe/builtin.h"
#include "probe/drm/test_tree.h"
#include "probe/test_board.h"

namespace genscope::probe::drm {

inline constexpr std::int64_t kSecond = 1'000'000'000;

class TestRig {
 public:
  using Make = std::unique_ptr<Probe> (*)(const ProbeOptions&, base::Files&);
  TestRig(Make make, const ProbeOptions& options, base::Files& files, std::string id)
      : probe(make(options, files)), id_(std::move(id)) {
    state = probe->open(board);
  }

  // One tick of each tier; `seconds` after the last.
  void tick(double seconds = 1) {
    now_ns += static_cast<std::int64_t>(seconds * 1e9);
    for (const Tier tier : {Tier::fast, Tier::normal, Tier::slow}) tick(tier);
  }
  void tick(Tier tier) { probe->sample(tier, now_ns, board); }

  Reading get(std::string_view metric) const { return board.get(id_, metric); }
  double value(std::string_view metric) const {
    const Reading reading = get(metric);
    return reading.status == SampleStatus::ok ? reading.value : -1e9;
  }
  SampleStatus status(std::string_view metric) const { return get(metric).status; }
  std::string reason(std::string_view metric) const {
    const Reading reading = get(metric);
    return reading.reason != nullptr ? reading.reason : "";
  }
  std::string source(std::string_view metric) const {
    const TestBoard::Series* const row = board.find(id_, metric);
    return row != nullptr ? row->source : "no series";
  }
  int events(std::string_view name) const {
    int sum = 0;
    for (const TestBoard::Event& event : board.events) sum += event.name == name;
    return sum;
  }
  bool all(SampleStatus expected) const {
    for (const TestBoard::Series& row : board.series) {
      if (row.reading.status != expected) return false;
    }
    return !board.series.empty();
  }

  TestBoard board;
  std::unique_ptr<Probe> probe;
  ProbeState state;
  std::int64_t now_ns = 1000 * kSecond;

 private:
  std::string id_;
};

}  // namespace genscope::probe::drm
