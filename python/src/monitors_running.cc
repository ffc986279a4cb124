// Steps go with the GIL held: they ask nothing of Python under a lock, and to let go of it would
// cost more than a step does.
#include "monitors_running.h"

namespace genscope::python {
namespace {

PyTypeObject* g_running = nullptr;
PyObject* g_ended = nullptr;  // a Generation that does nothing

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
  if (running.ended->id == 0) {  // there was no memory for them
    running.ended.reset();
    return none();
  }
  return PyBool_FromLong(running.ended->target_met ? 1 : 0);
}

PyObject* running_metrics(PyObject* self, PyObject*) {
  const auto& ended = RunningObject::of(self).ended;
  return ended ? to_str(to_json(*ended)) : none();
}

Method running_methods[] = {
    recording<running_begin>("begin_step", METH_NOARGS),
    recording<running_end_step>("end_step", METH_NOARGS, "Seconds, or None if no step was open."),
    recording<running_note>("note_gpu_memory", METH_O,
                            "Bytes in use, by the framework's allocator."),
    reading<running_progress>("progress", METH_NOARGS, "(steps, elapsed, projected, out of reach)"),
    recording<running_span, DropId>("span", METH_NOARGS,
                                    "Id of its span, 0 while nothing is recorded."),
    recording<running_finish>("finish", METH_VARARGS, "finish(reason=None, /) -> bool"),
    reading<running_metrics>("metrics", METH_NOARGS, "JSON once it has ended, else None."),
    {},
};
Slot running_slots[] = {
    Slot::dealloc<RunningObject::dealloc>(),
    Slot(running_methods),
    {},
};
constexpr TypeSpec running_spec = {"genscope._core.Generation", sizeof(RunningObject),
                                   running_slots, kMadeHere};

}  // namespace

PyTypeObject* running_type() noexcept { return g_running; }

PyObject* give_ended(PyObject*, PyObject* const*) noexcept { return another(g_ended).release(); }

bool add_running(PyObject* module) {
  g_running = make_type(module, running_spec);
  g_ended = g_running != nullptr ? RunningObject::make(g_running) : nullptr;
  return g_ended != nullptr;
}

}  // namespace genscope::python
