// What every function of the double does first: counts, checks, sleeps, crashes, refuses.
#pragma once

#include <atomic>
#include <cstdint>
#include <string>

#include "scenario.h"

namespace nvml_double {

// One exported function. Made at load time, so that the counters can be asked before any call.
struct Function {
  explicit Function(const char* name);
  const char* name;
  Function* next;
  std::atomic<std::uint64_t> calls{0};
  std::atomic<std::uint64_t> thread{0};  // that made the last call
};

// A handle is a pointer to one of these; each (device, instance, epoch) has its own.
struct Handle {
  int device = 0;
  int instance = -1;  // MIG; -1: the whole GPU
  int epoch = 0;
};

struct World {
  Scenario scenario;
  bool loaded = false;
  std::atomic<int> initialized{0};
  std::atomic<std::int64_t> time_ns{0};
  std::atomic<std::uint64_t> violations{0};
  std::atomic<int> inside{0};  // threads inside calls that should not block
};
World& world();
double seconds();  // of the scenario

Handle* handle_of(int device, int instance);
const Handle* check(const void* handle);  // null if it is no handle of ours
bool is_current(const Handle& handle);
std::string who(const Handle& handle);

// Of a call without a device, or with one. `code` is what the call must return at once if not 0.
class Guard {
 public:
  Guard(Function& function, const std::string& key, bool needs_init = true);
  Guard(Function& function, const void* handle, const std::string& key);
  ~Guard();
  Guard(const Guard&) = delete;
  Guard& operator=(const Guard&) = delete;

  std::uint32_t code = 0;
  std::string device;  // "0", "0.1"; "system" without a device
  const Handle* handle = nullptr;

  // The number of a key at this time; false: the scenario does not have it.
  bool number(const std::string& key, double& value) const;

 private:
  void enter(Function& function, const std::string& key);
  bool counted_ = false;
};

// This thread's clock: the scenario's time and the latencies that it has sat through.
std::int64_t clock_ns();

}  // namespace nvml_double
