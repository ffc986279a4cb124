#include "inspect/read/torch/pickle_global.h"

#include <algorithm>
#include <array>

namespace genscope::inspect {
namespace {

template <std::size_t N>
bool among(std::string_view word, const std::array<std::string_view, N>& words) {
  return std::ranges::find(words, word) != words.end();
}

struct StorageType {
  std::string_view name;
  Dtype dtype;
};
constexpr std::array kStorages{
    StorageType{"FloatStorage", Dtype::f32},
    StorageType{"HalfStorage", Dtype::f16},
    StorageType{"BFloat16Storage", Dtype::bf16},
    StorageType{"DoubleStorage", Dtype::f64},
    StorageType{"LongStorage", Dtype::i64},
    StorageType{"IntStorage", Dtype::i32},
    StorageType{"ShortStorage", Dtype::i16},
    StorageType{"CharStorage", Dtype::i8},
    StorageType{"ByteStorage", Dtype::u8},
    StorageType{"BoolStorage", Dtype::boolean},
    StorageType{"ComplexFloatStorage", Dtype::c64},
    StorageType{"ComplexDoubleStorage", Dtype::c128},
    StorageType{"QInt8Storage", Dtype::i8},
    StorageType{"QUInt8Storage", Dtype::u8},
    StorageType{"QInt32Storage", Dtype::i32},
    StorageType{"UntypedStorage", Dtype::unknown},
    StorageType{"TypedStorage", Dtype::unknown},
};

Global find_torch(std::string_view name) noexcept {
  for (const StorageType& type : kStorages) {
    if (type.name == name) return {Role::storage, type.dtype};
  }
  if (name == "Size") return {Role::size, Dtype::unknown};
  if (const auto dtype = find_dtype(name)) return {Role::dtype, *dtype};
  constexpr std::array<std::string_view, 12> kHarmless{
      "device", "Tensor", "dtype", "strided", "per_tensor_affine", "per_channel_affine", "qint8",
      "quint8", "qint32", "int",   "long",    "preserve_format"};
  if (among(name, kHarmless) || name.ends_with("Tensor")) return {Role::harmless, Dtype::unknown};
  return {};
}

Global find_rebuild(std::string_view name) noexcept {
  if (name == "_rebuild_tensor" || name == "_rebuild_tensor_v2" || name == "_rebuild_qtensor") {
    return {Role::tensor, Dtype::unknown};
  }
  if (name == "_rebuild_tensor_v3") return {Role::typed_tensor, Dtype::unknown};
  if (name.starts_with("_rebuild_parameter")) return {Role::parameter, Dtype::unknown};
  constexpr std::array<std::string_view, 4> kHarmless{
      "_rebuild_sparse_tensor", "_rebuild_nested_tensor", "_rebuild_meta_tensor_no_storage",
      "_rebuild_device_tensor_from_numpy"};
  return {among(name, kHarmless) ? Role::harmless : Role::foreign, Dtype::unknown};
}

Global find_builtin(std::string_view name) noexcept {
  if (name == "dict") return {Role::dict, Dtype::unknown};
  constexpr std::array<std::string_view, 14> kHarmless{
      "set", "frozenset", "list", "tuple", "int",    "float", "complex",
      "str", "bytes",     "bool", "range", "object", "slice", "bytearray"};
  constexpr std::array<std::string_view, 13> kDangerous{
      "eval",    "exec",   "compile",    "open",  "getattr", "setattr", "__import__",
      "globals", "locals", "breakpoint", "input", "apply",   "execfile"};
  if (among(name, kDangerous)) return {Role::dangerous, Dtype::unknown};
  return {among(name, kHarmless) ? Role::harmless : Role::foreign, Dtype::unknown};
}

bool is_dangerous_module(std::string_view module) noexcept {
  constexpr std::array<std::string_view, 33> kModules{"os",
                                                      "posix",
                                                      "nt",
                                                      "subprocess",
                                                      "sys",
                                                      "shutil",
                                                      "socket",
                                                      "runpy",
                                                      "pty",
                                                      "commands",
                                                      "importlib",
                                                      "ctypes",
                                                      "webbrowser",
                                                      "requests",
                                                      "urllib",
                                                      "urllib2",
                                                      "http",
                                                      "asyncio",
                                                      "multiprocessing",
                                                      "operator",
                                                      "functools",
                                                      "pip",
                                                      "timeit",
                                                      "bdb",
                                                      "pdb",
                                                      "code",
                                                      "codeop",
                                                      "cProfile",
                                                      "pickle",
                                                      "_pickle",
                                                      "marshal",
                                                      "types",
                                                      "platform"};
  return among(module.substr(0, module.find('.')), kModules);
}

}  // namespace

Global find_global(std::string_view module, std::string_view name) noexcept {
  if (module == "torch") return find_torch(name);
  if (module == "torch._utils") return find_rebuild(name);
  if (module == "torch.storage" && name.ends_with("Storage")) return find_torch(name);
  if (module == "torch._tensor" && name == "_rebuild_from_type_v2") {
    return {Role::of_other_type, Dtype::unknown};
  }
  if (module == "collections") {
    const bool dict = name == "OrderedDict" || name == "defaultdict" || name == "Counter";
    return {dict ? Role::dict : Role::foreign, Dtype::unknown};
  }
  if (module == "builtins" || module == "__builtin__") return find_builtin(name);
  constexpr std::array<std::string_view, 5> kNumpy{"dtype", "ndarray", "scalar", "_reconstruct",
                                                   "_frombuffer"};
  const bool numpy = module == "numpy" || module == "numpy.core.multiarray" ||
                     module == "numpy._core.multiarray" || module == "numpy.core.numeric" ||
                     module == "numpy._core.numeric";
  const bool harmless =
      (numpy && among(name, kNumpy)) || (module == "numpy.dtypes" && name.ends_with("DType")) ||
      (module == "_codecs" && name == "encode") ||
      (module == "torch.nn.parameter" && (name == "Parameter" || name == "Buffer")) ||
      (module == "torch.serialization" && name == "_get_layout");
  if (harmless) return {Role::harmless, Dtype::unknown};
  return {is_dangerous_module(module) ? Role::dangerous : Role::foreign, Dtype::unknown};
}

}  // namespace genscope::inspect
