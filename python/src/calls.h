// Functions of Python, called from C++ that runs without the GIL.
//
// What such a call raises is kept, C++ is told to stop, and the exception goes on when it has.
#pragma once

#include <atomic>
#include <string>

#include "python.h"

namespace genscope::python {

// Takes the GIL while it lives.
class WithGil {
 public:
  WithGil() noexcept : state_(PyGILState_Ensure()) {}
  ~WithGil() { PyGILState_Release(state_); }
  WithGil(const WithGil&) = delete;
  WithGil& operator=(const WithGil&) = delete;

 private:
  PyGILState_STATE state_;
};

// The first exception of the calls of one entry. Made and destroyed with the GIL.
class Raised {
 public:
  Raised() = default;
  ~Raised();
  Raised(const Raised&) = delete;
  Raised& operator=(const Raised&) = delete;
  bool any() const noexcept { return any_.load(std::memory_order_acquire); }
  void take() noexcept;          // with the GIL, and an exception set
  PyObject* restore() noexcept;  // with the GIL; null, for `return raised.restore();`

 private:
  std::atomic<bool> any_ = false;
  PyObject *type_ = nullptr, *value_ = nullptr, *trace_ = nullptr;
};

// Text of a str item of a tuple or of a list; empty for None and for anything else.
std::string text_at(PyObject* sequence, Py_ssize_t at);
// A number of a float or int; false for None, and with no exception left for anything else.
bool number_from(PyObject* object, double& value) noexcept;

}  // namespace genscope::python
