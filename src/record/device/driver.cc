#include "record/device/driver.h"

#include <dlfcn.h>

#include <cstdlib>
#include <vector>

namespace genscope::record::device {
namespace {

template <typename Function>
bool find(void* library, const char* symbol, Function& function) {
  function = reinterpret_cast<Function>(::dlsym(library, symbol));
  return function != nullptr;
}

// What the process has loaded already comes first: a framework may bring its own.
void* open_library(DeviceApi api, const std::string& path, std::string& why) {
  std::vector<const char*> names;
  const char* const chosen =
      path.empty()
          ? std::getenv(api == DeviceApi::cuda ? "GENSCOPE_CUDA_LIBRARY" : "GENSCOPE_HIP_LIBRARY")
          : path.c_str();
  if (chosen != nullptr && *chosen != '\0') {
    names = {chosen};
  } else if (api == DeviceApi::cuda) {
    names = {"libcuda.so.1"};
  } else {
    names = {"libamdhip64.so", "libamdhip64.so.7", "libamdhip64.so.6", "libamdhip64.so.5"};
  }
  for (const int flags : {RTLD_NOW | RTLD_NOLOAD, RTLD_NOW | RTLD_LOCAL}) {
    for (const char* const name : names) {
      if (void* const library = ::dlopen(name, flags)) return library;
      const char* const error = ::dlerror();
      if ((flags & RTLD_NOLOAD) == 0 && error != nullptr && why.empty()) why = error;
    }
  }
  return nullptr;
}

}  // namespace

std::string Driver::load(DeviceApi api, const std::string& path) {
  api_ = api;
  std::string why;
  void* const library = open_library(api, path, why);
  if (library == nullptr) return "the GPU driver's library does not load: " + why;
  return resolve(library);
}

std::string Driver::resolve(void* library) {
  const bool cuda = api_ == DeviceApi::cuda;
  const char* lacking = nullptr;
  const auto need = [&](const char* on_cuda, const char* on_hip, auto& function) {
    const char* const symbol = cuda ? on_cuda : on_hip;
    if (!find(library, symbol, function) && lacking == nullptr) lacking = symbol;
  };
  need("cuEventCreate", "hipEventCreateWithFlags", event_create);
  need("cuEventDestroy_v2", "hipEventDestroy", event_destroy);
  need("cuEventRecord", "hipEventRecord", event_record);
  need("cuEventQuery", "hipEventQuery", event_query);
  need("cuEventElapsedTime", "hipEventElapsedTime", event_elapsed);
  need("cuStreamCreate", "hipStreamCreateWithFlags", stream_create);
  need("cuStreamDestroy_v2", "hipStreamDestroy", stream_destroy);
  need("cuStreamIsCapturing", "hipStreamIsCapturing", is_capturing_);
  need("cuThreadExchangeStreamCaptureMode", "hipThreadExchangeStreamCaptureMode", exchange_mode_);
  if (cuda) {
    need("cuCtxGetCurrent", "", context_get_);
    need("cuCtxSetCurrent", "", context_set_);
    find(library, "cuGetErrorString", cuda_text_);
  } else {
    need("", "hipGetDevice", device_get_);
    need("", "hipSetDevice", device_set_);
    find(library, "hipGetErrorString", hip_text_);
  }
  find(library, cuda ? "cuDriverGetVersion" : "hipDriverGetVersion", version_);
  if (lacking != nullptr) return std::string("the GPU driver's library lacks ") + lacking;
  return "";
}

Place Driver::place() const noexcept {
  if (api_ == DeviceApi::cuda) {
    void* context = nullptr;
    return context_get_(&context) == kSuccess ? reinterpret_cast<Place>(context) : 0;
  }
  int device = 0;
  return device_get_(&device) == kSuccess ? static_cast<Place>(device) + 1 : 0;
}

Code Driver::enter(Place place) const noexcept {
  if (api_ == DeviceApi::cuda) return context_set_(reinterpret_cast<void*>(place));
  return device_set_(static_cast<int>(place - 1));
}

bool Driver::capturing(Stream stream) const noexcept {
  int status = 0;
  const Code code = is_capturing_(stream, &status);
  return status != 0 || (code >= kFirstCapture && code <= kLastCapture);
}

void Driver::relax_capture() const noexcept {
  int mode = 2;  // CU_STREAM_CAPTURE_MODE_RELAXED, hipStreamCaptureModeRelaxed
  exchange_mode_(&mode);
}

std::string Driver::text(Code code) const {
  const char* said = nullptr;
  if (cuda_text_ != nullptr) cuda_text_(code, &said);
  if (hip_text_ != nullptr) said = hip_text_(code);
  return std::string(said != nullptr ? said : "unknown error") + " (" + std::to_string(code) + ")";
}

int Driver::version() const noexcept {
  int version = 0;
  if (version_ != nullptr) version_(&version);
  return version;
}

}  // namespace genscope::record::device
