#include "stack_table.h"

#include <array>

namespace genscope::python {
namespace {

std::string text_or(PyObject* object, const char* otherwise) {
  std::string_view text;
  if (object != nullptr && PyUnicode_Check(object) && text_of(object, text))
    return std::string(text);
  PyErr_Clear();
  return otherwise;
}

}  // namespace

bool StackTable::prepare() {
  // 3.11 and later know the class that a function is of.
  const Ref version(
      PySys_GetObject("hexversion") != nullptr ? another(PySys_GetObject("hexversion")) : Ref());
  const long hex = version ? PyLong_AsLong(version.get()) : 0;
  qualname_ = Ref(PyUnicode_InternFromString(hex >= 0x030B0000 ? "co_qualname" : "co_name"));
  file_ = Ref(PyUnicode_InternFromString("co_filename"));
  line_ = Ref(PyUnicode_InternFromString("co_firstlineno"));
  back_ = Ref(PyUnicode_InternFromString("f_back"));
  return qualname_ && file_ && line_ && back_;
}

std::uint32_t StackTable::add_frame(const std::string& name, const std::string& file,
                                    std::uint32_t line) {
  news_.frames.push_back({next_frame_, line, name, file});
  return next_frame_++;
}

std::uint32_t StackTable::new_frame(const Key& key) {
  const std::string name = text_or(key.name, "?"), file = text_or(key.file, "?");
  std::string text = name;
  text += '\n';
  text += file;
  text += '\n';
  text += std::to_string(key.line);
  const auto known = by_text_.find(text);
  if (known != by_text_.end()) return known->second;
  if (next_frame_ >= kMaxFrames) {
    if (other_frame_ == 0) other_frame_ = add_frame("(other functions)", "", 0);
    return other_frame_;
  }
  const std::uint32_t id =
      add_frame(name, file, key.line > 0 ? static_cast<std::uint32_t>(key.line) : 0);
  by_text_.emplace(std::move(text), id);
  frames_.emplace(key, id);
  Py_INCREF(key.name);
  Py_INCREF(key.file);
  return id;
}

std::uint32_t StackTable::frame_of(PyObject* frame) {
  const Ref code(
      reinterpret_cast<PyObject*>(PyFrame_GetCode(reinterpret_cast<PyFrameObject*>(frame))));
  const Ref name(PyObject_GenericGetAttr(code.get(), qualname_.get()));
  const Ref file(PyObject_GenericGetAttr(code.get(), file_.get()));
  const Ref line(PyObject_GenericGetAttr(code.get(), line_.get()));
  if (!name || !file || !line) {
    PyErr_Clear();
    if (other_frame_ == 0) other_frame_ = add_frame("(other functions)", "", 0);
    return other_frame_;
  }
  const Key key{name.get(), file.get(), PyLong_AsLong(line.get())};
  const auto known = frames_.find(key);
  return known != frames_.end() ? known->second : new_frame(key);
}

std::uint32_t StackTable::child(std::uint32_t parent, std::uint32_t frame) {
  const std::uint64_t key = std::uint64_t{parent} << 32 | frame;
  const auto known = nodes_.find(key);
  if (known != nodes_.end()) return known->second;
  if (next_node_ >= kMaxNodes) return 0;
  news_.nodes.push_back({next_node_, parent, frame});
  nodes_.emplace(key, next_node_);
  return next_node_++;
}

std::uint32_t StackTable::node_of(PyObject* innermost) {
  std::array<std::uint32_t, kMaxDepth> frames;
  std::size_t depth = 0;
  Ref at = another(innermost);
  while (at && at.get() != Py_None && depth < kMaxDepth) {
    frames[depth++] = frame_of(at.get());
    at = Ref(PyObject_GenericGetAttr(at.get(), back_.get()));
  }
  if (!at) PyErr_Clear();
  std::uint32_t node = 0, above = 0;
  if (at && at.get() != Py_None) {
    if (deeper_frame_ == 0) deeper_frame_ = add_frame("(deeper callers)", "", 0);
    node = child(0, deeper_frame_);
  }
  while (depth > 0) {
    const std::uint32_t frame = frames[--depth];
    if (frame == above) continue;
    above = frame;
    const std::uint32_t inner = child(node, frame);
    if (inner == 0) {  // no room: the callers that are known stand for it
      ++folded_;
      break;
    }
    node = inner;
  }
  return node;
}

StackTable::News StackTable::take_news() { return std::exchange(news_, {}); }

void StackTable::clear() {
  for (const auto& [key, id] : frames_) {
    Py_DECREF(key.name);
    Py_DECREF(key.file);
  }
  frames_.clear();
  by_text_.clear();
  nodes_.clear();
  news_ = {};
  next_frame_ = next_node_ = 1;
  other_frame_ = deeper_frame_ = 0;
  folded_ = 0;
}

}  // namespace genscope::python
