// Signals around a watched command: what we started with, and what to do with those that come.
//
// The command shares our process group. So what the terminal sends (Ctrl-C, Ctrl-\, Ctrl-Z, a
// hang-up, a resize) reaches it without us, and what somebody sends to us alone is passed on.
#pragma once

#include <sys/signalfd.h>

#include <bitset>
#include <csignal>
#include <optional>

namespace genscope::watch {

// How signals were set when genscope started; the command is started with the same.
struct SignalState {
  std::bitset<NSIG> ignored;  // by number; a sigset_t refuses the two that threads use
  sigset_t mask;
};
// Call it first in main, before anything sets a handler. Until then: none ignored, none blocked.
void remember_signals();
const SignalState& signals_at_start();
// As they were then: for who is about to become another program.
void restore_signals();

// What to do about a signal that came.
struct Reaction {
  enum class Kind {
    nothing,
    pass_on,  // send it to the command
    stop,     // give the terminal back and stop, as Ctrl-Z asks; pass it on if `pass_on_too`
    resume,   // we run again; likewise
    resize,
    child,  // a child ended
  } kind = Kind::nothing;
  bool pass_on_too = false;
};
// `code` is si_code: above 0 when the kernel sent it, for the terminal, to the whole group.
Reaction react(int signal_number, int code, bool ignored_at_start);

// Takes the signals of the process out of a descriptor, one by one. They are blocked for this
// thread and those it starts from then on.
class SignalFd {
 public:
  SignalFd();
  ~SignalFd();  // what is still pending is dropped; then the mask is as before
  SignalFd(const SignalFd&) = delete;
  SignalFd& operator=(const SignalFd&) = delete;

  int fd() const { return fd_; }  // -1 if there is none: then only SIGCHLD is polled for
  std::optional<signalfd_siginfo> next();

 private:
  sigset_t before_;
  int fd_;
};

}  // namespace genscope::watch
