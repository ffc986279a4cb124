// Makes the nth allocation fail that is ours: LD_PRELOAD it, then call these with ctypes.PyDLL.
// tests/integration/helpers/fault_plugin.cc fails those of a whole process; here CPython's own,
// which it answers with a MemoryError of its own, go well.
//
//   fault_set(kind, n, all)  the nth from now on fails, with `all` every later one too; 0: none
//     kNew     operator new: of C++, so of our extension and its libraries
//     kMalloc  malloc, calloc and realloc that our extension calls itself
//     kPython  CPython's allocators, inside fault_call() alone
//   fault_count()            how many there were since
//   fault_call(function, args, keywords)  function(*args, **keywords), without an object for the
//   call
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <errno.h>
#include <link.h>
#include <stdlib.h>
#include <string.h>

#include <atomic>
#include <new>

namespace {

enum Kind : int { kNew, kMalloc, kPython };

std::atomic<int> g_kind{kNew};
std::atomic<long> g_nth{0}, g_calls{0};
std::atomic<bool> g_all{false}, g_on{false};
thread_local bool t_in_call __attribute__((tls_model("initial-exec"))) = false;

// Where the extension lies.
std::atomic<std::uintptr_t> g_from{0}, g_to{0};

bool fails(Kind kind) {
  if (!g_on.load(std::memory_order_relaxed) || kind != g_kind) return false;
  const long n = g_calls.fetch_add(1) + 1;
  return n == g_nth || (g_all && g_nth > 0 && n > g_nth);
}

bool is_ours(const void* caller) {
  const auto at = reinterpret_cast<std::uintptr_t>(caller);
  return at >= g_from.load(std::memory_order_relaxed) && at < g_to.load(std::memory_order_relaxed);
}

int find_extension(dl_phdr_info* info, std::size_t, void*) {
  if (strstr(info->dlpi_name, "/genscope/_core.") == nullptr) return 0;
  for (int i = 0; i < info->dlpi_phnum; ++i) {
    const auto& part = info->dlpi_phdr[i];
    if (part.p_type != PT_LOAD || (part.p_flags & PF_X) == 0) continue;
    g_from = info->dlpi_addr + part.p_vaddr;
    g_to = info->dlpi_addr + part.p_vaddr + part.p_memsz;
  }
  return 1;
}

// --- CPython's

PyMemAllocatorEx g_real[3];
constexpr PyMemAllocatorDomain kDomains[] = {PYMEM_DOMAIN_RAW, PYMEM_DOMAIN_MEM, PYMEM_DOMAIN_OBJ};

const PyMemAllocatorEx& real(void* of) { return *static_cast<PyMemAllocatorEx*>(of); }
bool python_fails() { return t_in_call && fails(kPython); }

void* python_malloc(void* of, std::size_t size) {
  return python_fails() ? nullptr : real(of).malloc(real(of).ctx, size);
}
void* python_calloc(void* of, std::size_t count, std::size_t size) {
  return python_fails() ? nullptr : real(of).calloc(real(of).ctx, count, size);
}
void* python_realloc(void* of, void* old, std::size_t size) {
  return python_fails() ? nullptr : real(of).realloc(real(of).ctx, old, size);
}
void python_free(void* of, void* block) { real(of).free(real(of).ctx, block); }

void hook_python() {
  for (int i = 0; i < 3; ++i) {
    if (g_real[i].malloc != nullptr) continue;
    PyMem_GetAllocator(kDomains[i], &g_real[i]);
    PyMemAllocatorEx ours{&g_real[i], python_malloc, python_calloc, python_realloc, python_free};
    PyMem_SetAllocator(kDomains[i], &ours);
  }
}

}  // namespace

extern "C" {

void* __libc_malloc(std::size_t);
void* __libc_calloc(std::size_t, std::size_t);
void* __libc_realloc(void*, std::size_t);

void fault_set(int kind, long n, int all) {
  if (kind == kPython) hook_python();
  dl_iterate_phdr(find_extension, nullptr);
  g_kind = kind;
  g_nth = n;
  g_all = all != 0;
  g_calls = 0;
  g_on = n != 0;
}

long fault_count() { return g_calls; }

PyObject* fault_call(PyObject* function, PyObject* args, PyObject* keywords) {
  PyObject* of[16];
  const Py_ssize_t count = PyTuple_GET_SIZE(args);
  for (Py_ssize_t i = 0; i < count; ++i) of[i] = PyTuple_GET_ITEM(args, i);
  PyObject* const names = PySequence_Tuple(keywords);
  if (names == nullptr) return nullptr;
  for (Py_ssize_t i = 0; i < PyTuple_GET_SIZE(names); ++i) {
    of[count + i] = PyDict_GetItem(keywords, PyTuple_GET_ITEM(names, i));
  }
  const bool vector =
      PyCFunction_Check(function) && (PyCFunction_GET_FLAGS(function) & METH_FASTCALL) != 0;
  const bool named = PyTuple_GET_SIZE(names) > 0;
  t_in_call = true;
  PyObject* const result = vector
                               ? PyObject_Vectorcall(function, of, static_cast<std::size_t>(count),
                                                     named ? names : nullptr)
                               : PyObject_Call(function, args, named ? keywords : nullptr);
  t_in_call = false;
  Py_DECREF(names);
  return result;
}

void* malloc(std::size_t size) {
  if (!is_ours(__builtin_return_address(0)) || !fails(kMalloc)) return __libc_malloc(size);
  errno = ENOMEM;
  return nullptr;
}
void* calloc(std::size_t count, std::size_t size) {
  if (!is_ours(__builtin_return_address(0)) || !fails(kMalloc)) return __libc_calloc(count, size);
  errno = ENOMEM;
  return nullptr;
}
void* realloc(void* old, std::size_t size) {
  if (!is_ours(__builtin_return_address(0)) || !fails(kMalloc)) return __libc_realloc(old, size);
  errno = ENOMEM;
  return nullptr;
}

}  // extern "C"

// The other forms of C++ come down to these, but for over-aligned types.
void* operator new(std::size_t size) {
  void* const block = fails(kNew) ? nullptr : __libc_malloc(size > 0 ? size : 1);
  if (block == nullptr) throw std::bad_alloc();
  return block;
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  return fails(kNew) ? nullptr : __libc_malloc(size > 0 ? size : 1);
}
void operator delete(void* block) noexcept { free(block); }
void operator delete(void* block, std::size_t) noexcept { free(block); }
