// Which sanitizer this build has. Tests use it to count less, never to check less.
#pragma once

#include <cstddef>

namespace genscope::testing {

#if defined(__SANITIZE_THREAD__)
inline constexpr bool kThreadSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer)
inline constexpr bool kThreadSanitizer = true;
#else
inline constexpr bool kThreadSanitizer = false;
#endif
#else
inline constexpr bool kThreadSanitizer = false;
#endif

#if defined(__SANITIZE_ADDRESS__)
inline constexpr bool kAddressSanitizer = true;
#elif defined(__has_feature)
#if __has_feature(address_sanitizer)
inline constexpr bool kAddressSanitizer = true;
#else
inline constexpr bool kAddressSanitizer = false;
#endif
#else
inline constexpr bool kAddressSanitizer = false;
#endif

// Why a test that forks beside a running thread is left to the other builds.
inline constexpr const char* kNoForkUnderAsan =
    "asan (g++ 12, clang 14) does not guard its allocator across a fork: a child of a process that "
    "allocates meanwhile hangs in its next malloc";

inline constexpr bool kSanitized = kThreadSanitizer || kAddressSanitizer;

// `n` in a plain build, a tenth of it (at least 1) under a sanitizer.
constexpr std::size_t scaled(std::size_t n) noexcept { return kSanitized ? (n + 9) / 10 : n; }

}  // namespace genscope::testing
