#include "analyze/resources/host_calls.h"

#include <algorithm>
#include <iterator>

namespace genscope::analysis {
namespace {

template <std::size_t N>
bool is_one_of(const std::string_view (&all)[N], std::string_view text) noexcept {
  return std::find(std::begin(all), std::end(all), text) != std::end(all);
}

// "path/file.py(12): function"; both empty for any other text.
struct Frame {
  std::string_view path, function;
};
Frame frame_of(std::string_view name) noexcept {
  const std::size_t line = name.find(".py("), colon = name.rfind("): ");
  if (line == std::string_view::npos || colon == std::string_view::npos || colon < line) return {};
  return {name.substr(0, line + 3), name.substr(colon + 3)};
}

}  // namespace

bool waits_for_gpu(std::string_view call) noexcept {
  constexpr std::string_view kCalls[] = {"cudaDeviceSynchronize",
                                         "cudaStreamSynchronize",
                                         "cudaEventSynchronize",
                                         "cuCtxSynchronize",
                                         "cuStreamSynchronize",
                                         "cuEventSynchronize",
                                         "hipDeviceSynchronize",
                                         "hipStreamSynchronize",
                                         "hipEventSynchronize",
                                         "cudaMemcpy",
                                         "hipMemcpy"};
  return is_one_of(kCalls, call);
}

bool is_logging(std::string_view name, SpanKind kind) noexcept {
  constexpr std::string_view kStages[] = {"log",      "logging",     "log_metrics", "log_metric",
                                          "log_loss", "log_scalars", "wandb.log"};
  if (kind == SpanKind::stage) return is_one_of(kStages, name);
  if (kind != SpanKind::function) return false;
  constexpr std::string_view kFunctions[] = {"log",
                                             "log_metrics",
                                             "log_metric",
                                             "log_dict",
                                             "add_scalar",
                                             "add_scalars",
                                             "_maybe_log_save_evaluate"};
  constexpr std::string_view kFolders[] = {"wandb/",    "tensorboard/",       "tensorboardX/",
                                           "mlflow/",   "comet_ml/",          "logger_connector/",
                                           "/loggers/", "logging/__init__.py"};
  const Frame frame = frame_of(name);
  return is_one_of(kFunctions, frame.function) ||
         std::any_of(std::begin(kFolders), std::end(kFolders), [&](std::string_view folder) {
           return frame.path.find(folder) != std::string_view::npos;
         });
}

bool is_apart_from_logging(std::string_view name) noexcept {
  constexpr std::string_view kFunctions[] = {"evaluate",        "_evaluate", "evaluation_loop",
                                             "predict",         "save",      "_save_checkpoint",
                                             "save_checkpoint", "save_model"};
  return is_one_of(kFunctions, frame_of(name).function);
}

}  // namespace genscope::analysis
