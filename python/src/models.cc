// What a model file is and what a generation costs, as JSON texts.
#include <genscope/inspect.h>
#include <genscope/predict.h>

#include <filesystem>
#include <optional>
#include <string>

#include "entry.h"

namespace genscope::python {
namespace {

PyObject* inspect_path(PyObject*, PyObject* path) {
  std::string_view text;
  if (!text_of(path, text)) return nullptr;
  const std::string of(text);
  std::string json;
  std::optional<Error> error;
  {
    const WithoutGil released;
    const Result<Model> model = inspect_model(of);
    model ? static_cast<void>(json = to_json(*model)) : static_cast<void>(error = model.error());
  }
  return error ? raise(*error) : to_str(json);
}

Result<CostSpec> spec_of(const std::string& model) {
  std::error_code ignored;
  if (!std::filesystem::exists(model, ignored)) return cost_spec(model);
  const Result<Model> read = inspect_model(model);
  if (!read) return read.error();
  return cost_spec(*read);
}

Result<Offload> offload_of(std::string_view text) {
  for (const Offload kind : {Offload::none, Offload::model, Offload::group, Offload::sequential}) {
    if (text == name(kind)) return kind;
  }
  return Error{ErrorCode::invalid_argument,
               "offload " + std::string(text) + ": give none, model, group or sequential"};
}

struct Question {
  std::string model, gpu;
  Workload workload;
  std::string dtype, offload;
  std::optional<double> measured_seconds;
};

Result<std::string> answer(Question& question) {
  const Result<CostSpec> spec = spec_of(question.model);
  if (!spec) return spec.error();
  const Result<Offload> offload = offload_of(question.offload);
  if (!offload) return offload.error();
  question.workload.offload = *offload;
  if (!question.dtype.empty()) {
    question.workload.dtype = find_dtype(question.dtype);
    if (!question.workload.dtype) {
      return Error{ErrorCode::invalid_argument,
                   "dtype " + question.dtype + ": for example bf16, f16, f8_e4m3, q8_0"};
    }
  }
  const Result<Hardware> hardware =
      question.gpu == "cpu" ? Result<Hardware>(measure_cpu()) : find_hardware(question.gpu);
  if (!hardware) return hardware.error();
  const Result<Prediction> prediction = predict(*spec, question.workload, *hardware);
  if (!prediction) return prediction.error();
  return to_json(*prediction, question.measured_seconds);
}

PyObject* predict_cost(PyObject*, PyObject* args, PyObject* keywords) {
  static const char* names[] = {
      "model", "gpu",         "width",           "height", "frames",  "steps",
      "batch", "text_tokens", "guidance_passes", "dtype",  "offload", "measured_seconds",
      nullptr};
  const char *model = nullptr, *gpu = nullptr, *dtype = "", *offload = "none";
  unsigned long long width = 0, height = 0, frames = 0, steps = 0, batch = 1;
  long long text_tokens = -1, passes = -1;
  double measured = 0;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "ss|$KKKKKLLssd", const_cast<char**>(names),
                                  &model, &gpu, &width, &height, &frames, &steps, &batch,
                                  &text_tokens, &passes, &dtype, &offload, &measured) == 0) {
    return nullptr;
  }
  Question question{model, gpu, {}, dtype, offload, {}};
  question.workload.width = width;
  question.workload.height = height;
  question.workload.frames = frames;
  question.workload.steps = steps;
  question.workload.batch = batch;
  if (text_tokens >= 0) question.workload.text_tokens = static_cast<std::uint64_t>(text_tokens);
  if (passes >= 0) question.workload.guidance_passes = static_cast<std::uint64_t>(passes);
  if (measured > 0) question.measured_seconds = measured;
  Result<std::string> json = std::string();
  {
    const WithoutGil released;
    json = answer(question);
  }
  return json ? to_str(*json) : raise(json.error());
}

Method models_functions[] = {
    reading<inspect_path>("inspect", METH_O, "inspect(path) -> str"),
    reading<predict_cost>("predict", METH_VARARGS | METH_KEYWORDS,
                          "predict(model, gpu, **workload) -> str"),
    {},
};

}  // namespace

bool add_models(PyObject* module) { return add_functions(module, models_functions); }

}  // namespace genscope::python
