// What the `cat` of an event says about it. The words are those of Kineto, PyTorch's profiler;
// events of other programs are `plain`.
#pragma once

#include <cstdint>
#include <string_view>

#include "genscope/trace.h"

namespace genscope::store {

enum class Category : std::uint8_t {
  plain,
  cpu_op,
  annotation,         // record_function, profiler steps
  python,             // python_function
  call,               // cuda_runtime, cuda_driver and the like: may launch
  device_work,        // kernel, gpu_memcpy, gpu_memset
  device_sync,        // on a stream, but no work
  device_annotation,  // gpu_user_annotation
  overhead,           // of the profiler
  window,             // "Trace": from where to where it recorded
};

Category category_of(std::string_view text);

inline bool on_device(Category c) {
  return c == Category::device_work || c == Category::device_sync ||
         c == Category::device_annotation;
}

// The kind of a span of this category and name.
SpanKind kind_of(Category category, std::string_view name);

// "ProfilerStep#12": 12. False for any other name.
bool profiler_step(std::string_view name, std::uint64_t& number);

// Arguments that say what the Trace says better in another way, or that only Kineto itself needs.
bool is_dropped_argument(std::string_view key);

}  // namespace genscope::store
