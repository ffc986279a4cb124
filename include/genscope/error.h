// Error and Result<T>: how a function says that something outside the program went wrong.
//
// No exception crosses the public API. A function that can fail for a reason outside the program
// (a file, a device, a malformed input) returns Result<T>; what cannot fail returns T.
#pragma once

#include <cstdint>
#include <string>
#include <utility>
#include <variant>

namespace genscope {

// What kind of thing went wrong; decides the exit code and the Python exception.
enum class ErrorCode : std::uint8_t {
  invalid_argument,  // the caller asked for something that makes no sense
  not_found,         // the file, folder or device does not exist
  permission,        // it exists, and we may not touch it
  no_space,          // a disk, a quota or a configured limit is full
  bad_data,          // bytes that do not follow their format
  unsupported,       // well-formed, but this build or machine cannot do it
  io,                // the operating system refused for another reason
};

// A stable lower-case name, as used in JSON.
const char* name(ErrorCode code) noexcept;

struct Error {
  ErrorCode code = ErrorCode::io;
  // One sentence for a person: names the file or field, says what is wrong and the remedy.
  std::string message;
};

// A value or an Error. Check `ok()` (or the bool) before `value()`; the wrong accessor aborts.
template <class T>
class [[nodiscard]] Result {
 public:
  Result(T value) : state_(std::in_place_index<0>, std::move(value)) {}      // NOLINT(implicit)
  Result(Error error) : state_(std::in_place_index<1>, std::move(error)) {}  // NOLINT(implicit)

  bool ok() const noexcept { return state_.index() == 0; }
  explicit operator bool() const noexcept { return ok(); }

  T& value() & { return *checked(std::get_if<0>(&state_)); }
  const T& value() const& { return *checked(std::get_if<0>(&state_)); }
  T&& value() && { return std::move(*checked(std::get_if<0>(&state_))); }
  T& operator*() & { return value(); }
  const T& operator*() const& { return value(); }
  T&& operator*() && { return std::move(*this).value(); }
  T* operator->() { return &value(); }
  const T* operator->() const { return &value(); }

  const Error& error() const& { return *checked(std::get_if<1>(&state_)); }
  Error&& error() && { return std::move(*checked(std::get_if<1>(&state_))); }

 private:
  template <class P>
  static P* checked(P* p) {
    if (p == nullptr) __builtin_trap();
    return p;
  }
  std::variant<T, Error> state_;
};

// A Result that carries nothing but success.
struct Done {};
using Status = Result<Done>;

}  // namespace genscope
