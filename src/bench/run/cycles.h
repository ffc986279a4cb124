// Clock cycles and instructions of a program and all it starts, by the kernel's counters. With them
// a run that took longer because the CPU clocked lower can be told from one that did more work.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

#include "base/file.h"

namespace genscope::bench {

struct CpuCounts {
  double cycles = 0, instructions = 0;
};

class CycleCounter {
 public:
  // What is counted; a test takes clocks that every machine has.
  struct Events {
    std::uint32_t type;
    std::uint64_t cycles, instructions;
  };
  static Events hardware() noexcept;

  // Null where the kernel does not count them: `why` says so.
  static std::unique_ptr<CycleCounter> open(std::string& why, const Events& events = hardware());

  // Around a run, from one thread: the counters are of the thread that opens them, and of what it
  // starts.
  void begin();
  // Of what was started since begin() and has ended. Nothing if the counters had to share the
  // hardware with others, so that they counted only a part.
  std::optional<CpuCounts> end();

 private:
  struct Reading {
    std::uint64_t value = 0, enabled = 0, running = 0;
  };
  struct Counter {
    base::UniqueFd all, own;  // with what the thread starts, and the thread alone
    Reading all_begin, own_begin;
  };
  bool open_counters(std::string& why);
  static std::optional<double> since(const Counter& counter);

  Events events_{};
  int thread_ = 0;
  Counter cycles_, instructions_;
};

}  // namespace genscope::bench
