// How the exported functions of the double are written: one line each where they are alike.
#pragma once

#include <cstring>
#include <string>

#include "guard.h"

#ifndef NVML_DOUBLE_LEVEL
#define NVML_DOUBLE_LEVEL 580
#endif

namespace nvml_double {

using u32 = std::uint32_t;
using u64 = unsigned long long;

inline constexpr u32 kOk = 0, kInvalid = 2, kUnsupported = 3, kNotFound = 6, kTooSmall = 7,
                     kWrongVersion = 25, kNotReady = 27;

inline void poison(void* data, std::size_t size) { std::memset(data, 0xCD, size); }

inline u64 as_u64(double value) { return value < 0 ? ~0ULL : static_cast<u64>(value); }
inline u32 as_u32(double value) {
  return value < 0 ? static_cast<u32>(static_cast<std::int32_t>(value)) : static_cast<u32>(value);
}

// A call with one number out.
template <typename T>
u32 one_number(const Guard& guard, const std::string& key, T* out) {
  if (out == nullptr) return kInvalid;
  double value = 0;
  const u32 code = guard.code != 0 ? guard.code : guard.number(key, value) ? kOk : kUnsupported;
  if (code != kOk) {
    poison(out, sizeof *out);
  } else {
    *out = sizeof(T) == 8 ? static_cast<T>(as_u64(value)) : static_cast<T>(as_u32(value));
  }
  return code;
}

inline u32 one_text(const Guard& guard, const std::string& key, char* out, u32 size) {
  if (guard.code != 0) return guard.code;
  if (out == nullptr) return kInvalid;
  const std::string text = world().scenario.text(guard.device, key, seconds());
  if (text.empty()) return kUnsupported;
  if (size < text.size() + 1) return kTooSmall;
  std::memcpy(out, text.c_str(), text.size() + 1);
  return kOk;
}

// Microseconds since 1970, as far as anybody here knows.
inline std::int64_t stamp_us(const Guard& guard, const std::string& key) {
  double at = seconds();
  guard.number(key, at);
  return 1'000'000 + static_cast<std::int64_t>(at * 1e6);
}

}  // namespace nvml_double

#define EXPORT extern "C" __attribute__((visibility("default")))
#define FUNCTION(name) \
  static nvml_double::Function f_##name { #name }
#define TEXT_CALL(name, key)                                 \
  FUNCTION(name);                                            \
  EXPORT u32 name(const void* device, char* out, u32 size) { \
    const Guard guard(f_##name, device, key);                \
    return one_text(guard, key, out, size);                  \
  }
#define NUMBER_CALL(name, key, type)               \
  FUNCTION(name);                                  \
  EXPORT u32 name(const void* device, type* out) { \
    const Guard guard(f_##name, device, key);      \
    return one_number(guard, key, out);            \
  }
// With a number in: the key's last part.
#define INDEXED_CALL(name, key)                                \
  FUNCTION(name);                                              \
  EXPORT u32 name(const void* device, u32 which, u32* out) {   \
    const std::string whole = key "." + std::to_string(which); \
    const Guard guard(f_##name, device, whole);                \
    return one_number(guard, whole, out);                      \
  }
