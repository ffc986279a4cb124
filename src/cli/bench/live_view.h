// One line of a terminal that says how far a measurement is.
#pragma once

#include <condition_variable>
#include <cstdint>
#include <mutex>
#include <optional>
#include <string>
#include <thread>

#include <genscope/bench.h>

namespace genscope::cli::bench {

// Redrawn on stderr after units and each second, where that is a terminal and `quiet` is not set;
// elsewhere, with `verbose`, a plain line every few seconds. Gone when this object is.
class LiveView {
 public:
  LiveView(bool quiet, bool verbose);
  ~LiveView();
  LiveView(const LiveView&) = delete;
  LiveView& operator=(const LiveView&) = delete;

  // What is measured from now on: "2 of 6: steps=20".
  void begin(const std::string& title);
  void tell(const genscope::bench::Progress& progress);
  void tell(const std::string& state, const std::optional<double>& eta_s);

 private:
  std::string line(std::int64_t now_ns) const;  // with the lock held
  void draw();
  void tick();

  bool terminal_ = false, plain_ = false, color_ = false;
  std::mutex mutex_;
  std::condition_variable ended_;
  bool end_ = false;
  std::string title_, state_;
  std::int64_t began_ns_ = 0, printed_ns_ = 0;
  std::int64_t eta_at_ns_ = 0;  // CLOCK_MONOTONIC; 0: not known
  std::thread ticker_;
};

// What the line says of it: "pair 6 of about 14, B is 12.1 % faster (9.8 to 14.4)".
std::string progress_text(const genscope::bench::Progress& progress);

}  // namespace genscope::cli::bench
