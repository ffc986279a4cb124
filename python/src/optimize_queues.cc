// Batches and admission for genscope.optimize. take_waiting() waits without the GIL; nothing else
// waits.
#include <genscope/optimize/admission.h>
#include <genscope/optimize/batch.h>

#include <string>
#include <vector>

#include "monitors.h"
#include "optimize_flow.h"

namespace genscope::python {
namespace {

using namespace genscope::optimize;

bool put_item(PyObject* dict, const char* key, PyObject* owned) noexcept {
  const Ref held(owned);
  return held && PyDict_SetItemString(dict, key, held.get()) == 0;
}

PyObject* to_list(const std::vector<std::uint64_t>& ids) noexcept {
  Ref list(PyList_New(0));
  for (const std::uint64_t id : ids) {
    const Ref number(PyLong_FromUnsignedLongLong(id));
    if (!list || !number || PyList_Append(list.get(), number.get()) != 0) return nullptr;
  }
  return list.release();
}

bool ids_from(PyObject* list, std::vector<std::uint64_t>& ids) {
  if (PyList_Check(list) == 0) {
    PyErr_SetString(PyExc_TypeError, "a list of ids is needed");
    return false;
  }
  for (Py_ssize_t i = 0; i < PyList_Size(list); ++i) {
    ids.push_back(PyLong_AsUnsignedLongLong(PyList_GetItem(list, i)));
    if (PyErr_Occurred() != nullptr) return false;
  }
  return true;
}

// {labels..., "count", "sum_seconds", "p50", "p95", "p99", "buckets": [(bound or None, count)]}
// each.
PyObject* to_list(const std::vector<QueueTimes>& rows) noexcept {
  Ref list(PyList_New(0));
  for (const QueueTimes& row : rows) {
    Ref item(PyDict_New()), buckets(PyList_New(0));
    if (!list || !item || !buckets) return nullptr;
    const QueueHistogram& waited = row.waited;
    for (std::size_t i = 0; i < waited.counts.size(); ++i) {
      const bool bounded = i < QueueHistogram::kBounds.size();
      const Ref pair(
          Py_BuildValue("NK", bounded ? PyFloat_FromDouble(QueueHistogram::kBounds[i]) : none(),
                        static_cast<unsigned long long>(waited.counts[i])));
      if (!pair || PyList_Append(buckets.get(), pair.get()) != 0) return nullptr;
    }
    for (const auto& [label, text] : row.labels) {
      if (!put_item(item.get(), label.c_str(), to_str(text))) return nullptr;
    }
    const bool whole =
        put_item(item.get(), "count", PyLong_FromUnsignedLongLong(waited.count)) &&
        put_item(item.get(), "sum_seconds", PyFloat_FromDouble(waited.sum_seconds)) &&
        put_item(item.get(), "p50", to_float(waited.quantile(0.5))) &&
        put_item(item.get(), "p95", to_float(waited.quantile(0.95))) &&
        put_item(item.get(), "p99", to_float(waited.quantile(0.99))) &&
        put_item(item.get(), "buckets", buckets.release());
    if (!whole || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

std::size_t at_least_zero(Py_ssize_t value) {
  return value > 0 ? static_cast<std::size_t>(value) : 0;
}

// --- batches

using QueueObject = Holder<BatchQueue>;

PyObject* queue_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {"name",       "most",        "most_cost",        "max_delay",
                                "least_gain", "slo_seconds", "look_again_every", "most_waiting",
                                nullptr};
  BatchOptions options;
  const char* name = "batcher";
  Py_ssize_t most = static_cast<Py_ssize_t>(options.most);
  Py_ssize_t look = static_cast<Py_ssize_t>(options.look_again_every);
  Py_ssize_t waiting = static_cast<Py_ssize_t>(options.most_waiting);
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$snddddnn", const_cast<char**>(names), &name,
                                  &most, &options.most_cost, &options.max_delay_seconds,
                                  &options.least_gain, &options.slo_seconds, &look,
                                  &waiting) == 0) {
    return nullptr;
  }
  options.name = name;
  options.most = at_least_zero(most);
  options.look_again_every = at_least_zero(look);
  options.most_waiting = at_least_zero(waiting);
  return QueueObject::make(type, std::move(options));
}
PyObject* queue_push(PyObject* self, PyObject* args) {
  PyObject *key = nullptr, *timeout = Py_None;
  double cost = 1;
  if (PyArg_ParseTuple(args, "O|dO", &key, &cost, &timeout) == 0) return nullptr;
  std::string_view text;
  std::int64_t deadline = kNoDeadline;
  if (!text_of(key, text) || !deadline_after(timeout, deadline)) return nullptr;
  const auto id = QueueObject::of(self).push(text, cost, deadline, flow_now_ns());
  return id ? PyLong_FromUnsignedLongLong(*id) : none();
}
PyObject* queue_cancel(PyObject* self, PyObject* id) {
  const unsigned long long number = PyLong_AsUnsignedLongLong(id);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyBool_FromLong(QueueObject::of(self).cancel(number) ? 1 : 0);
}
PyObject* queue_take(PyObject* self, PyObject*) {
  BatchQueue& queue = QueueObject::of(self);
  BatchQueue::Take taken;
  {
    const WithoutGil released;
    taken = queue.take_waiting();
  }
  return Py_BuildValue("NNN", to_list(taken.batch), to_list(taken.expired),
                       PyBool_FromLong(taken.closed ? 1 : 0));
}
PyObject* queue_finish(PyObject* self, PyObject* args) {
  PyObject *list = nullptr, *kind = Py_None;
  double seconds = 0;
  if (PyArg_ParseTuple(args, "OOd", &list, &kind, &seconds) == 0) return nullptr;
  std::vector<std::uint64_t> ids;
  if (!ids_from(list, ids)) return nullptr;
  Failed failure;
  if (kind != Py_None) {
    std::string_view text;
    if (!text_of(kind, text) || !failure_from(std::string(text).c_str(), failure)) return nullptr;
  }
  const BatchQueue::Finish done = QueueObject::of(self).finish(
      ids, kind != Py_None ? &failure : nullptr, seconds, flow_now_ns());
  return to_list(done.failed);
}
PyObject* queue_close(PyObject* self, PyObject*) {
  QueueObject::of(self).close();
  return none();
}
PyObject* queue_cancel_all(PyObject* self, PyObject*) {
  return to_list(QueueObject::of(self).cancel_all());
}
PyObject* queue_gain(PyObject* self, PyObject* args) {
  const char* key = nullptr;
  Py_ssize_t b = 2;
  if (PyArg_ParseTuple(args, "s|n", &key, &b) == 0) return nullptr;
  return to_float(QueueObject::of(self).gain(key, at_least_zero(b)));
}
PyObject* queue_limit(PyObject* self, PyObject* key) {
  std::string_view text;
  if (!text_of(key, text)) return nullptr;
  return PyFloat_FromDouble(QueueObject::of(self).limit(text));
}
PyObject* queue_waiting(PyObject* self, void*) {
  return PyLong_FromSize_t(QueueObject::of(self).waiting());
}

PyObject* queue_stats(PyObject* self, PyObject*) {
  const BatchStats stats = QueueObject::of(self).stats();
  const auto number = [](std::uint64_t value) { return PyLong_FromUnsignedLongLong(value); };
  Ref out(PyDict_New());
  const bool whole = out && put_item(out.get(), "requests", number(stats.requests)) &&
                     put_item(out.get(), "batches", number(stats.batches)) &&
                     put_item(out.get(), "expired", number(stats.expired)) &&
                     put_item(out.get(), "splits", number(stats.splits)) &&
                     put_item(out.get(), "waiting", number(stats.waiting)) &&
                     put_item(out.get(), "running", number(stats.running)) &&
                     put_item(out.get(), "queue", to_list(stats.queue));
  return whole ? out.release() : nullptr;
}
PyObject* queue_text(PyObject* self, PyObject*) {
  const BatchQueue& queue = QueueObject::of(self);
  return to_str(prometheus_text(queue.stats(), queue.options().name));
}

Method queue_methods[] = {
    reading<queue_push>("push", METH_VARARGS, "push(key, cost, timeout) -> id, or None: full"),
    reading<queue_cancel>("cancel", METH_O, "cancel(id) -> whether it still waited"),
    reading<queue_take>("take_waiting", METH_NOARGS, "take_waiting() -> (batch, expired, closed)"),
    reading<queue_finish>("finish", METH_VARARGS,
                          "finish(ids, kind or None, seconds) -> ids that failed for good"),
    reading<queue_close>("close", METH_NOARGS, "Nothing more is pushed."),
    reading<queue_cancel_all>("cancel_all", METH_NOARGS, "cancel_all() -> ids that waited"),
    reading<queue_gain>("gain", METH_VARARGS, "gain(key, b=2) -> float or None"),
    reading<queue_limit>("limit", METH_O, "limit(key) -> float"),
    reading<queue_stats>("stats", METH_NOARGS, "stats() -> dict"),
    reading<queue_text>("prometheus_text", METH_NOARGS, "prometheus_text() -> str"),
    {},
};
Value queue_values[] = {value<queue_waiting>("waiting"), {}};
Slot queue_slots[] = {
    Slot::made<queue_new, QueueObject>(),
    Slot::dealloc<QueueObject::dealloc>(),
    Slot(queue_methods),
    Slot(queue_values),
    {},
};
constexpr TypeSpec queue_spec = {"genscope._core.BatchQueue", sizeof(QueueObject), queue_slots};

// --- admission

using AdmissionObject = Holder<AdmissionQueue>;

bool classes_from(PyObject* dict, AdmissionOptions& options) {
  if (dict == Py_None) return true;
  if (PyDict_Check(dict) == 0) {
    PyErr_SetString(PyExc_TypeError, "classes is a dict of names and queue lengths");
    return false;
  }
  options.classes.clear();
  PyObject *key = nullptr, *length = nullptr;
  Py_ssize_t at = 0;
  while (PyDict_Next(dict, &at, &key, &length) != 0) {
    std::string_view text;
    if (!text_of(key, text)) return false;
    const std::size_t queue = PyLong_AsSize_t(length);
    if (PyErr_Occurred() != nullptr) return false;
    options.classes.push_back({std::string(text), queue});
  }
  return true;
}

PyObject* admission_new(PyTypeObject* type, PyObject* args, PyObject* keywords) {
  static const char* names[] = {
      "name",   "classes",      "concurrency",    "most_concurrency", "seconds_per_cost",
      "safety", "queue_target", "queue_interval", "down_after",       nullptr};
  AdmissionOptions options;
  const char* name = "admission";
  PyObject* classes = Py_None;
  double most = 0;
  if (PyArg_ParseTupleAndKeywords(args, keywords, "|$sOddddddd", const_cast<char**>(names), &name,
                                  &classes, &options.concurrency, &most, &options.seconds_per_cost,
                                  &options.safety, &options.queue_target_seconds,
                                  &options.queue_interval_seconds,
                                  &options.replicas.down_after_seconds) == 0 ||
      !classes_from(classes, options)) {
    return nullptr;
  }
  options.name = name;
  if (most > 1) options.limit.most = most;
  return AdmissionObject::make(type, std::move(options));
}

PyObject* after_of(const AdmissionRefusal& refusal) {
  return to_float(refusal.retry_after_seconds);
}
PyObject* decided_list(const std::vector<AdmissionQueue::Decided>& decided) {
  Ref list(PyList_New(0));
  for (const AdmissionQueue::Decided& one : decided) {
    const Ref item(Py_BuildValue("KNsN", static_cast<unsigned long long>(one.id),
                                 PyBool_FromLong(one.run ? 1 : 0), name(one.refusal.why),
                                 after_of(one.refusal)));
    if (!list || !item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}

// enter(in_class, cost, timeout, tenant) -> (id, "run" | "wait" | "refused", why, retry_after)
PyObject* admission_enter(PyObject* self, PyObject* args) {
  Py_ssize_t in_class = 0;
  double cost = 1;
  PyObject *timeout = Py_None, *tenant = nullptr;
  if (PyArg_ParseTuple(args, "n|dOO", &in_class, &cost, &timeout, &tenant) == 0) return nullptr;
  AdmissionRequest request{at_least_zero(in_class), cost, kNoDeadline, {}};
  if (!deadline_after(timeout, request.deadline_ns)) return nullptr;
  if (tenant != nullptr && !text_of(tenant, request.tenant)) return nullptr;
  const auto entered = AdmissionObject::of(self).enter(request, flow_now_ns());
  static constexpr const char* kStates[] = {"run", "wait", "refused"};
  return Py_BuildValue("KssN", static_cast<unsigned long long>(entered.id),
                       kStates[static_cast<std::size_t>(entered.state)], name(entered.refusal.why),
                       after_of(entered.refusal));
}
PyObject* admission_finished(PyObject* self, PyObject* args) {
  unsigned long long id = 0;
  int ok = 1, overloaded = 0;
  if (PyArg_ParseTuple(args, "K|pp", &id, &ok, &overloaded) == 0) return nullptr;
  return decided_list(
      AdmissionObject::of(self).finished(id, ok != 0, flow_now_ns(), overloaded != 0));
}
PyObject* admission_cancel(PyObject* self, PyObject* id) {
  const unsigned long long number = PyLong_AsUnsignedLongLong(id);
  if (PyErr_Occurred() != nullptr) return nullptr;
  return PyBool_FromLong(AdmissionObject::of(self).cancel(number) ? 1 : 0);
}
PyObject* admission_expire(PyObject* self, PyObject*) {
  return decided_list(AdmissionObject::of(self).expire(flow_now_ns()));
}
PyObject* admission_close(PyObject* self, PyObject*) {
  return decided_list(AdmissionObject::of(self).close());
}
PyObject* admission_stats(PyObject* self, PyObject*) {
  const AdmissionStats stats = AdmissionObject::of(self).stats(flow_now_ns());
  Ref out(PyDict_New());
  if (!out) return nullptr;
  const auto number = [](std::uint64_t value) { return PyLong_FromUnsignedLongLong(value); };
  const bool whole =
      put_item(out.get(), "admitted", number(stats.admitted)) &&
      put_item(out.get(), "rejected", number(stats.rejected)) &&
      put_item(out.get(), "overdue", number(stats.overdue)) &&
      put_item(out.get(), "cancelled", number(stats.cancelled)) &&
      put_item(out.get(), "finished", number(stats.finished)) &&
      put_item(out.get(), "failed", number(stats.failed)) &&
      put_item(out.get(), "waiting", number(stats.waiting)) &&
      put_item(out.get(), "running", number(stats.running)) &&
      put_item(out.get(), "limit", PyFloat_FromDouble(stats.limit)) &&
      put_item(out.get(), "seconds_per_cost", to_float(stats.seconds_per_cost)) &&
      put_item(out.get(), "arriving_per_second", to_float(stats.arriving_per_second)) &&
      put_item(out.get(), "desired_replicas",
               stats.desired_replicas ? number(*stats.desired_replicas) : none()) &&
      put_item(out.get(), "queue", to_list(stats.queue));
  return whole ? out.release() : nullptr;
}
PyObject* admission_text(PyObject* self, PyObject*) {
  const AdmissionQueue& queue = AdmissionObject::of(self);
  return to_str(prometheus_text(queue.stats(flow_now_ns()), queue.options().name));
}

Method admission_methods[] = {
    reading<admission_enter>(
        "enter", METH_VARARGS,
        "enter(in_class, cost, timeout, tenant) -> (id, state, why, retry_after)"),
    reading<admission_finished>("finished", METH_VARARGS,
                                "finished(id, ok, overloaded) -> [(id, run, why, retry_after)]"),
    reading<admission_cancel>("cancel", METH_O, "cancel(id) -> whether it still waited"),
    reading<admission_expire>("expire", METH_NOARGS, "expire() -> as finished()"),
    reading<admission_close>("close", METH_NOARGS, "close() -> as finished()"),
    reading<admission_stats>("stats", METH_NOARGS, "stats() -> dict"),
    reading<admission_text>("prometheus_text", METH_NOARGS, "prometheus_text() -> str"),
    {},
};
Slot admission_slots[] = {
    Slot::made<admission_new, AdmissionObject>(),
    Slot::dealloc<AdmissionObject::dealloc>(),
    Slot(admission_methods),
    {},
};
constexpr TypeSpec admission_spec = {"genscope._core.AdmissionQueue", sizeof(AdmissionObject),
                                     admission_slots};

// --- functions

// optimal_batch(probe, budget_bytes, most, most_probes, most_out_of_memory, least_gain, known_out)
// probe(b) -> (fits, bytes or None, seconds or None); what it raises ends the search.
PyObject* search_batch(PyObject*, PyObject* args) {
  PyObject* probe = nullptr;
  BatchSearchOptions options;
  double budget = 0;
  Py_ssize_t most = 0, known = 0;
  if (PyArg_ParseTuple(args, "Odniidn", &probe, &budget, &most, &options.most_probes,
                       &options.most_out_of_memory, &options.least_gain, &known) == 0) {
    return nullptr;
  }
  options.most = at_least_zero(most);
  BatchCeilings ceilings;
  options.ceilings = &ceilings;
  if (known > 0) ceilings.ran_out("", static_cast<std::size_t>(known));
  struct Stopped {};
  BatchSearch found;
  try {
    found = optimal_batch(
        [probe](std::size_t batch) {
          const Ref seen(PyObject_CallFunction(probe, "n", static_cast<Py_ssize_t>(batch)));
          if (!seen) throw Stopped{};
          int fits = 0;
          PyObject *bytes = nullptr, *seconds = nullptr;
          if (PyArg_ParseTuple(seen.get(), "pOO", &fits, &bytes, &seconds) == 0) throw Stopped{};
          BatchProbe out;
          out.fits = fits != 0;
          double number = 0;
          if (number_from(bytes, number)) out.bytes = number;
          if (number_from(seconds, number)) out.seconds = number;
          return out;
        },
        budget, options);
  } catch (const Stopped&) {
    return nullptr;
  }
  Ref probes(PyList_New(0));
  for (const BatchProbe& one : found.probes) {
    const Ref item(Py_BuildValue("nNNN", static_cast<Py_ssize_t>(one.batch),
                                 PyBool_FromLong(one.fits ? 1 : 0), to_float(one.bytes),
                                 to_float(one.seconds)));
    if (!probes || !item || PyList_Append(probes.get(), item.get()) != 0) return nullptr;
  }
  Ref out(PyDict_New());
  const bool whole =
      out && probes && put_item(out.get(), "batch", PyLong_FromSize_t(found.batch)) &&
      put_item(out.get(), "largest_fit", PyLong_FromSize_t(found.largest_fit)) &&
      put_item(out.get(), "smallest_out",
               found.smallest_out ? PyLong_FromSize_t(*found.smallest_out) : none()) &&
      put_item(out.get(), "base_bytes", to_float(found.base_bytes)) &&
      put_item(out.get(), "bytes_per_item", to_float(found.bytes_per_item)) &&
      put_item(out.get(), "out_of_memory", PyLong_FromLong(found.out_of_memory)) &&
      put_item(out.get(), "reason", to_str(found.reason)) &&
      put_item(out.get(), "probes", probes.release());
  return whole ? out.release() : nullptr;
}

PyObject* replicas(PyObject*, PyObject* args) {
  double arriving = 0, capacity = 0;
  if (PyArg_ParseTuple(args, "dd", &arriving, &capacity) == 0) return nullptr;
  const auto wanted = desired_replicas(arriving, capacity);
  return wanted ? PyLong_FromSize_t(*wanted) : none();
}

Method optimize_queues_functions[] = {
    reading<search_batch>("optimal_batch", METH_VARARGS),
    reading<replicas>("desired_replicas", METH_VARARGS,
                      "desired_replicas(arriving_cost_per_second, capacity_per_second)"),
    {},
};

}  // namespace

bool add_optimize_queues(PyObject* module) {
  return add_type(module, queue_spec, "BatchQueue") &&
         add_type(module, admission_spec, "AdmissionQueue") &&
         add_functions(module, optimize_queues_functions);
}

}  // namespace genscope::python
