// _core.StepBook: the denoising steps that a program tells a session in the way of Inferix.
//
// A call keeps five numbers and adds to running figures; the rows as a report has them are made
// when they are read.
#include <genscope/record.h>
#include <genscope/trace.h>

#include <algorithm>
#include <array>
#include <vector>

#include "monitors.h"
#include "open_spans.h"

namespace genscope::python {
namespace {

constinit Site step_event{"diffusion_step", SpanKind::none, {0}};
constinit Site ms_key{"ms", SpanKind::none, {0}};
constinit Site step_key{"step", SpanKind::none, {0}};
constinit Site timestep_key{"timestep", SpanKind::none, {0}};
constinit Site block_size_key{"block_size", SpanKind::none, {0}};

enum Column : std::size_t { kStep, kTimestep, kBlockSize, kMs, kGuidance, kColumns };
constexpr const char* kNames[kColumns] = {"step", "timestep", "block_size", "computation_time_ms",
                                          "guidance_scale"};

struct Figure {
  double number = 0;
  bool known = false;
};
// Owned numbers of Python, or None.
using Row = std::array<PyObject*, kColumns>;

// Running count, sum and bounds of a column. What is None is not counted.
struct Running {
  unsigned long long count = 0;
  double total = 0, least = 0, most = 0;
  // The numbers themselves, owned: a whole number stays one.
  PyObject *least_object = nullptr, *most_object = nullptr;

  void keep(PyObject*& place, PyObject* object) noexcept {
    Py_INCREF(object);
    Py_XDECREF(std::exchange(place, object));
  }
  void add(const Figure& value, PyObject* object) noexcept {
    if (!value.known) return;
    if (count == 0 || value.number < least) {
      least = value.number;
      keep(least_object, object);
    }
    if (count == 0 || value.number > most) {
      most = value.number;
      keep(most_object, object);
    }
    count++;
    total += value.number;
  }
};

struct Book {
  std::size_t limit = 0;
  PyObject* number = nullptr;  // owned: a function that makes a number of a value, or None
  std::vector<Row> rows;       // the newest; at `limit`, a ring that begins at `oldest`
  std::size_t oldest = 0;
  unsigned long long count = 0;
  std::array<Running, kColumns> columns;
  // Passes through the timesteps: a step number that does not rise begins another block.
  unsigned long long passes = 0, pass_steps = 0, longest_pass = 0;
  double pass_frames = 0;  // block_size, once a pass
  Figure last_step;
  OwnMutex mutex;

  ~Book() {
    for (Row& row : rows) {
      for (PyObject* const object : row) Py_DECREF(object);
    }
    for (Running& column : columns) {
      Py_XDECREF(column.least_object);
      Py_XDECREF(column.most_object);
    }
    Py_XDECREF(number);
  }
};
using BookObject = Holder<Book>;

// A new reference: a number, or None for what is none and must not be asked.
PyObject* number_of(const Book& book, PyObject* given, Figure& value) noexcept {
  const bool plain = PyFloat_CheckExact(given) || PyLong_CheckExact(given) || given == Py_None;
  Ref object =
      plain ? another(given) : Ref(PyObject_CallFunctionObjArgs(book.number, given, nullptr));
  if (object && object.get() != Py_None) {
    value.number = PyFloat_AsDouble(object.get());
    value.known = PyErr_Occurred() == nullptr;  // not if it is larger than any double
  }
  if (value.known) return object.release();
  PyErr_Clear();
  return none();
}

bool make_room(Book& book) noexcept {
  try {
    if (book.rows.size() < book.rows.capacity()) return true;
    if (!internal::may_throw()) return false;
    book.rows.reserve(2 * book.rows.size() + 16);
    return true;
  } catch (...) {
    return false;
  }
}

// Takes the row over.
void add(Book& book, Row& row, const std::array<Figure, kColumns>& values) noexcept {
  const std::lock_guard lock(book.mutex);
  book.count++;
  for (const Column column : {kTimestep, kBlockSize, kMs}) {
    book.columns[column].add(values[column], row[column]);
  }
  const Figure &step = values[kStep], last = book.last_step;
  if (!last.known || !step.known || step.number <= last.number) {
    book.passes++;
    book.pass_frames += values[kBlockSize].number;
    book.pass_steps = 0;
  }
  book.longest_pass = std::max(book.longest_pass, ++book.pass_steps);
  book.last_step = step;
  // Without memory the rows that there are become the ring.
  if (book.oldest == 0 && book.rows.size() < book.limit && make_room(book)) {
    book.rows.push_back(row);
    return;
  }
  if (!book.rows.empty()) {
    std::swap(book.rows[book.oldest], row);
    book.oldest = book.oldest + 1 == book.rows.size() ? 0 : book.oldest + 1;
  }
  for (PyObject* const object : row) Py_DECREF(object);
}

Arg argument(Site& key, const Figure& value, PyObject* object) noexcept {
  if (PyLong_Check(object)) {
    int overflow = 0;
    const long long whole = PyLong_AsLongLongAndOverflow(object, &overflow);
    if (overflow == 0) return Arg(internal::StaticArg<std::int64_t>{key, whole});
  }
  return Arg(internal::StaticArg<double>{key, value.number});
}

void record(const Row& row, const std::array<Figure, kColumns>& values) noexcept {
  const std::uint64_t task = loop_is_running() ? current_in_task() : 0;
  std::array<Arg, 4> args{Arg("", 0), Arg("", 0), Arg("", 0), Arg("", 0)};
  std::size_t count = 0;
  const auto take = [&](Site& key, Column column) {
    if (values[column].known) args[count++] = argument(key, values[column], row[column]);
  };
  take(ms_key, kMs);
  take(step_key, kStep);
  take(timestep_key, kTimestep);
  take(block_size_key, kBlockSize);
  const auto put = [&](Args list) {
    task != 0 ? event(Handle(task), step_event.name, list) : event(step_event, list);
  };
  if (count == 4) return put({args[0], args[1], args[2], args[3]});
  if (count == 3) return put({args[0], args[1], args[2]});
  if (count == 2) return put({args[0], args[1]});
  count == 1 ? put({args[0]}) : put({});
}

// add(step, timestep, block_size, ms, guidance_scale, recorded, /)
PyObject* book_add(PyObject* self, PyObject* const* args, Py_ssize_t count) {
  if (!arity(count, 6, 6, "add(step, timestep, block_size, ms, guidance_scale, recorded, /)")) {
    return nullptr;
  }
  Book& book = BookObject::of(self);
  Row row;
  std::array<Figure, kColumns> values;
  for (std::size_t i = 0; i < kColumns; ++i) row[i] = number_of(book, args[i], values[i]);
  if (args[5] == Py_True) record(row, values);
  add(book, row, values);
  return none();
}

PyObject* book_new(PyTypeObject* type, PyObject* args, PyObject*) {
  PyObject* number = nullptr;
  Py_ssize_t limit = 0;
  if (PyArg_ParseTuple(args, "nO", &limit, &number) == 0) return nullptr;
  PyObject* const object = BookObject::make(type);
  if (object == nullptr) return nullptr;
  Py_INCREF(number);
  BookObject::of(object).number = number;
  BookObject::of(object).limit = limit > 0 ? static_cast<std::size_t>(limit) : 1;
  return object;
}

// The newest rows, oldest first, each a dict.
PyObject* rows_of(Book& book) {
  std::vector<Row> rows;
  {
    const std::lock_guard lock(book.mutex);
    rows.reserve(book.rows.size());
    for (std::size_t i = 0; i < book.rows.size(); ++i) {
      rows.push_back(book.rows[(book.oldest + i) % book.rows.size()]);
      for (PyObject* const object : rows.back()) Py_INCREF(object);
    }
  }
  Ref list(PyList_New(0));
  for (const Row& row : rows) {
    const Ref dict(PyDict_New());
    bool made = list && dict;
    for (std::size_t i = 0; i < kColumns; ++i) {
      made = made && PyDict_SetItemString(dict.get(), kNames[i], row[i]) == 0;
      Py_DECREF(row[i]);
    }
    if (!made || PyList_Append(list.get(), dict.get()) != 0) list = Ref();
  }
  return list.release();
}

PyObject* book_rows(PyObject* self, void*) { return rows_of(BookObject::of(self)); }

// (total, mean, least, most)
PyObject* figures_of(const Running& column) noexcept {
  if (column.count == 0) return Py_BuildValue("(dOOO)", 0.0, Py_None, Py_None, Py_None);
  return Py_BuildValue("(ddOO)", column.total, column.total / static_cast<double>(column.count),
                       column.least_object, column.most_object);
}
template <Column kColumn>
PyObject* book_column(PyObject* self, void*) {
  return figures_of(BookObject::of(self).columns[kColumn]);
}
template <auto kMember>
PyObject* book_count(PyObject* self, void*) {
  return PyLong_FromUnsignedLongLong(BookObject::of(self).*kMember);
}
PyObject* book_frames(PyObject* self, void*) {
  return PyFloat_FromDouble(BookObject::of(self).pass_frames);
}

Method methods[] = {
    recording<book_add>("add", METH_FASTCALL,
                        "add(step, timestep, block_size, ms, guidance_scale, recorded, /)"),
    {},
};
Value values[] = {
    value<book_count<&Book::count>>("count", "Of all steps."),
    value<book_rows>("rows", "The newest, as dicts."),
    value<book_column<kMs>>("ms", "(total, mean, least, most)"),
    value<book_column<kTimestep>>("timestep", "(total, mean, least, most)"),
    value<book_column<kBlockSize>>("block_size", "(total, mean, least, most)"),
    value<book_count<&Book::passes>>("passes", "Runs through the timesteps."),
    value<book_count<&Book::longest_pass>>("longest_pass", "Steps of the longest."),
    value<book_frames>("pass_frames", "block_size, once a pass."),
    {},
};
Slot slots[] = {
    Slot::made<book_new, BookObject>(),
    Slot::dealloc<BookObject::dealloc>(),
    Slot(methods),
    Slot(values),
    {},
};
constexpr TypeSpec spec = {"genscope._core.StepBook", sizeof(BookObject), slots};

}  // namespace

bool add_steps(PyObject* module) { return add_type(module, spec, "StepBook"); }

}  // namespace genscope::python
