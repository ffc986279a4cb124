// The functions of libcuda or libamdhip64 that a DeviceTimer calls, loaded at run time.
//
// Their names differ, their arguments and codes mostly do not. What differs is where a thread
// stands: CUDA has a current context, HIP a current device; both are a Place here.
#pragma once

#include <cstdint>
#include <string>

#include <genscope/record.h>

namespace genscope::record::device {

using Code = int;
inline constexpr Code kSuccess = 0;
inline constexpr Code kInvalidContext = 201;  // what is no context, or of another one
inline constexpr Code kInvalidHandle = 400;
inline constexpr Code kNotReady = 600;
// 900 to 908: this call would disturb a capture, or there is one.
inline constexpr Code kFirstCapture = 900, kLastCapture = 908;

using Place = std::uintptr_t;  // 0: none
using Event = void*;
using Stream = void*;

class Driver {
 public:
  Driver() = default;
  Driver(const Driver&) = delete;
  Driver& operator=(const Driver&) = delete;
  // Never unloaded: its threads would lose their code.

  // Empty, or why not.
  std::string load(DeviceApi api, const std::string& path);

  Place place() const noexcept;  // of the calling thread
  Code enter(Place place) const noexcept;
  bool capturing(Stream stream) const noexcept;
  // From now on, what the calling thread asks of the driver disturbs no capture of others.
  void relax_capture() const noexcept;
  std::string text(Code code) const;
  int version() const noexcept;  // 0: unknown
  const char* name() const noexcept { return api_ == DeviceApi::cuda ? "cuda" : "hip"; }

  Code (*event_create)(Event*, unsigned flags) = nullptr;
  Code (*event_destroy)(Event) = nullptr;
  Code (*event_record)(Event, Stream) = nullptr;
  Code (*event_query)(Event) = nullptr;
  Code (*event_elapsed)(float* milliseconds, Event begin, Event end) = nullptr;
  Code (*stream_create)(Stream*, unsigned flags) = nullptr;
  Code (*stream_destroy)(Stream) = nullptr;

 private:
  std::string resolve(void* library);

  DeviceApi api_ = DeviceApi::cuda;
  Code (*context_get_)(void**) = nullptr;
  Code (*context_set_)(void*) = nullptr;
  Code (*device_get_)(int*) = nullptr;
  Code (*device_set_)(int) = nullptr;
  Code (*is_capturing_)(Stream, int*) = nullptr;
  Code (*exchange_mode_)(int*) = nullptr;
  Code (*version_)(int*) = nullptr;
  Code (*cuda_text_)(Code, const char**) = nullptr;
  const char* (*hip_text_)(Code) = nullptr;
};

}  // namespace genscope::record::device
