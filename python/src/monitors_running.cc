// Steps go with the GIL held: they ask nothing of Python under a lock, and to let go of it would
// cost more than a step does.
#include "monitors_running.h"

namespace genscope::python {
namespace {

PyTypeObject* g_running = nullptr;

PyObject* running_begin(PyObject* self, PyObject*) {
  if (Generation* const of = RunningObject::of(self).get()) of->begin_step();
  return none();
}
PyObject* running_end_step(PyObject* self, PyObject*) {
  Generation* const of = RunningObject::of(self).get();
  return to_float(of != nullptr ? of->end_step() : std::nullopt);
}
PyObject* running_note(PyObject* self, PyObject* bytes) {
  const unsigned long long used = PyLong_AsUnsignedLongLong(bytes);
  if (PyErr_Occurred() != nullptr) return nullptr;
  if (Generation* const of = RunningObject::of(self).get()) of->note_gpu_memory(used);
  return none();
}
// progress() -> (steps done, elapsed, projected or None, out of reach)
PyObject* running_progress(PyObject* self, PyObject*) {
  const Generation* const of = RunningObject::of(self).get();
  const GenerationProgress now = of != nullptr ? of->progress() : GenerationProgress{};
  return Py_BuildValue("(KdNO)", static_cast<unsigned long long>(now.steps_done),
                       now.elapsed_seconds, to_float(now.projected_seconds),
                       now.out_of_reach ? Py_True : Py_False);
}
PyObject* running_span(PyObject* self, PyObject*) {
  return PyLong_FromUnsignedLongLong(RunningObject::of(self).span);
}

// finish(reason=None, /) -> whether it met the target; a reason makes it a failure. None once
// ended.
PyObject* running_finish(PyObject* self, PyObject* args) {
  const char* reason = nullptr;
  if (PyArg_ParseTuple(args, "|z", &reason) == 0) return nullptr;
  Running& running = RunningObject::of(self);
  Generation* const of = running.get();
  if (of == nullptr || !of->running()) return none();
  if (running.in_task.id != 0) {
    leave_in_task(running.in_task);
  } else if (running.span != 0) {
    pop(running.span);
  }
  {
    const std::string why = reason != nullptr ? reason : "";
    const WithoutGil released;
    running.ended = reason != nullptr ? of->fail(why) : of->end();
    running.detached.reset();
    if (running.thread == std::this_thread::get_id()) running.scoped.reset();
  }
  return PyBool_FromLong(running.ended->target_met ? 1 : 0);
}

PyObject* running_metrics(PyObject* self, PyObject*) {
  const auto& ended = RunningObject::of(self).ended;
  return ended ? to_str(to_json(*ended)) : none();
}

PyMethodDef running_methods[] = {
    {"begin_step", running_begin, METH_NOARGS, nullptr},
    {"end_step", running_end_step, METH_NOARGS, "Seconds, or None if no step was open."},
    {"note_gpu_memory", running_note, METH_O, "Bytes in use, by the framework's allocator."},
    {"progress", running_progress, METH_NOARGS, "(steps, elapsed, projected, out of reach)"},
    {"span", running_span, METH_NOARGS, "Id of its span, 0 while nothing is recorded."},
    {"finish", running_finish, METH_VARARGS, "finish(reason=None, /) -> bool"},
    {"metrics", running_metrics, METH_NOARGS, "JSON once it has ended, else None."},
    {nullptr, nullptr, 0, nullptr},
};
PyType_Slot running_slots[] = {
    {Py_tp_dealloc, reinterpret_cast<void*>(RunningObject::dealloc)},
    {Py_tp_methods, running_methods},
    {0, nullptr},
};
PyType_Spec running_spec = {"genscope._core.Generation", sizeof(RunningObject), 0,
                            Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, running_slots};

}  // namespace

PyTypeObject* running_type() noexcept { return g_running; }

bool add_running(PyObject* module) {
  g_running =
      reinterpret_cast<PyTypeObject*>(PyType_FromModuleAndSpec(module, &running_spec, nullptr));
  return g_running != nullptr;
}

}  // namespace genscope::python
