// A run as columns: bytes of 64-bit numbers, and tables of texts that they point into.
//
// tables(path) -> {table: {column: (format, bytes[, texts])}}, formats as in struct: "q" int64,
// "d" float64, "i" int32 into `texts` (-1: absent). What is absent is -1 in "q", NaN in "d".
#include <genscope/analyze.h>
#include <genscope/store.h>

#include <cstring>
#include <limits>
#include <optional>
#include <string>
#include <unordered_map>
#include <vector>

#include "entry.h"

namespace genscope::python {
namespace {

// Texts, each once.
class Texts {
 public:
  std::int32_t add(const std::string& text) {
    const auto [place, is_new] = numbers_.emplace(text, static_cast<std::int32_t>(texts.size()));
    if (is_new) texts.push_back(text);
    return place->second;
  }
  std::vector<std::string> texts;

 private:
  std::unordered_map<std::string, std::int32_t> numbers_;
};

struct TextColumn {
  std::vector<std::int32_t> at;
  Texts texts;
  void add(const std::string& text) { at.push_back(texts.add(text)); }
};

struct SpanTable {
  std::vector<std::int64_t> id, parent, pid, begin_ns, duration_ns, device_ns, failed, unfinished;
  TextColumn name, kind, track;
};
struct EventTable {
  std::vector<std::int64_t> id, pid, at_ns, span;
  TextColumn name, track;
};
struct CounterTable {
  std::vector<std::int64_t> pid, at_ns;
  std::vector<double> value;
  TextColumn name;
};
struct ArgTable {
  std::vector<std::int64_t> owner;
  std::vector<double> number;
  TextColumn key, text;
};
struct Tables {
  SpanTable spans;
  EventTable events;
  CounterTable counters;
  ArgTable span_args, event_args;
};

double number_of(ArgType type, std::uint64_t bits) {
  switch (type) {
    case ArgType::int64:
      return static_cast<double>(static_cast<std::int64_t>(bits));
    case ArgType::uint64:
      return static_cast<double>(bits);
    case ArgType::boolean:
      return bits != 0 ? 1 : 0;
    case ArgType::float64: {
      double value = 0;
      std::memcpy(&value, &bits, sizeof value);
      return value;
    }
    default:
      return std::numeric_limits<double>::quiet_NaN();
  }
}

void add_args(const Trace& trace, const ArgColumns& args, std::int64_t first, ArgTable& table) {
  for (std::size_t i = 0; i < args.size(); ++i) {
    table.owner.push_back(first + args.owner[i]);
    table.key.add(trace.names[args.key[i]].text);
    table.number.push_back(number_of(args.type[i], args.bits[i]));
    if (args.type[i] == ArgType::text && args.bits[i] < trace.texts.size()) {
      table.text.add(trace.texts[args.bits[i]]);
    } else {
      table.text.at.push_back(-1);
    }
  }
}

// `offset`: to the clock of the first process, less the begin of the run.
void add_spans(const Trace& trace, std::int64_t offset, SpanTable& table) {
  const auto first = static_cast<std::int64_t>(table.id.size());
  const SpanColumns& spans = trace.spans;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    const std::uint32_t parent = spans.parent[i];
    table.id.push_back(first + static_cast<std::int64_t>(i));
    table.parent.push_back(parent == kNone ? -1 : first + parent);
    table.pid.push_back(trace.process.pid);
    table.begin_ns.push_back(spans.begin_ns[i] + offset);
    table.duration_ns.push_back(spans.duration_ns[i]);
    table.device_ns.push_back(-1);
    table.failed.push_back((spans.flags[i] & kSpanFailed) != 0 ? 1 : 0);
    table.unfinished.push_back((spans.flags[i] & kSpanUnfinished) != 0 ? 1 : 0);
    table.name.add(trace.span_name(i));
    table.kind.add(std::string(name(trace.kind(i))));
    table.track.add(trace.tracks[spans.track[i]].name);
  }
  for (std::size_t i = 0; i < trace.device.size(); ++i) {
    table.device_ns[static_cast<std::size_t>(first) + trace.device.span[i]] =
        trace.device.duration_ns[i];
  }
}

Tables tables_of(const Run& run, const Analysis& analysis) {
  Tables tables;
  for (std::size_t t = 0; t < run.traces.size(); ++t) {
    const Trace& trace = run.traces[t];
    const std::int64_t offset = analysis.clock_offset_ns[t] - analysis.begin_ns;
    const auto first_span = static_cast<std::int64_t>(tables.spans.id.size());
    const auto first_event = static_cast<std::int64_t>(tables.events.id.size());
    add_spans(trace, offset, tables.spans);
    add_args(trace, trace.span_args, first_span, tables.span_args);
    const EventColumns& events = trace.events;
    for (std::size_t i = 0; i < events.size(); ++i) {
      tables.events.id.push_back(first_event + static_cast<std::int64_t>(i));
      tables.events.pid.push_back(trace.process.pid);
      tables.events.at_ns.push_back(events.at_ns[i] + offset);
      tables.events.span.push_back(events.span[i] == kNone ? -1 : first_span + events.span[i]);
      tables.events.name.add(trace.names[events.name[i]].text);
      tables.events.track.add(trace.tracks[events.track[i]].name);
    }
    add_args(trace, trace.event_args, first_event, tables.event_args);
    const CounterColumns& counters = trace.counters;
    for (std::size_t i = 0; i < counters.size(); ++i) {
      tables.counters.pid.push_back(trace.process.pid);
      tables.counters.at_ns.push_back(counters.at_ns[i] + offset);
      tables.counters.value.push_back(counters.value[i]);
      tables.counters.name.add(trace.names[counters.name[i]].text);
    }
  }
  return tables;
}

// --- to Python

// Py_BuildValue would make None of no bytes.
Ref bytes_of(const void* data, std::size_t size) {
  return Ref(PyBytes_FromStringAndSize(size > 0 ? static_cast<const char*>(data) : "",
                                       static_cast<Py_ssize_t>(size)));
}

class TableDict {
 public:
  TableDict() : dict_(PyDict_New()) {}
  template <class T>
  TableDict& add(const char* column, const std::vector<T>& values) {
    constexpr const char* kFormat = std::is_same_v<T, double> ? "d" : "q";
    const Ref bytes = bytes_of(values.data(), values.size() * sizeof(T));
    return put(column, Ref(bytes ? Py_BuildValue("(sO)", kFormat, bytes.get()) : nullptr));
  }
  TableDict& add(const char* column, const TextColumn& values) {
    Ref texts(PyList_New(0));
    for (const std::string& text : values.texts.texts) {
      const Ref item(to_str(text));
      if (!texts || !item || PyList_Append(texts.get(), item.get()) != 0) return *this;
    }
    const Ref bytes = bytes_of(values.at.data(), values.at.size() * sizeof(std::int32_t));
    return put(column, Ref(bytes && texts ? Py_BuildValue("(sOO)", "i", bytes.get(), texts.get())
                                          : nullptr));
  }
  PyObject* release() { return PyErr_Occurred() != nullptr ? nullptr : dict_.release(); }

 private:
  TableDict& put(const char* column, const Ref& value) {
    if (dict_ && value) PyDict_SetItemString(dict_.get(), column, value.get());
    return *this;
  }
  Ref dict_;
};

PyObject* args_dict(const ArgTable& table) {
  return TableDict()
      .add("owner", table.owner)
      .add("key", table.key)
      .add("number", table.number)
      .add("text", table.text)
      .release();
}

PyObject* to_python(const Tables& tables) {
  const SpanTable& s = tables.spans;
  const Ref spans(TableDict()
                      .add("id", s.id)
                      .add("parent", s.parent)
                      .add("pid", s.pid)
                      .add("track", s.track)
                      .add("kind", s.kind)
                      .add("name", s.name)
                      .add("begin_ns", s.begin_ns)
                      .add("duration_ns", s.duration_ns)
                      .add("device_ns", s.device_ns)
                      .add("failed", s.failed)
                      .add("unfinished", s.unfinished)
                      .release());
  const EventTable& e = tables.events;
  const Ref events(TableDict()
                       .add("id", e.id)
                       .add("pid", e.pid)
                       .add("track", e.track)
                       .add("name", e.name)
                       .add("at_ns", e.at_ns)
                       .add("span", e.span)
                       .release());
  const CounterTable& c = tables.counters;
  const Ref counters(TableDict()
                         .add("pid", c.pid)
                         .add("name", c.name)
                         .add("at_ns", c.at_ns)
                         .add("value", c.value)
                         .release());
  const Ref span_args(args_dict(tables.span_args)), event_args(args_dict(tables.event_args));
  if (!spans || !events || !counters || !span_args || !event_args) return nullptr;
  return Py_BuildValue("{s:O,s:O,s:O,s:O,s:O}", "spans", spans.get(), "events", events.get(),
                       "counters", counters.get(), "span_args", span_args.get(), "event_args",
                       event_args.get());
}

PyObject* read_tables(PyObject*, PyObject* path) {
  std::string_view text;
  if (!text_of(path, text)) return nullptr;
  const std::string of(text);
  Tables tables;
  std::optional<Error> error;
  {
    const WithoutGil released;
    const Result<Run> run = read_run(of);
    if (run) {
      tables = tables_of(*run, analyze(*run));
    } else {
      error = run.error();
    }
  }
  return error ? raise(*error) : to_python(tables);
}

Method columns_functions[] = {
    reading<read_tables>("tables", METH_O, "tables(path) -> dict"),
    {},
};

}  // namespace

bool add_columns(PyObject* module) { return add_functions(module, columns_functions); }

}  // namespace genscope::python
