// Whether the calling thread can throw an exception.
//
// Where the C++ runtime came with a library that was loaded late, as below a Python extension, a
// thread's part of it is made by the thread's first exception. Without memory for that, glibc ends
// the process: an exception that says that there is no memory would be the end of the program. So
// each thread makes that part before it does anything that may throw, while there is memory.
#pragma once

namespace genscope::base {

// True but for a thread that has not made it, and has no memory to.
bool may_throw() noexcept;

}  // namespace genscope::base
