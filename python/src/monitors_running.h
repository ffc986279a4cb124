// A generation that runs, as an object of Python.
#pragma once

#include <genscope/monitor.h>

#include <memory>
#include <optional>
#include <thread>

#include "monitors.h"
#include "open_spans.h"

namespace genscope::python {

// Scoped on a thread of its own, detached in an event loop, where tasks take turns.
struct Running {
  std::unique_ptr<ScopedGeneration> scoped;
  std::unique_ptr<Generation> detached;
  std::thread::id thread;
  std::uint64_t span = 0;
  Opened in_task;
  std::optional<GenerationMetrics> ended;  // made a text only if somebody asks

  Generation* get() const noexcept { return scoped != nullptr ? scoped.get() : detached.get(); }
  ~Running() {
    Py_CLEAR(in_task.before);
    // The list of what is open is its thread's: another thread leaves it alone.
    if (scoped != nullptr && thread != std::this_thread::get_id()) {
      static_cast<void>(scoped.release());
    }
  }
};
using RunningObject = Holder<Running>;

PyTypeObject* running_type() noexcept;
// In the place of one that there is no memory for.
PyObject* give_ended(PyObject*, PyObject* const*) noexcept;
bool add_running(PyObject* module);

}  // namespace genscope::python
