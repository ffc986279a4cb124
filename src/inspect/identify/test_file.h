// A TensorFile made by hand, for tests: names and shapes, no bytes behind them.
#pragma once

#include <deque>
#include <string>
#include <utility>
#include <vector>

#include <genscope/inspect.h>

namespace genscope::inspect {

class TestFile {
 public:
  TestFile& add(std::string name, std::vector<std::uint64_t> shape, Dtype dtype = Dtype::bf16) {
    Tensor tensor;
    tensor.name = names_.emplace_back(std::move(name));
    for (const std::uint64_t size : shape) tensor.shape.sizes[tensor.shape.rank++] = size;
    tensor.dtype = dtype;
    tensor.bytes = static_cast<std::uint64_t>(static_cast<double>(tensor.shape.elements()) *
                                              bits_per_element(dtype) / 8);
    file_.tensors.push_back(tensor);
    return *this;
  }
  TestFile& meta(std::string key, std::string value) {
    file_.metadata.emplace_back(std::move(key), std::move(value));
    return *this;
  }
  TestFile& container(Container container) {
    file_.container = container;
    return *this;
  }
  const TensorFile& file() const { return file_; }
  // For tests of files with one part.
  Component only() const {
    std::vector<Component> components = identify(file_);
    return components.size() == 1 ? components.front() : Component{};
  }

 private:
  TensorFile file_;
  std::deque<std::string> names_;  // what the tensors' names view; never moves
};

}  // namespace genscope::inspect
