// Settings files, pipeline settings, and many reports as one: pure functions.
#include <genscope/analyze.h>
#include <genscope/compat/inferix.h>
#include <genscope/compat/monitor_config.h>
#include <genscope/config.h>
#include <genscope/monitor.h>
#include <genscope/report.h>
#include <genscope/store.h>

#include <utility>
#include <vector>

#include "monitors.h"

namespace genscope::python {
namespace {

PyObject* flag(bool value) { return PyBool_FromLong(value ? 1 : 0); }
PyObject* count(std::uint64_t value) { return PyLong_FromUnsignedLongLong(value); }
PyObject* count(const std::optional<std::uint64_t>& value) {
  return value ? PyLong_FromUnsignedLongLong(*value) : none();
}

// A Config by its own names.
PyObject* config_dict(const Config& config) {
  Ref dict(PyDict_New()), tags(PyDict_New());
  if (!dict || !tags) return nullptr;
  for (const auto& [key, text] : config.session_tags) {
    if (!put(tags.get(), key.c_str(), to_str(text))) return nullptr;
  }
  PyObject* const d = dict.get();
  const bool fine =
      put(d, "enabled", flag(config.enabled)) &&
      put(d, "real_time_display", flag(config.real_time_display)) &&
      put(d, "display_interval", PyFloat_FromDouble(config.display_interval)) &&
      put(d, "gpu_monitor_interval", PyFloat_FromDouble(config.gpu_monitor_interval)) &&
      put(d, "monitor_gpu_memory", flag(config.monitor_gpu_memory)) &&
      put(d, "monitor_gpu_utilization", flag(config.monitor_gpu_utilization)) &&
      put(d, "monitor_gpu_temperature", flag(config.monitor_gpu_temperature)) &&
      put(d, "monitor_gpu_power", flag(config.monitor_gpu_power)) &&
      put(d, "cpu_monitor_interval", PyFloat_FromDouble(config.cpu_monitor_interval)) &&
      put(d, "monitor_cpu_usage", flag(config.monitor_cpu_usage)) &&
      put(d, "monitor_system_memory", flag(config.monitor_system_memory)) &&
      put(d, "generate_final_report", flag(config.generate_final_report)) &&
      put(d, "report_format", to_str(name(config.report_format))) &&
      put(d, "save_raw_data", flag(config.save_raw_data)) &&
      put(d, "output_dir", to_str(config.output_dir)) &&
      put(d, "max_data_points", count(config.max_data_points)) &&
      put(d, "session_tags", tags.release()) && put(d, "keep_args", flag(config.keep_args)) &&
      put(d, "profile_inference_steps", flag(config.profile_inference_steps)) &&
      put(d, "profile_vae_decode", flag(config.profile_vae_decode)) &&
      put(d, "profile_text_encoding", flag(config.profile_text_encoding));
  return fine ? dict.release() : nullptr;
}
PyObject* config_or_raise(const Result<Config>& config) {
  return config ? config_dict(*config) : raise(config.error());
}
PyObject* read_config(PyObject*, PyObject* args) {
  const char* path = nullptr;
  if (PyArg_ParseTuple(args, "s", &path) == 0) return nullptr;
  return config_or_raise(load_config(path));
}
PyObject* read_config_text(PyObject*, PyObject* args) {
  const char *text = nullptr, *file = nullptr;
  if (PyArg_ParseTuple(args, "ss", &text, &file) == 0) return nullptr;
  return config_or_raise(parse_config(text, file));
}
PyObject* config_preset(PyObject*, PyObject* args) {
  const char* text = nullptr;
  if (PyArg_ParseTuple(args, "s", &text) == 0) return nullptr;
  return config_or_raise(preset(text));
}

// A MonitorConfig by its own names.
PyObject* read_monitor_config(PyObject*, PyObject* args) {
  const char* path = nullptr;
  if (PyArg_ParseTuple(args, "s", &path) == 0) return nullptr;
  const Result<MonitorConfig> config = load_monitor_config(path);
  if (!config) return raise(config.error());
  Ref dict(PyDict_New());
  if (!dict) return nullptr;
  PyObject* const d = dict.get();
  const bool fine = put(d, "enable_memory_monitoring", flag(config->enable_memory_monitoring)) &&
                    put(d, "memory_monitor_batches", count(config->memory_monitor_batches)) &&
                    put(d, "batch_size", count(config->batch_size)) &&
                    put(d, "num_workers", count(config->num_workers)) &&
                    put(d, "epochs", count(config->epochs)) &&
                    put(d, "device", count(config->device)) &&
                    put(d, "warmup_batches", count(config->warmup_batches)) &&
                    put(d, "max_records", count(config->max_records)) &&
                    put(d, "profiling", config_dict(config->profiling));
  return fine ? dict.release() : nullptr;
}

PyObject* settings_for(PyObject*, PyObject* args) {
  const char *architecture = nullptr, *gpu = nullptr, *model = nullptr;
  if (PyArg_ParseTuple(args, "s|zz", &architecture, &gpu, &model) == 0) return nullptr;
  if (gpu == nullptr && model == nullptr) {
    return to_str(to_json(configure_generation_settings(architecture)));
  }
  const std::string of[] = {architecture, gpu != nullptr ? gpu : "", model != nullptr ? model : ""};
  std::optional<Error> error;
  std::string json;
  {
    const WithoutGil released;
    const Result<PipelineSettings> settings = recommend_settings(of[0], of[1], of[2]);
    if (settings) {
      json = to_json(*settings);
    } else {
      error = settings.error();
    }
  }
  return error ? raise(*error) : to_str(json);
}

RankFigures figures_of(const Recording& recording) {
  if (recording.kind == Recording::Kind::inferix_report) {
    const Result<InferixReport> report = read_inferix_report(recording.path);
    if (report) return rank_figures(*report);
    return unread_figures(recording.path, recording.rank, report.error().message);
  }
  const Result<Run> run = read_recording(recording);
  if (!run) return unread_figures(recording.path, recording.rank, run.error().message);
  RankFigures figures = rank_figures(*run, analyze(*run));
  figures.run_processes = recording.traces;
  return figures;
}

// aggregate(path, reports_only, /) -> (JSON of `genscope.aggregate/1`, list of what was skipped)
PyObject* aggregate_path(PyObject*, PyObject* args) {
  const char* path = nullptr;
  int reports_only = 0;
  if (PyArg_ParseTuple(args, "s|p", &path, &reports_only) == 0) return nullptr;
  std::optional<Error> error;
  std::vector<std::string> skipped;
  std::string json;
  {
    const std::string at = path;
    const WithoutGil released;
    const Result<Recordings> all = find_recordings(at);
    if (all) {
      Aggregator aggregator;
      for (const Recording& one : all->found) {
        if (reports_only != 0 && one.kind != Recording::Kind::inferix_report) continue;
        aggregator.add(figures_of(one));
      }
      skipped = all->skipped;
      aggregate_json(aggregator.finish(), [&](std::string_view piece) { json += piece; });
    } else {
      error = all.error();
    }
  }
  if (error) return raise(*error);
  Ref list(PyList_New(0));
  for (const std::string& line : skipped) {
    const Ref text(to_str(line));
    if (!list || !text || PyList_Append(list.get(), text.get()) != 0) return nullptr;
  }
  return Py_BuildValue("(NN)", to_str(json), list.release());
}

Method monitors_settings_functions[] = {
    reading<read_config>("load_config", METH_VARARGS, "load_config(path, /) -> dict"),
    reading<read_config_text>("parse_config", METH_VARARGS,
                              "parse_config(yaml, file_name, /) -> dict"),
    reading<config_preset>("preset", METH_VARARGS, "preset(name, /) -> dict"),
    reading<read_monitor_config>("load_monitor_config", METH_VARARGS,
                                 "load_monitor_config(path, /) -> dict"),
    reading<settings_for>("pipeline_settings", METH_VARARGS,
                          "pipeline_settings(architecture, gpu=None, model=None, /) -> JSON"),
    reading<aggregate_path>("aggregate", METH_VARARGS, "aggregate(path, reports_only, /)"),
    {},
};

}  // namespace

bool add_settings(PyObject* module) { return add_functions(module, monitors_settings_functions); }

}  // namespace genscope::python
