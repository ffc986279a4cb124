#include "watch/environment.h"

#include <array>
#include <cstdlib>
#include <string_view>

#include "base/secrets.h"

namespace genscope::watch {
namespace {

constexpr std::array kVariables = {"CUDA_VISIBLE_DEVICES",
                                   "HIP_VISIBLE_DEVICES",
                                   "ROCR_VISIBLE_DEVICES",
                                   "ZE_AFFINITY_MASK",
                                   "CUDA_LAUNCH_BLOCKING",
                                   "HIP_LAUNCH_BLOCKING",
                                   "AMD_SERIALIZE_KERNEL",
                                   "CUDA_MODULE_LOADING",
                                   "CUDA_DEVICE_MAX_CONNECTIONS",
                                   "NVIDIA_TF32_OVERRIDE",
                                   "PYTORCH_CUDA_ALLOC_CONF",
                                   "PYTORCH_ALLOC_CONF",
                                   "PYTORCH_HIP_ALLOC_CONF",
                                   "TORCHINDUCTOR_CACHE_DIR",
                                   "TORCH_COMPILE_DISABLE",
                                   "MIOPEN_FIND_MODE",
                                   "HSA_OVERRIDE_GFX_VERSION",
                                   "OMP_NUM_THREADS",
                                   "MKL_NUM_THREADS",
                                   "TOKENIZERS_PARALLELISM",
                                   "NCCL_P2P_DISABLE",
                                   "NCCL_IB_DISABLE",
                                   "NCCL_DEBUG",
                                   "LD_PRELOAD",
                                   "MALLOC_ARENA_MAX"};

bool set_to_true(const char* name) {
  const char* const value = std::getenv(name);
  return value != nullptr && *value != '\0' && std::string_view(value) != "0";
}

}  // namespace

Environment watched_environment() {
  Environment found;
  for (const char* const name : kVariables) {
    if (const char* const value = std::getenv(name)) {
      found.values.emplace_back(std::string("env.") + name, base::mask_secrets(value));
    }
  }
  if (const char* const mode = std::getenv("MIOPEN_FIND_MODE")) {
    found.values.emplace_back("env.miopen_find_mode", mode);
  }
  found.launch_blocking = set_to_true("CUDA_LAUNCH_BLOCKING") ||
                          set_to_true("HIP_LAUNCH_BLOCKING") || set_to_true("AMD_SERIALIZE_KERNEL");
  return found;
}

}  // namespace genscope::watch
