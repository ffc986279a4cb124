// Probe "process": the watched process and its descendants.
#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <charconv>
#include <cstring>

#include "probe/builtin.h"
#include "probe/host/main_threads.h"
#include "probe/host/process_tree.h"
#include "probe/host/read_status.h"
#include "probe/host/thread_waits.h"
#include "trace/metrics.h"

namespace genscope::probe {
namespace {

constexpr int kMaxEvents = 64;  // a tick

// Whether `proc_root` shows the pids of this very namespace, so that the kernel's calls and its
// files speak of the same processes.
bool shows_own_pids(const std::string& proc_root) {
  if (proc_root != "/proc") return false;
  char target[32];
  const ssize_t n = ::readlink("/proc/self", target, sizeof target);
  std::uint64_t pid = 0;
  return n > 0 && base::parse_number(std::string_view(target, static_cast<std::size_t>(n)), pid) &&
         pid == static_cast<std::uint64_t>(::getpid());
}

// A quarter of the descriptors that the process may have. The limit is not raised: children inherit
// it, and the watched program would no longer be the same.
std::size_t kept_files_allowed() {
  rlimit limit{};
  if (::getrlimit(RLIMIT_NOFILE, &limit) != 0) return 64;
  return static_cast<std::size_t>(std::min<rlim_t>(limit.rlim_cur / 4, 2048));
}

ProcessTree::Options tree_options(const ProbeOptions& options) {
  ProcessTree::Options tree;
  tree.proc_root = options.proc_root;
  tree.root_pid = static_cast<std::uint32_t>(options.pid != 0 ? options.pid : ::getpid());
  tree.children = options.children;
  tree.live = shows_own_pids(options.proc_root);
  tree.kept_files = kept_files_allowed();
  return tree;
}

// Events for the tree and its threads, at most kMaxEvents a tick.
class Announcer final : public TreeListener, public ThreadListener {
 public:
  Announcer(Board& board, std::uint32_t entity) noexcept : board_(board), entity_(entity) {}
  ~Announcer() override {
    if (left_ < 0) tell("process_events_dropped", static_cast<std::uint64_t>(-left_), "more");
  }
  void started(const TreeMember& member) noexcept override { tell("process_started", member); }
  void ended(const TreeMember& member) noexcept override { tell("process_ended", member); }
  // "PID TID SEEN_NS RAN_NS WAITED_NS LOOKS IN_STORAGE NAME"
  void thread(const ThreadFigures& figures) noexcept override {
    if (--left_ < 0) return;
    char text[160];
    char* end = text;
    for (const std::int64_t number :
         {std::int64_t{figures.pid}, std::int64_t{figures.tid}, figures.seen_ns, figures.ran_ns,
          figures.waited_ns, std::int64_t{figures.looks}, std::int64_t{figures.in_storage}}) {
      end = std::to_chars(end, text + sizeof text - sizeof figures.name - 1, number).ptr;
      *end++ = ' ';
    }
    const std::string_view name(figures.name);
    end = std::copy(name.begin(), name.end(), end);
    board_.event(entity_, "thread", std::string_view(text, static_cast<std::size_t>(end - text)));
  }

 private:
  void tell(std::string_view what, const TreeMember& member) noexcept {
    if (--left_ >= 0) tell(what, member.pid, member.name);
  }
  // "PID NAME"
  void tell(std::string_view what, std::uint64_t number, std::string_view name) noexcept {
    char text[64];
    char* end = std::to_chars(text, text + 24, number).ptr;
    *end++ = ' ';
    name = name.substr(0, static_cast<std::size_t>(text + sizeof text - end));
    end = std::copy(name.begin(), name.end(), end);
    board_.event(entity_, what, std::string_view(text, static_cast<std::size_t>(end - text)));
  }
  Board& board_;
  std::uint32_t entity_;
  int left_ = kMaxEvents;
};

class ProcessProbe final : public Probe {
 public:
  ProcessProbe(const ProbeOptions& options, base::Files& files)
      : options_(tree_options(options)), tree_(options_, files), buffer_(1 << 14) {}

  std::string_view name() const noexcept override { return "process"; }
  ProbeState open(Board& board) override;
  void sample(Tier tier, std::int64_t now_ns, Board& board) noexcept override;

 private:
  void add_series(Board& board);
  void set_fast(Board& board) noexcept;
  void set_normal(Board& board) noexcept;
  void set_io(Board& board) noexcept;
  void set_waits(Board& board) noexcept;
  void set_storage(Board& board, std::int64_t now_ns) noexcept;
  void set_rows(Board& board, std::int64_t now_ns) noexcept;
  ProcessRow row_of(const TreeMember& member, std::int64_t now_ns) const noexcept;
  // The sum over living members of a number in a file of each, in KiB there.
  void set_sum(Board& board, std::uint32_t series, std::string_view file,
               std::string_view key) noexcept;
  // True when nothing lives; then the levels say so. Counters keep their last value: it is true.
  bool set_ended(Board& board) noexcept;

  ProcessTree::Options options_;
  ProcessTree tree_;
  MainThreads main_threads_;
  ThreadWaits thread_waits_;
  StorageWaits storage_waits_;
  std::vector<char> buffer_;
  std::vector<const TreeMember*> order_;
  std::vector<ProcessRow> rows_;
  double page_bytes_ = static_cast<double>(::sysconf(_SC_PAGESIZE));
  std::uint32_t entity_ = 0;
  std::uint32_t cpu_ = kNoSeries, rss_ = kNoSeries, anon_ = kNoSeries, file_ = kNoSeries;
  std::uint32_t main_ = kNoSeries, threads_ = kNoSeries, processes_ = kNoSeries, minor_ = kNoSeries,
                major_ = kNoSeries, read_ = kNoSeries, write_ = kNoSeries;
  std::uint32_t swap_ = kNoSeries, pss_ = kNoSeries;
  std::uint32_t cpu_wait_ = kNoSeries, storage_ = kNoSeries, asleep_ = kNoSeries;
  bool told_refused_ = false;
};

ProbeState ProcessProbe::open(Board& board) {
  const std::string who = "process " + std::to_string(options_.root_pid);
  if (const int error = tree_.open(); error != 0) {
    if (error == EACCES || error == EPERM) {
      return {ProbeState::Kind::denied, who + " may not be seen (a hidepid mount of /proc?)",
              "run as the same user, or as root"};
    }
    if (error != ENOENT && error != ESRCH) {
      return {ProbeState::Kind::broken, who + ": " + std::strerror(error), ""};
    }
    return {ProbeState::Kind::absent, "there is no " + who + " in " + options_.proc_root, ""};
  }
  const TreeMember& root = tree_.members().front();
  entity_ = board.add_entity({EntityKind::process_tree,
                              "tree",
                              root.name,
                              {{"pid", std::to_string(root.pid)},
                               {"children", options_.children ? "watched" : "not watched"}}});
  order_.reserve(options_.capacity);
  rows_.resize(kMaxProcessRows);
  add_series(board);
  return {};
}

void ProcessProbe::add_series(Board& board) {
  using trace::metric;
  const std::string_view cpu = options_.live
                                   ? "CPU clock of each process, cutime and cstime of stat"
                                   : "utime, stime, cutime and cstime of stat";
  cpu_ = board.add_series(entity_, metric("cpu_ns"), Tier::fast, cpu);
  rss_ = board.add_series(entity_, metric("rss_bytes"), Tier::fast, "statm");
  anon_ = board.add_series(entity_, metric("rss_anon_bytes"), Tier::fast, "statm");
  file_ = board.add_series(entity_, metric("rss_file_bytes"), Tier::fast, "statm");
  main_ = board.add_series(entity_, metric("main_thread_cpu_ns"), Tier::normal,
                           "utime and stime of task/PID/stat");
  cpu_wait_ =
      board.add_series(entity_, metric("cpu_wait_ns"), Tier::normal, "schedstat of each thread");
  storage_ =
      board.add_series(entity_, metric("storage_wait"), Tier::fast, "state of each main thread");
  asleep_ = board.add_series(entity_, metric("asleep"), Tier::fast, "state of each main thread");
  threads_ = board.add_series(entity_, metric("threads"), Tier::normal, "stat");
  processes_ = board.add_series(entity_, metric("processes"), Tier::normal, "children files");
  minor_ = board.add_series(entity_, metric("minor_faults"), Tier::normal, "stat");
  major_ = board.add_series(entity_, metric("major_faults"), Tier::normal, "stat");
  read_ = board.add_series(entity_, metric("io_read_bytes"), Tier::normal, "io");
  write_ = board.add_series(entity_, metric("io_write_bytes"), Tier::normal, "io");
  swap_ = board.add_series(entity_, metric("swap_bytes"), Tier::slow, "VmSwap of status");
  pss_ = board.add_series(entity_, metric("pss_bytes"), Tier::on_demand, "Pss of smaps_rollup");
}

void ProcessProbe::sample(Tier tier, std::int64_t now_ns, Board& board) noexcept {
  switch (tier) {
    case Tier::fast: {
      Announcer announcer(board, entity_);
      tree_.read_fast(announcer);
      set_fast(board);
      set_storage(board, now_ns);
      break;
    }
    case Tier::normal: {
      Announcer announcer(board, entity_);
      tree_.read_all(announcer);
      main_threads_.read(tree_.members(), tree_.tick_ns(), tree_.files());
      thread_waits_.read(tree_.members(), now_ns, tree_.files(), announcer);
      set_fast(board);
      set_normal(board);
      set_rows(board, now_ns);
      break;
    }
    case Tier::slow:
      set_sum(board, swap_, "status", "VmSwap:");
      break;
    case Tier::on_demand:
      set_sum(board, pss_, "smaps_rollup", "Pss:");
      break;
  }
}

bool ProcessProbe::set_ended(Board& board) noexcept {
  const auto members = tree_.members();
  const bool alive =
      std::any_of(members.begin(), members.end(), [](const TreeMember& m) { return !m.zombie; });
  if (alive) return false;
  for (const std::uint32_t series :
       {rss_, anon_, file_, threads_, processes_, swap_, pss_, storage_, asleep_}) {
    board.set(series, SampleStatus::lost, "every process of the tree has ended");
  }
  return true;
}

void ProcessProbe::set_fast(Board& board) noexcept {
  board.set(cpu_, static_cast<double>(tree_.total(kCpuNs)));
  if (set_ended(board)) return;
  if (const int error = tree_.memory_error(); error != 0) {
    for (const std::uint32_t series : {rss_, anon_, file_}) set_failure(board, series, error);
    return;
  }
  double resident = 0, shared = 0;
  for (const TreeMember& member : tree_.members()) {
    resident += static_cast<double>(member.memory.resident);
    shared += static_cast<double>(member.memory.shared);
  }
  board.set(rss_, resident * page_bytes_);
  board.set(anon_, (resident - shared) * page_bytes_);
  board.set(file_, shared * page_bytes_);
}

void ProcessProbe::set_normal(Board& board) noexcept {
  set_read(board, main_, main_threads_.error(), static_cast<double>(main_threads_.highest_ns()));
  board.set(minor_, static_cast<double>(tree_.total(kMinorFaults)));
  board.set(major_, static_cast<double>(tree_.total(kMajorFaults)));
  set_io(board);
  set_waits(board);
  if (tree_.refused() > 0 && !told_refused_) {
    told_refused_ = true;
    board.event(entity_, "tree_too_large", "more processes than can be watched; some are missing");
  }
  if (set_ended(board)) return;
  double threads = 0, processes = 0;
  for (const TreeMember& member : tree_.members()) {
    if (member.zombie) continue;
    threads += static_cast<double>(member.threads);
    processes += 1;
  }
  board.set(threads_, threads);
  board.set(processes_, processes);
}

void ProcessProbe::set_io(Board& board) noexcept {
  const int error = tree_.io_error();
  if (error == EACCES || error == EPERM) {
    for (const std::uint32_t series : {read_, write_}) {
      board.set(series, SampleStatus::not_permitted,
                "the io file of a process is for its own user, or for one who may trace it");
    }
    return;
  }
  set_read(board, read_, error, static_cast<double>(tree_.total(kReadBytes)));
  set_read(board, write_, error, static_cast<double>(tree_.total(kWriteBytes)));
}

void ProcessProbe::set_waits(Board& board) noexcept {
  if (thread_waits_.too_many()) {
    return board.set(cpu_wait_, SampleStatus::not_supported,
                     "more threads than are read one by one");
  }
  if (thread_waits_.error() == ENODATA) {
    return board.set(cpu_wait_, SampleStatus::not_supported,
                     "this kernel does not count how long threads wait for a CPU");
  }
  set_read(board, cpu_wait_, thread_waits_.error(), static_cast<double>(thread_waits_.waited_ns()));
}

void ProcessProbe::set_storage(Board& board, std::int64_t now_ns) noexcept {
  if (set_ended(board)) return;
  const MainStates states = storage_waits_.read(tree_.members(), now_ns, tree_.files());
  board.set(storage_, states.storage ? 1 : 0);
  board.set(asleep_, states.asleep ? 1 : 0);
}

ProcessRow ProcessProbe::row_of(const TreeMember& member, std::int64_t now_ns) const noexcept {
  ProcessRow row;
  row.pid = member.pid;
  row.parent = member.parent;
  row.start = member.start;
  static_assert(sizeof row.name == sizeof member.name);
  std::memcpy(row.name, member.name, sizeof row.name);
  row.cpu_ns = {static_cast<double>(member.own[kCpuNs]), SampleStatus::ok, nullptr, now_ns};
  if (member.zombie) {
    row.rss_bytes = {0, SampleStatus::lost, "it has ended and nobody has waited for it", now_ns};
  } else {
    row.rss_bytes = {static_cast<double>(member.memory.resident) * page_bytes_, SampleStatus::ok,
                     nullptr, now_ns};
  }
  for (Reading* const gpu : {&row.gpu_memory_bytes, &row.gpu_busy_ratio}) {
    *gpu = {0, SampleStatus::absent, "see the processes of the GPU", now_ns};
  }
  return row;
}

void ProcessProbe::set_rows(Board& board, std::int64_t now_ns) noexcept {
  order_.clear();
  for (const TreeMember& member : tree_.members()) order_.push_back(&member);
  const std::size_t count = std::min(order_.size(), rows_.size());
  const auto larger = [](const TreeMember* a, const TreeMember* b) {
    if (a->memory.resident != b->memory.resident) return a->memory.resident > b->memory.resident;
    return a->pid < b->pid;
  };
  std::partial_sort(order_.begin(), order_.begin() + static_cast<std::ptrdiff_t>(count),
                    order_.end(), larger);
  for (std::size_t i = 0; i < count; ++i) rows_[i] = row_of(*order_[i], now_ns);
  board.set_processes(entity_, std::span(rows_).first(count));
}

void ProcessProbe::set_sum(Board& board, std::uint32_t series, std::string_view file,
                           std::string_view key) noexcept {
  if (set_ended(board)) return;
  double sum = 0;
  for (const TreeMember& member : tree_.members()) {
    if (member.zombie) continue;
    std::string_view text;
    std::uint64_t kib = 0;
    const int error = tree_.files().read(member.pid, file, buffer_, text);
    if (error == ESRCH || (error == ENOENT && member.pid != options_.root_pid)) continue;
    if (error != 0) return set_failure(board, series, error);
    // It ended since the tree was read.
    if (text.empty() || text.find("\nState:\tZ") != std::string_view::npos) continue;
    if (!find_number(text, key, kib)) {
      return board.set(series, SampleStatus::not_supported, "this kernel does not say");
    }
    sum += static_cast<double>(kib) * 1024;
  }
  board.set(series, sum);
}

}  // namespace

std::unique_ptr<Probe> make_process_probe(const ProbeOptions& options, base::Files& files) {
  return std::make_unique<ProcessProbe>(options, files);
}

}  // namespace genscope::probe
