// Stacks of Python's threads, sampled from within.
//
// A thread of ours wakes up at a steady rate, takes the GIL, asks for the innermost frame of each
// thread (sys._current_frames, the only way that the limited API has), walks to its callers and
// gives the GIL back: some 10 us. What it saw is recorded afterwards. It takes no signals, sends
// none, and runs no Python code; the collector is held off meanwhile, so that no finalizer of the
// program's runs here.
//
// A thread that stays in one stack is one record, at most a second long. So a program that waits
// costs next to nothing.
//
// What is not seen: C functions (their caller in Python is), and who holds the GIL in C: the sample
// waits, and shows where the GIL was given back. Such waits are counted as `late`.
//
// Invariants:
//  1. The thread is started, stopped and asked about with the GIL held; only `stop` is shared.
//  2. It holds the GIL only in look(), and no lock of ours there.
//  3. Before a fork it is stopped and joined; a child begins anew with an empty table.
#include <cxxabi.h>
#include <pthread.h>
#include <signal.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <condition_variable>
#include <cstring>
#include <ctime>
#include <mutex>
#include <new>
#include <vector>

#include <genscope/record.h>

#include "entry.h"
#include "stack_table.h"

namespace genscope::python {
namespace {

constexpr std::int64_t kSecond = 1'000'000'000;
constexpr std::size_t kMaxThreads = 128;    // of one sample; the others take turns
constexpr double kBudget = 0.01;            // of one CPU, for our own thread
constexpr std::int64_t kSlowest = kSecond;  // between two samples

std::int64_t now_of(clockid_t clock) noexcept {
  timespec time{};
  if (clock_gettime(clock, &time) != 0) return -1;
  return time.tv_sec * kSecond + time.tv_nsec;
}

std::int64_t micros(std::int64_t ns) noexcept { return std::max<std::int64_t>(0, ns) / 1000; }

// The clock of a thread's CPU time holds its number: the kernel's form of such a clock.
std::uint32_t thread_of(clockid_t clock) noexcept {
  return static_cast<std::uint32_t>(~(clock >> 3));
}

// A thread in a stack, since when and with how much CPU time.
struct Stretch {
  unsigned long ident = 0;
  std::uint32_t tid = 0, node = 0;
  std::int64_t begin_ns = 0, end_ns = 0;
  std::int64_t cpu_begin_ns = 0, cpu_end_ns = 0;
  std::uint64_t samples = 0;
  std::string name;   // of the thread, until it is told
  bool seen = false;  // in this sample
};

class Sampler {
 public:
  // With the GIL. False: a Python exception is set.
  bool start(double rate, bool until_marked) {
    if (running_) return true;
    if (!prepare()) return false;
    period_ns_ = static_cast<std::int64_t>(1e9 / std::clamp(rate, 1.0, 1000.0));
    asked_rate_ = rate;
    until_marked_ = until_marked;
    return resume();
  }

  bool resume() {
    if (running_ || period_ns_ == 0 || ended_) return true;
    stop_ = false;
    owner_ = getpid();
    pthread_attr_t small;
    pthread_attr_init(&small);
    pthread_attr_setstacksize(&small, 256 << 10);
    sigset_t all, before;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before);
    running_ = pthread_create(
                   &thread_, &small,
                   [](void* self) -> void* {
                     static_cast<Sampler*>(self)->run();
                     return nullptr;
                   },
                   this) == 0;
    pthread_sigmask(SIG_SETMASK, &before, nullptr);
    pthread_attr_destroy(&small);
    if (running_) pthread_setname_np(thread_, "genscope-stacks");
    return true;
  }

  // Joins the thread, unless it stayed with our parent. False: there was none.
  bool stop(std::string_view reason) {
    if (!running_) return false;
    running_ = false;
    if (owner_ != getpid()) return false;
    const pthread_t thread = thread_;
    const WithoutGil released;
    {
      const std::lock_guard lock(mutex_);
      stop_ = true;
      stop_reason_ = reason;
    }
    wake_.notify_one();
    pthread_join(thread, nullptr);
    return true;
  }

  // Ends the trace, and the thread that writes it, if nothing but stacks is in it. The next sample
  // begins another. False: there is none, or the program's own records are in it.
  bool end_trace() {
    if (running_ || period_ns_ == 0 || marked() || !recorder_stats().active) return false;
    {
      const WithoutGil released;
      genscope::internal::end_trace();
    }
    start_anew();
    return !recorder_stats().active;
  }

  // In a forked child.
  void forget() {
    running_ = false;
    new (&mutex_) std::mutex;  // nobody holds it: the thread that could have was joined before
    new (&wake_) std::condition_variable;
    start_anew();
    ended_ = false;
    period_ns_ = 0;
  }

  bool running() const noexcept { return running_ && !ended_; }

 private:
  // For a trace that holds nothing yet.
  void start_anew() {
    table_.clear();
    stretches_.clear();
    told_ = {};
    own_before_ns_ = 0;
    ours_ = recorder_stats().threads;
  }

  struct Told {  // so far, for the record
    std::uint64_t samples = 0, late = 0, left_out = 0;
    std::int64_t late_ns = 0, own_ns = 0;
  };

  bool prepare() {
    if (current_frames_) return true;
    if (!table_.prepare()) return false;
    current_frames_ = another(PySys_GetObject("_current_frames"));
    no_arguments_ = Ref(PyTuple_New(0));
    active_ = Ref(PyUnicode_InternFromString("_active"));
    thread_name_ = Ref(PyUnicode_InternFromString("_name"));
    threading_ = Ref(PyUnicode_InternFromString("threading"));
    interpreters_ = Ref(PyUnicode_InternFromString("_interpreters"));
    old_interpreters_ = Ref(PyUnicode_InternFromString("_xxsubinterpreters"));
    if (!current_frames_ && PyErr_Occurred() == nullptr) {
      PyErr_SetString(PyExc_RuntimeError, "sys._current_frames is missing");
    }
    const PyObject* const version = PySys_GetObject("hexversion");
    hex_version_ = version != nullptr ? PyLong_AsLong(const_cast<PyObject*>(version)) : 0;
    return current_frames_ && no_arguments_ && active_ && thread_name_ && threading_ &&
           interpreters_ && old_interpreters_;
  }

  // A thread that Python ends while it waits for the GIL is unwound: that may not be stopped.
  void run() {
    try {
      if (!genscope::internal::may_throw()) return;
      sample_until_stopped();
    } catch (abi::__forced_unwind&) {
      throw;
    } catch (...) {
      ended_ = true;
      event("genscope.stacks", {{"stopped", "there was no memory"}});
    }
  }

  void sample_until_stopped() {
    const PyGILState_STATE state = PyGILState_Ensure();
    PyThreadState* released = PyEval_SaveThread();
    const char* reason = first_look();
    std::int64_t due = now_of(CLOCK_MONOTONIC) + period_ns_, tell_due = due + kSecond;
    while (reason == nullptr && wait_until(due)) {
      const std::int64_t asked = now_of(CLOCK_MONOTONIC);
      PyEval_RestoreThread(released);
      const std::int64_t begin = now_of(CLOCK_MONOTONIC);
      reason = look();
      released = PyEval_SaveThread();
      if (begin - asked > 2 * period_ns_) {
        ++told_.late;
        told_.late_ns += begin - asked;
      }
      record(begin);
      if (begin >= tell_due) {
        tell("");
        slow_down(begin);
        tell_due = begin + kSecond;
      }
      if (until_marked_ && marked()) reason = "the program marks stages itself";
      due += period_ns_;
      if (due <= begin) due = begin + period_ns_;  // no burst after a wait
    }
    finish_stretches();
    ended_ = reason != nullptr;
    // A program that marks before it is sampled is as one that nobody samples.
    if (!until_marked_ || told_.samples > 0)
      tell(reason != nullptr ? reason : stop_reason_.c_str());
    own_before_ns_ += now_of(CLOCK_THREAD_CPUTIME_ID);
    PyEval_RestoreThread(released);
    PyGILState_Release(state);
  }

  const char* first_look() {
    clockid_t own = 0;
    const bool known = pthread_getcpuclockid(pthread_self(), &own) == 0 &&
                       thread_of(own) == static_cast<std::uint32_t>(syscall(SYS_gettid));
    if (!known) return "threads have no CPU clocks here";
    if (until_marked_ && marked()) return "the program marks stages itself";
    const std::uint64_t before = recorder_stats().threads;
    genscope::internal::begin_small();  // its pages count as written by the program
    event("genscope.stacks", {{"rate", asked_rate_}, {"until_marked", until_marked_}});
    ours_ += recorder_stats().threads - before;
    checked_ns_ = now_of(CLOCK_MONOTONIC);
    checked_own_ns_ = now_of(CLOCK_THREAD_CPUTIME_ID);
    last_ns_ = checked_ns_;
    return nullptr;
  }

  // Whether another thread than ours recorded anything.
  bool marked() const { return recorder_stats().threads > ours_; }

  bool wait_until(std::int64_t due) {
    std::unique_lock lock(mutex_);
    const std::chrono::steady_clock::time_point at{std::chrono::nanoseconds(due)};
    return !wake_.wait_until(lock, at, [&] { return stop_; });
  }

  // With the GIL. What it sees is in `seen_`; a reason to end.
  const char* look() {
    seen_.clear();
    if (hex_version_ >= 0x030C0000 &&
        (is_imported(interpreters_) || is_imported(old_interpreters_)))
      return "the program uses subinterpreters, which have locks of their own";
    const int collects = PyGC_Disable();
    const Ref frames(PyObject_Call(current_frames_.get(), no_arguments_.get(), nullptr));
    const char* reason = nullptr;
    if (frames && PyDict_Check(frames.get())) {
      look_at(frames.get());
      news_ = table_.take_news();
    } else {
      PyErr_Clear();
      reason = "an audit hook of the program forbids it";
    }
    if (collects != 0) PyGC_Enable();
    return reason;
  }

  static bool is_imported(const Ref& name) {
    const Ref module(PyImport_GetModule(name.get()));
    PyErr_Clear();
    return static_cast<bool>(module);
  }

  void look_at(PyObject* frames) {
    PyObject *key = nullptr, *frame = nullptr;
    Py_ssize_t at = 0;
    const auto count = static_cast<std::size_t>(PyDict_Size(frames));
    std::size_t skip = 0, index = 0;
    if (count > kMaxThreads) {
      told_.left_out += count - kMaxThreads;
      skip = turn_++ * kMaxThreads % count;
    }
    while (PyDict_Next(frames, &at, &key, &frame) != 0) {
      const std::size_t place = (index++ + count - skip) % count;
      if (place < kMaxThreads) look_at_thread(key, frame);
    }
  }

  void look_at_thread(PyObject* key, PyObject* frame) {
    Stretch now;
    now.ident = PyLong_AsUnsignedLong(key);
    clockid_t clock = 0;
    // It is in a frame and we have the GIL, so it cannot have ended.
    if (pthread_getcpuclockid(static_cast<pthread_t>(now.ident), &clock) != 0) return;
    now.tid = thread_of(clock);
    now.cpu_end_ns = now_of(clock);
    now.node = table_.node_of(frame);
    if (find(now.ident, now.tid) == nullptr) now.name = name_of(key);
    seen_.push_back(std::move(now));
  }

  // What threading calls it; "" if it does not know it. Nothing of the program's runs for it.
  std::string name_of(PyObject* ident) const {
    std::string_view text;
    const Ref module(PyImport_GetModule(threading_.get()));
    const Ref active(module ? PyObject_GenericGetAttr(module.get(), active_.get()) : nullptr);
    if (active && PyDict_CheckExact(active.get())) {
      PyObject* const thread = PyDict_GetItemWithError(active.get(), ident);
      const Ref name(thread != nullptr ? PyObject_GenericGetAttr(thread, thread_name_.get())
                                       : nullptr);
      if (name && PyUnicode_CheckExact(name.get()) && text_of(name.get(), text)) {
        PyErr_Clear();
        return std::string(text);
      }
    }
    PyErr_Clear();
    return "";
  }

  Stretch* find(unsigned long ident, std::uint32_t tid) {
    for (Stretch& stretch : stretches_) {
      if (stretch.ident == ident && stretch.tid == tid) return &stretch;
    }
    return nullptr;
  }

  // Without the GIL from here on.
  void record(std::int64_t at_ns) {
    for (const StackTable::Frame& frame : news_.frames) {
      event("genscope.frame",
            {{"id", frame.id}, {"name", frame.name}, {"file", frame.file}, {"line", frame.line}});
    }
    for (const StackTable::Node& node : news_.nodes) {
      event("genscope.node", {{"id", node.id}, {"parent", node.parent}, {"frame", node.frame}});
    }
    news_ = {};
    told_.samples += seen_.size();
    for (Stretch& stretch : stretches_) stretch.seen = false;
    for (Stretch& now : seen_) take(now, at_ns);
    for (Stretch& stretch : stretches_) {
      if (!stretch.seen) put(stretch, at_ns);
    }
    std::erase_if(stretches_, [](const Stretch& stretch) { return !stretch.seen; });
    last_ns_ = at_ns;
  }

  void take(Stretch& now, std::int64_t at_ns) {
    Stretch* const known = find(now.ident, now.tid);
    if (known == nullptr) {
      event("genscope.thread", {{"tid", now.tid}, {"name", now.name}});
      now.begin_ns = std::max(last_ns_, at_ns - period_ns_);
      now.end_ns = at_ns;
      now.cpu_begin_ns = now.cpu_end_ns;
      now.samples = 1;
      now.seen = true;
      stretches_.push_back(std::move(now));
      return;
    }
    known->seen = true;
    if (known->node != now.node || at_ns - known->begin_ns > kSecond) {
      put(*known, at_ns);
      known->node = now.node;
      known->begin_ns = known->end_ns;
      known->cpu_begin_ns = known->cpu_end_ns;
      known->samples = 0;
    }
    known->end_ns = at_ns;
    known->cpu_end_ns = now.cpu_end_ns;
    ++known->samples;
  }

  static void put(const Stretch& stretch, std::int64_t at_ns) {
    event("genscope.stack", {{"tid", stretch.tid},
                             {"node", stretch.node},
                             {"us", micros(stretch.end_ns - stretch.begin_ns)},
                             {"ago_us", micros(at_ns - stretch.end_ns)},
                             {"cpu_us", micros(stretch.cpu_end_ns - stretch.cpu_begin_ns)},
                             {"samples", stretch.samples}});
  }

  void finish_stretches() {
    const std::int64_t now = now_of(CLOCK_MONOTONIC);
    for (const Stretch& stretch : stretches_) put(stretch, now);
    stretches_.clear();
  }

  // What holds of all so far; the last such record counts.
  void tell(const char* stopped) {
    told_.own_ns = own_before_ns_ + now_of(CLOCK_THREAD_CPUTIME_ID);
    event("genscope.stacks", {{"rate", asked_rate_},
                              {"until_marked", until_marked_},
                              {"samples", told_.samples},
                              {"late", told_.late},
                              {"late_us", micros(told_.late_ns)},
                              {"folded", table_.folded()},
                              {"left_out", told_.left_out},
                              {"own_us", micros(told_.own_ns)},
                              {"period_us", micros(period_ns_)},
                              {"stopped", stopped}});
  }

  // Over the budget in the last second: half as often.
  void slow_down(std::int64_t at_ns) {
    const std::int64_t own = now_of(CLOCK_THREAD_CPUTIME_ID);
    const auto took = static_cast<double>(own - checked_own_ns_);
    if (took > kBudget * static_cast<double>(at_ns - checked_ns_)) {
      period_ns_ = std::min(period_ns_ * 2, kSlowest);
    }
    checked_ns_ = at_ns;
    checked_own_ns_ = own;
  }

  std::mutex mutex_;
  std::condition_variable wake_;
  bool stop_ = false;  // guarded by mutex_, as the next
  std::string stop_reason_;

  bool running_ = false;
  std::atomic<bool> ended_{false};  // of itself
  pthread_t thread_{};
  pid_t owner_ = 0;
  std::int64_t period_ns_ = 0;
  double asked_rate_ = 0;
  bool until_marked_ = false;
  long hex_version_ = 0;
  Ref current_frames_, no_arguments_, active_, thread_name_, threading_, interpreters_,
      old_interpreters_;
  StackTable table_;

  // The thread's own.
  std::vector<Stretch> stretches_, seen_;
  StackTable::News news_;
  Told told_;
  std::size_t turn_ = 0;
  std::uint64_t ours_ = 0;  // threads of ours that recorded, one after another
  std::int64_t last_ns_ = 0, checked_ns_ = 0, checked_own_ns_ = 0, own_before_ns_ = 0;
};

// Never destroyed: its thread may be in it when the interpreter ends.
Sampler& sampler() {
  static Sampler* const one = new Sampler;
  return *one;
}

PyObject* start_stacks(PyObject*, PyObject* args) {
  double rate = 0;
  int until_marked = 0;
  if (PyArg_ParseTuple(args, "dp", &rate, &until_marked) == 0) return nullptr;
  if (!sampler().start(rate, until_marked != 0)) return nullptr;
  return PyBool_FromLong(sampler().running() ? 1 : 0);
}
PyObject* stop_stacks(PyObject*, PyObject* args) {
  const char* reason = "";
  if (PyArg_ParseTuple(args, "s", &reason) == 0) return nullptr;
  return PyBool_FromLong(sampler().stop(reason) ? 1 : 0);
}
PyObject* end_stacks_trace(PyObject*, PyObject*) {
  return PyBool_FromLong(sampler().end_trace() ? 1 : 0);
}
PyObject* resume_stacks(PyObject*, PyObject*) {
  sampler().resume();
  return none();
}
PyObject* forget_stacks(PyObject*, PyObject*) {
  sampler().forget();
  return none();
}

Method functions[] = {
    recording<start_stacks>(
        "start_stacks", METH_VARARGS,
        "start_stacks(rate, until_marked): samples Python's stacks on a thread"),
    recording<stop_stacks>(
        "stop_stacks", METH_VARARGS,
        "stop_stacks(reason): ends the thread that samples stacks. False: there was none."),
    recording<end_stacks_trace>(
        "end_stacks_trace", METH_NOARGS,
        "After stop_stacks(): ends a trace that holds nothing else, and its thread."),
    recording<resume_stacks>("resume_stacks", METH_NOARGS, "Goes on after stop_stacks()."),
    recording<forget_stacks>("forget_stacks", METH_NOARGS, "In a forked child: begins anew."),
    {},
};

}  // namespace

bool add_stacks(PyObject* module) { return add_functions(module, functions); }

}  // namespace genscope::python
