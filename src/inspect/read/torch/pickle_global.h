// What a pickle may name: the few functions and types with which torch writes weights. All else is
// foreign, and only reported.
#pragma once

#include <string_view>

#include "genscope/inspect.h"

namespace genscope::inspect {

enum class Role : std::uint8_t {
  foreign,        // calling it could do anything; it is not called
  dangerous,      // known to run code, to open files or connections
  harmless,       // gives something that we do not look into
  dict,           // OrderedDict, dict
  storage,        // a storage type; `dtype` is of its elements, unknown if untyped
  dtype,          // torch.float16
  size,           // torch.Size(tuple)
  tensor,         // (storage, offset, size, stride, ...)
  typed_tensor,   // the same with the dtype as seventh
  parameter,      // (tensor, ...)
  of_other_type,  // (function, type, arguments, ...): applies the function
};

struct Global {
  Role role = Role::foreign;
  Dtype dtype = Dtype::unknown;
};

Global find_global(std::string_view module, std::string_view name) noexcept;

}  // namespace genscope::inspect
