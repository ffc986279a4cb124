// genscope/inject/_later: calls one function after a delay, on a thread of its own.
//
// Each Python program under `genscope run` loads this, most of them to end before the delay is
// over. So it links to nothing of genscope and costs a thread that sleeps. The thread takes no
// signals, has no frame of Python's and is not one of `threading`'s. Before it asks for the
// interpreter it loads the library that its function needs, which takes the longest and needs no
// interpreter.
//
// Whoever forks calls stop() before and start() after: a child has no such thread, and Python warns
// of forks beside threads. At exit stop() comes before the interpreter's end.
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <unistd.h>

#include <ctime>

namespace {

// One per process; `running`, `thread` and `owner` are guarded by the GIL, `cancelled` by the lock.
struct Later {
  pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t cancel;
  bool cancelled = false;
  bool running = false;
  pthread_t thread{};
  pid_t owner = 0;
  timespec deadline{};
  PyObject* function = nullptr;
  char library[4096] = {};
};
Later g_later;

// False: it was cancelled.
bool wait_out() {
  pthread_mutex_lock(&g_later.lock);
  int result = 0;
  while (!g_later.cancelled && result == 0) {
    result = pthread_cond_timedwait(&g_later.cancel, &g_later.lock, &g_later.deadline);
  }
  const bool due = !g_later.cancelled;
  pthread_mutex_unlock(&g_later.lock);
  return due;
}

void* run(void*) {
  if (!wait_out()) return nullptr;
  if (g_later.library[0] != '\0') dlopen(g_later.library, RTLD_NOW | RTLD_LOCAL);
  if (Py_IsInitialized() == 0) return nullptr;
  const PyGILState_STATE state = PyGILState_Ensure();
  const int collects = PyGC_Disable();  // a finalizer of the program's must not run here
  PyObject* const result = PyObject_CallObject(g_later.function, nullptr);
  if (result == nullptr) PyErr_Clear();  // it tells itself what went wrong
  Py_XDECREF(result);
  if (collects != 0) PyGC_Enable();
  PyGILState_Release(state);
  return nullptr;
}

bool launch() {
  pthread_condattr_t monotonic;
  pthread_condattr_init(&monotonic);
  pthread_condattr_setclock(&monotonic, CLOCK_MONOTONIC);
  g_later.lock = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_init(&g_later.cancel, &monotonic);
  pthread_condattr_destroy(&monotonic);
  g_later.cancelled = false;
  g_later.owner = getpid();
  pthread_attr_t small;
  pthread_attr_init(&small);
  pthread_attr_setstacksize(&small, 512 << 10);  // imports run on it
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  const bool made = pthread_create(&g_later.thread, &small, run, nullptr) == 0;
  pthread_sigmask(SIG_SETMASK, &before, nullptr);
  pthread_attr_destroy(&small);
  if (made) pthread_setname_np(g_later.thread, "genscope-later");
  return made;
}

PyObject* start(PyObject*, PyObject* args) {
  double seconds = 0;
  const char* library = nullptr;
  PyObject* function = nullptr;
  if (PyArg_ParseTuple(args, "dsO", &seconds, &library, &function) == 0) return nullptr;
  if (g_later.running && g_later.owner == getpid()) Py_RETURN_FALSE;
  Py_INCREF(function);
  PyObject* const old = g_later.function;
  g_later.function = function;
  Py_XDECREF(old);
  g_later.library[0] = '\0';
  for (std::size_t i = 0; i + 1 < sizeof g_later.library && (i == 0 || library[i - 1] != '\0');
       ++i) {
    g_later.library[i] = library[i];
  }
  clock_gettime(CLOCK_MONOTONIC, &g_later.deadline);
  const long long ns = g_later.deadline.tv_nsec + static_cast<long long>(seconds * 1e9);
  g_later.deadline.tv_sec += static_cast<time_t>(ns / 1'000'000'000);
  g_later.deadline.tv_nsec = static_cast<long>(ns % 1'000'000'000);
  g_later.running = launch();
  return PyBool_FromLong(g_later.running ? 1 : 0);
}

// Returns when the thread has ended, whether it has called or not: True if there was one.
PyObject* stop(PyObject*, PyObject*) {
  if (!g_later.running) Py_RETURN_FALSE;
  g_later.running = false;
  if (g_later.owner != getpid() || pthread_equal(pthread_self(), g_later.thread) != 0) {
    Py_RETURN_FALSE;  // the thread stayed with the parent; or it is what calls us
  }
  const pthread_t thread = g_later.thread;
  PyThreadState* const released = PyEval_SaveThread();
  pthread_mutex_lock(&g_later.lock);
  g_later.cancelled = true;
  pthread_cond_signal(&g_later.cancel);
  pthread_mutex_unlock(&g_later.lock);
  pthread_join(thread, nullptr);
  PyEval_RestoreThread(released);
  Py_RETURN_TRUE;
}

int run_module(PyObject*) {
  if (PyInterpreterState_GetID(PyInterpreterState_Get()) == 0) return 0;
  PyErr_SetString(PyExc_ImportError, "only in the main interpreter");
  return -1;
}

PyMethodDef functions[] = {
    {"start", start, METH_VARARGS,
     "start(seconds, library, function): loads the library, then calls the function. False: it "
     "cannot, or has been started."},
    {"stop", stop, METH_NOARGS,
     "Cancels it, and waits until its thread has ended. False: there was none."},
    {nullptr, nullptr, 0, nullptr},
};
PyModuleDef_Slot slots[] = {{Py_mod_exec, reinterpret_cast<void*>(run_module)}, {0, nullptr}};
PyModuleDef definition = {
    PyModuleDef_HEAD_INIT, "_later", nullptr, 0, functions, slots, nullptr, nullptr, nullptr};

}  // namespace

PyMODINIT_FUNC PyInit__later() { return PyModuleDef_Init(&definition); }
