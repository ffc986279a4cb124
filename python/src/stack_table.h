// Python's frames and stacks as numbers. All of it with the GIL held; nothing here runs Python
// code.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <unordered_map>
#include <vector>

#include "python.h"

namespace genscope::python {

// Numbers count from 1; 0 is the root. What is beyond a limit goes to kOtherFrame and is counted,
// so that a program that makes functions without end costs a bounded amount.
//
// A frame is a function: name, file and first line. The strings are held, so that their addresses
// name them; no code object is, which the program could see.
class StackTable {
 public:
  static constexpr std::uint32_t kMaxFrames = 16'384, kMaxNodes = 65'536;
  static constexpr std::size_t kMaxDepth = 256;  // frames of one stack, from the innermost

  struct Frame {
    std::uint32_t id = 0, line = 0;
    std::string name, file;
  };
  struct Node {
    std::uint32_t id = 0, parent = 0, frame = 0;
  };
  // What became known since it was taken last.
  struct News {
    std::vector<Frame> frames;
    std::vector<Node> nodes;
  };

  // False: a Python exception is set.
  bool prepare();
  // The node of a stack whose innermost frame is `frame`. A function that calls itself is there
  // once.
  std::uint32_t node_of(PyObject* frame);
  News take_news();
  // Stacks that have no node of their own.
  std::uint64_t folded() const noexcept { return folded_; }
  // Forgets all, in a forked child.
  void clear();

 private:
  struct Key {
    PyObject *name = nullptr, *file = nullptr;
    long line = 0;
    friend bool operator==(const Key&, const Key&) = default;
  };
  struct Hash {
    std::size_t operator()(const Key& key) const noexcept {
      const std::hash<const void*> pointer;
      return pointer(key.name) * 31 + pointer(key.file) * 17 + static_cast<std::size_t>(key.line);
    }
  };

  std::uint32_t frame_of(PyObject* frame);
  std::uint32_t new_frame(const Key& key);
  std::uint32_t add_frame(const std::string& name, const std::string& file, std::uint32_t line);
  std::uint32_t child(std::uint32_t parent, std::uint32_t frame);

  Ref qualname_, file_, line_, back_;  // names of attributes
  std::unordered_map<Key, std::uint32_t, Hash> frames_;
  std::unordered_map<std::string, std::uint32_t> by_text_;  // those whose strings are made anew
  std::unordered_map<std::uint64_t, std::uint32_t> nodes_;  // parent << 32 | frame
  std::uint32_t next_frame_ = 1, next_node_ = 1;
  std::uint32_t other_frame_ = 0, deeper_frame_ = 0;
  std::uint64_t folded_ = 0;
  News news_;
};

}  // namespace genscope::python
