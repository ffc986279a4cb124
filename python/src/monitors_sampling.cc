// The sampler and its probes: what was last read, as dicts.
#include <genscope/config.h>
#include <genscope/probe.h>

#include <utility>
#include <vector>

#include "monitors.h"

namespace genscope::python {
namespace {

using SamplerObject = Holder<std::unique_ptr<Sampler>>;

PyObject* sampler_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"probes",          "interval",  "gpu_memory", "gpu_utilization",
                                "gpu_temperature", "gpu_power", "budget",     nullptr};
  PyObject* list = nullptr;
  double interval = 0.1;
  int memory = 1, busy = 1, temperature = 1, power = 1;
  SamplerOptions options;
  options.budget_ratio = 0.01;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "O|$dppppd", const_cast<char**>(names), &list,
                                  &interval, &memory, &busy, &temperature, &power,
                                  &options.budget_ratio) == 0) {
    return nullptr;
  }
  ProbeOptions probing = probe_options_from_environment();
  probing.gpu_memory = memory != 0;
  probing.gpu_utilization = busy != 0;
  probing.gpu_temperature = temperature != 0;
  probing.gpu_power = power != 0;
  const TierPeriods tiers = periods(interval);
  options.fast_ns = tiers.fast_ns;
  options.normal_ns = tiers.normal_ns;
  options.slow_ns = tiers.slow_ns;
  auto sampler = std::make_unique<Sampler>(options);
  const Ref items(PySequence_List(list));
  if (!items) return nullptr;
  for (Py_ssize_t i = 0; i < PyList_Size(items.get()); ++i) {
    std::string_view name;
    if (!text_of(PyList_GetItem(items.get(), i), name)) return nullptr;
    Result<std::unique_ptr<Probe>> probe = make_probe(name, probing);
    if (!probe) return raise(probe.error());
    sampler->add(std::move(*probe));
  }
  return SamplerObject::make(type, std::move(sampler));
}

PyObject* sampler_start(PyObject* self, PyObject*) {
  std::optional<Error> error;
  {
    const WithoutGil released;
    const Status started = SamplerObject::of(self)->start();
    if (!started) error = started.error();
  }
  return error ? raise(*error) : none();
}
PyObject* sampler_stop(PyObject* self, PyObject*) {
  {
    const WithoutGil released;
    SamplerObject::of(self)->stop();
  }
  return none();
}
void sampler_dealloc(PyObject* self) {
  if (SamplerObject::full_in(self)) {
    std::unique_ptr<Sampler> sampler = std::move(SamplerObject::of(self));
    const WithoutGil released;
    sampler.reset();
  }
  SamplerObject::dealloc(self);
}

// {kind, id, name, facts{}, values{metric: number}, absent{metric: reason}}
PyObject* entity_dict(const Snapshot& now, std::uint32_t number) {
  const Entity& entity = now.entities[number];
  Ref dict(PyDict_New()), facts(PyDict_New()), values(PyDict_New()), absent(PyDict_New());
  if (!dict || !facts || !values || !absent) return nullptr;
  for (const auto& [key, text] : entity.facts) {
    if (!put(facts.get(), key, to_str(text))) return nullptr;
  }
  for (const Snapshot::Series& series : now.series) {
    if (series.entity != number) continue;
    const Reading& reading = series.reading;
    if (reading.status == SampleStatus::ok) {
      if (!put(values.get(), series.metric->id, PyFloat_FromDouble(reading.value))) return nullptr;
    } else {
      const std::string_view why =
          reading.reason != nullptr ? reading.reason : name(reading.status);
      if (!put(absent.get(), series.metric->id, to_str(why))) return nullptr;
    }
  }
  if (!put(dict.get(), "kind", to_str(name(entity.kind))) ||
      !put(dict.get(), "id", to_str(entity.id)) || !put(dict.get(), "name", to_str(entity.name)) ||
      !put(dict.get(), "facts", facts.release()) || !put(dict.get(), "values", values.release()) ||
      !put(dict.get(), "absent", absent.release())) {
    return nullptr;
  }
  return dict.release();
}

// snapshot() -> list of entities.
PyObject* sampler_snapshot(PyObject* self, PyObject*) {
  Snapshot now;
  {
    const WithoutGil released;
    now = SamplerObject::of(self)->snapshot();
  }
  Ref list(PyList_New(0));
  for (std::uint32_t i = 0; list && i < now.entities.size(); ++i) {
    const Ref dict(entity_dict(now, i));
    if (!dict || PyList_Append(list.get(), dict.get()) != 0) return nullptr;
  }
  return list.release();
}

// reports() -> list of (probe, state, reason).
PyObject* sampler_reports(PyObject* self, PyObject*) {
  std::vector<ProbeReport> reports;
  {
    const WithoutGil released;
    reports = SamplerObject::of(self)->reports();
  }
  Ref list(PyList_New(0));
  for (const ProbeReport& report : reports) {
    if (!list) return nullptr;
    const Ref row(Py_BuildValue("(NNN)", to_str(report.name), to_str(name(report.state.kind)),
                                to_str(report.state.reason)));
    if (!row || PyList_Append(list.get(), row.get()) != 0) return nullptr;
  }
  return list.release();
}
PyObject* sampler_request(PyObject* self, PyObject*) {
  SamplerObject::of(self)->request(Tier::fast);
  SamplerObject::of(self)->request(Tier::normal);
  return none();
}

Method sampler_methods[] = {
    recording<sampler_start>("start", METH_NOARGS,
                             "Opens the probes, reads once, starts the thread."),
    recording<sampler_stop>("stop", METH_NOARGS, "Reads a last time and ends the thread."),
    reading<sampler_snapshot>("snapshot", METH_NOARGS, "What was last read, a dict per entity."),
    reading<sampler_reports>("reports", METH_NOARGS, "(probe, state, reason) of each."),
    recording<sampler_request>("request", METH_NOARGS, "Reads at the next occasion."),
    {},
};
Slot sampler_slots[] = {
    Slot::made<sampler_new, SamplerObject>(),
    Slot::dealloc<sampler_dealloc>(),
    Slot(sampler_methods),
    {},
};
constexpr TypeSpec sampler_spec = {"genscope._core.Sampler", sizeof(SamplerObject), sampler_slots};

}  // namespace

bool add_sampler(PyObject* module) { return add_type(module, sampler_spec, "Sampler"); }

}  // namespace genscope::python
