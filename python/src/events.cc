// _core.EventBook: the newest events that a program tells a session in the way of Inferix.
#include <chrono>
#include <deque>

#include "monitors.h"
#include "plain.h"
#include "recording.h"

namespace genscope::python {
namespace {

struct Event {
  Ref name, data;
  double at = 0;  // seconds, as time.monotonic()
};

struct Book {
  std::size_t limit = 0;
  std::deque<Event> rows;
  unsigned long long count = 0;
  OwnMutex mutex;
};
using BookObject = Holder<Book>;

PyObject* book_new(PyTypeObject* type, PyObject* args, PyObject*) {
  Py_ssize_t limit = 0;
  if (PyArg_ParseTuple(args, "n", &limit) == 0) return nullptr;
  PyObject* const object = BookObject::make(type);
  if (object != nullptr) BookObject::of(object).limit = static_cast<std::size_t>(limit);
  return object;
}

// add(name, data, recorded, /)
PyObject* book_add(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  std::string_view name;
  if (!arity(count, 3, 3, "add(name, data, recorded, /)")) return nullptr;
  if (PyUnicode_Check(args[0]) == 0) {
    PyErr_SetString(PyExc_TypeError, "the name of an event is a str");
    return nullptr;
  }
  const bool readable = text_of(args[0], name);  // a name that is not UTF-8 is not recorded
  if (!readable) PyErr_Clear();
  Ref data(PyDict_Check(args[1]) ? plain_copy(args[1]) : PyDict_New());
  if (!data) return nullptr;
  if (readable && args[2] == Py_True) tell_event(name, data.get());
  const std::chrono::duration<double> now = std::chrono::steady_clock::now().time_since_epoch();
  Book& book = BookObject::of(self);
  Event dropped;  // outlives the lock
  const std::lock_guard lock(book.mutex);
  book.count++;
  if (book.rows.size() >= book.limit && !book.rows.empty()) {
    dropped = std::move(book.rows.front());
    book.rows.pop_front();
  }
  book.rows.push_back({another(args[0]), std::move(data), now.count()});
  return none();
}

// [(name, monotonic seconds, data)], oldest first.
PyObject* book_rows(PyObject* self, void*) {
  Book& book = BookObject::of(self);
  std::deque<Event> rows;
  {
    const std::lock_guard lock(book.mutex);
    for (const Event& row : book.rows) {
      rows.push_back({another(row.name.get()), another(row.data.get()), row.at});
    }
  }
  Ref list(PyList_New(0));
  for (const Event& row : rows) {
    const Ref item(Py_BuildValue("(OdO)", row.name.get(), row.at, row.data.get()));
    if (!list || !item || PyList_Append(list.get(), item.get()) != 0) return nullptr;
  }
  return list.release();
}
PyObject* book_dropped(PyObject* self, void*) {
  Book& book = BookObject::of(self);
  const std::lock_guard lock(book.mutex);
  return PyLong_FromUnsignedLongLong(book.count - book.rows.size());
}

Method methods[] = {
    recording<book_add>("add", METH_FASTCALL, "add(name, data, recorded, /)"),
    {},
};
Value values[] = {
    value<book_rows>("rows", "[(name, monotonic seconds, data)]: the newest."),
    value<book_dropped>("dropped", "How many are not among these."),
    {},
};
Slot slots[] = {
    Slot::made<book_new, BookObject>(),
    Slot::dealloc<BookObject::dealloc>(),
    Slot(methods),
    Slot(values),
    {},
};
constexpr TypeSpec spec = {"genscope._core.EventBook", sizeof(BookObject), slots};

}  // namespace

bool add_events(PyObject* module) { return add_type(module, spec, "EventBook"); }

}  // namespace genscope::python
