// operator new that counts, for programs of one thread: link counted_new.cc.
#pragma once

#include <cstddef>

namespace bench {

// Bytes that operator new has handed out and not got back, and the most there were.
extern std::size_t held_bytes, peak_bytes;

}  // namespace bench
