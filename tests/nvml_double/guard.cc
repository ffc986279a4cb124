#include "guard.h"

#include <pthread.h>
#include <time.h>

#include <csignal>
#include <cstring>

namespace nvml_double {

namespace {

constexpr int kDevices = 16, kInstances = 16, kEpochs = 8;
constexpr std::uint32_t kUninitialized = 1, kInvalidArgument = 2, kLost = 15;

Function* g_functions = nullptr;
Handle g_handles[kDevices][kInstances + 1][kEpochs];
thread_local std::int64_t t_spent_ns = 0;

std::int64_t monotonic_ns() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return std::int64_t{now.tv_sec} * 1'000'000'000 + now.tv_nsec;
}

int epoch_of(int device, int instance) {
  double epoch = 0;
  const Handle handle{device, instance, 0};
  world().scenario.number(who(handle), "epoch", seconds(), epoch);
  return static_cast<int>(epoch) % kEpochs;
}

void spend(double milliseconds) {
  const auto ns = static_cast<std::int64_t>(milliseconds * 1e6);
  if (world().scenario.virtual_time()) {
    t_spent_ns += ns;
    return;
  }
  const timespec pause{static_cast<time_t>(ns / 1'000'000'000),
                       static_cast<long>(ns % 1'000'000'000)};
  nanosleep(&pause, nullptr);
}

}  // namespace

Function::Function(const char* its_name) : name(its_name), next(g_functions) { g_functions = this; }

World& world() {
  static World the;
  return the;
}

double seconds() {
  static const std::int64_t start_ns = monotonic_ns();
  const World& now = world();
  const std::int64_t ns =
      now.scenario.virtual_time() ? now.time_ns.load() : monotonic_ns() - start_ns;
  return static_cast<double>(ns) / 1e9;
}

// Before the library is started no scenario is known: then as if time were virtual.
std::int64_t clock_ns() {
  const bool real = world().initialized.load() != 0 && !world().scenario.virtual_time();
  return real ? monotonic_ns() : world().time_ns.load() + t_spent_ns;
}

Handle* handle_of(int device, int instance) {
  if (device < 0 || device >= kDevices || instance >= kInstances) return nullptr;
  const int epoch = epoch_of(device, instance);
  Handle& handle = g_handles[device][instance + 1][epoch];
  return &handle;
}

const Handle* check(const void* handle) {
  const auto* const it = static_cast<const Handle*>(handle);
  const Handle* const first = &g_handles[0][0][0];
  const Handle* const end = first + kDevices * (kInstances + 1) * kEpochs;
  return it >= first && it < end ? it : nullptr;
}

bool is_current(const Handle& handle) {
  return handle.epoch == epoch_of(handle.device, handle.instance);
}

std::string who(const Handle& handle) {
  std::string name = std::to_string(handle.device);
  if (handle.instance >= 0) name += "." + std::to_string(handle.instance);
  return name;
}

// Functions may be entered by two threads at once only if one of them is known to block.
void Guard::enter(Function& function, const std::string& key) {
  function.calls.fetch_add(1);
  function.thread.store(static_cast<std::uint64_t>(pthread_self()));
  const World& now = world();
  const bool blocks = key.starts_with("pcie.") || now.scenario.find(device, key + "~") != nullptr;
  if (!blocks) {
    counted_ = true;
    if (world().inside.fetch_add(1) > 0) world().violations.fetch_add(1);
  }
}

Guard::Guard(Function& function, const std::string& key, bool needs_init) : device("system") {
  enter(function, key);
  double value = 0;
  if (number(key + "~", value)) spend(value);
  if (number(key + "#", value) && value != 0) std::raise(SIGSEGV);
  if (needs_init && world().initialized.load() == 0) {
    code = kUninitialized;
  } else if (number(key + "!", value)) {
    code = static_cast<std::uint32_t>(value);
  }
}

Guard::Guard(Function& function, const void* the_handle, const std::string& key) : device("none") {
  handle = check(the_handle);
  if (handle != nullptr) device = who(*handle);
  enter(function, key);
  double value = 0;
  if (world().initialized.load() == 0) {
    code = kUninitialized;
  } else if (handle == nullptr) {
    code = kInvalidArgument;
  } else if (!is_current(*handle)) {
    code = handle->instance >= 0 ? kInvalidArgument : kLost;
  } else {
    if (handle->instance >= 0) {  // an instance that is no more
      double there = 0;
      world().scenario.number(std::to_string(handle->device),
                              "mig." + std::to_string(handle->instance), seconds(), there);
      if (there == 0) code = kInvalidArgument;
    }
    if (number(key + "~", value)) spend(value);
    if (number(key + "#", value) && value != 0) std::raise(SIGSEGV);
    if (code == 0 && number("all!", value)) code = static_cast<std::uint32_t>(value);
    if (code == 0 && number(key + "!", value)) code = static_cast<std::uint32_t>(value);
  }
}

Guard::~Guard() {
  if (counted_) world().inside.fetch_sub(1);
}

bool Guard::number(const std::string& key, double& value) const {
  return world().scenario.number(device, key, seconds(), value);
}

// Numbers the handles once, before anybody can hold one.
namespace {
struct Numbered {
  Numbered() {
    for (int d = 0; d < kDevices; ++d) {
      for (int i = 0; i <= kInstances; ++i) {
        for (int e = 0; e < kEpochs; ++e) g_handles[d][i][e] = {d, i - 1, e};
      }
    }
  }
} g_numbered;
}  // namespace

}  // namespace nvml_double

extern "C" {

using nvml_double::world;

#define NVML_DOUBLE_EXPORT __attribute__((visibility("default")))

NVML_DOUBLE_EXPORT void nvml_double_set_time_ns(std::int64_t ns) { world().time_ns.store(ns); }
NVML_DOUBLE_EXPORT std::int64_t nvml_double_clock_ns() noexcept { return nvml_double::clock_ns(); }
NVML_DOUBLE_EXPORT std::uint64_t nvml_double_violations() { return world().violations.load(); }
NVML_DOUBLE_EXPORT int nvml_double_initialized() { return world().initialized.load(); }

// Calls of that function; of all functions with null.
NVML_DOUBLE_EXPORT std::uint64_t nvml_double_calls(const char* name) {
  std::uint64_t sum = 0;
  for (auto* it = nvml_double::g_functions; it != nullptr; it = it->next) {
    if (name == nullptr || std::strcmp(it->name, name) == 0) sum += it->calls.load();
  }
  return sum;
}
// The pthread_t that called it last, as a number; 0: nobody.
NVML_DOUBLE_EXPORT std::uint64_t nvml_double_thread(const char* name) {
  for (auto* it = nvml_double::g_functions; it != nullptr; it = it->next) {
    if (std::strcmp(it->name, name) == 0) return it->thread.load();
  }
  return 0;
}
// Forgets counts, time and violations.
NVML_DOUBLE_EXPORT void nvml_double_reset() {
  for (auto* it = nvml_double::g_functions; it != nullptr; it = it->next) {
    it->calls.store(0);
    it->thread.store(0);
  }
  world().violations.store(0);
  world().time_ns.store(0);
}
}
