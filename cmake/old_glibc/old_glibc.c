// Makes a program that was linked here run with glibc 2.28 (RHEL 8, Debian 10, Ubuntu 18.10) and later.
//
// A linker takes a function from the newest version that this machine's glibc has. What is below is linked into the wheel's
// command and module and stands before glibc's: each function that got a new version after 2.28 is here, hidden, and either
// goes on to the oldest version, which every glibc keeps, or does the work itself. tools/wheel fails if one is forgotten.
//
// Three groups:
//   moved    from libpthread and libdl into libc (2.34), or with a new version for other reasons: one jump
//   stat     functions since 2.33, macros before: the system call
//   added    after 2.28: written out
#define _GNU_SOURCE
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#pragma GCC visibility push(hidden)

// --- moved

#if defined(__x86_64__)
#define FIRST "GLIBC_2.2.5"
#define SECOND "GLIBC_2.3.3"
#define THIRD "GLIBC_2.12"
#define JUMP(to) "jmp *" to "@GOTPCREL(%rip)\n"
#elif defined(__aarch64__)
#define FIRST "GLIBC_2.17"
#define SECOND "GLIBC_2.17"
#define THIRD "GLIBC_2.17"
#define JUMP(to) "adrp x16, :got:" to "\nldr x16, [x16, :got_lo12:" to "]\nbr x16\n"
#else
#error "which version had this architecture's first glibc?"
#endif

#define GO_ON(name, version)                            \
  __asm__(".symver first_" #name "," #name "@" version "\n" \
          ".text\n.p2align 4\n"                         \
          ".globl " #name "\n.hidden " #name "\n"       \
          ".type " #name ",%function\n"                 \
          #name ":\n" JUMP("first_" #name)              \
          ".size " #name ",.-" #name "\n")

GO_ON(exp, FIRST);  // 2.29: no wrapper that sets errno the old way
GO_ON(exp2, FIRST);
GO_ON(log, FIRST);
GO_ON(log2, FIRST);
GO_ON(pow, FIRST);
GO_ON(hypot, FIRST);  // 2.35
GO_ON(dladdr, FIRST);
GO_ON(dlclose, FIRST);
GO_ON(dlerror, FIRST);
GO_ON(dlopen, FIRST);
GO_ON(dlsym, FIRST);
GO_ON(pthread_attr_setstacksize, FIRST);
GO_ON(pthread_condattr_setclock, SECOND);
GO_ON(pthread_create, FIRST);
GO_ON(pthread_detach, FIRST);
GO_ON(pthread_getcpuclockid, FIRST);
GO_ON(pthread_getname_np, THIRD);
GO_ON(pthread_getspecific, FIRST);
GO_ON(pthread_join, FIRST);
GO_ON(pthread_key_create, FIRST);
GO_ON(pthread_key_delete, FIRST);
GO_ON(pthread_mutex_trylock, FIRST);
GO_ON(pthread_mutexattr_destroy, FIRST);
GO_ON(pthread_mutexattr_init, FIRST);
GO_ON(pthread_mutexattr_settype, FIRST);
GO_ON(pthread_once, FIRST);
GO_ON(pthread_rwlock_destroy, FIRST);
GO_ON(pthread_rwlock_init, FIRST);
GO_ON(pthread_rwlock_rdlock, FIRST);
GO_ON(pthread_rwlock_unlock, FIRST);
GO_ON(pthread_rwlock_wrlock, FIRST);
GO_ON(pthread_setname_np, THIRD);
GO_ON(pthread_setspecific, FIRST);
GO_ON(pthread_sigmask, FIRST);

// --- stat

int stat(const char* path, struct stat* into) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, into, 0);
}
int lstat(const char* path, struct stat* into) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}
int fstat(int file, struct stat* into) { return (int)syscall(SYS_fstat, file, into); }
int stat64(const char* path, struct stat64* into) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, into, 0);
}
int lstat64(const char* path, struct stat64* into) {
  return (int)syscall(SYS_newfstatat, AT_FDCWD, path, into, AT_SYMLINK_NOFOLLOW);
}
int fstat64(int file, struct stat64* into) { return (int)syscall(SYS_fstat, file, into); }

// --- added

char __libc_single_threaded = 0;  // "there may be threads": always true enough

unsigned arc4random(void) {  // of std::random_device
  unsigned value = 0;
  if (getrandom(&value, sizeof value, 0) != (ssize_t)sizeof value) abort();
  return value;
}

// Against the real-time clock where glibc (before 2.30) can wait by no other: a change of that clock then
// makes the wait shorter or longer.
typedef int ClockWait(pthread_cond_t*, pthread_mutex_t*, clockid_t, const struct timespec*);
int pthread_cond_clockwait(pthread_cond_t* condition, pthread_mutex_t* mutex, clockid_t clock,
                           const struct timespec* until) {
  static ClockWait* theirs = NULL;
  static int asked = 0;
  if (!__atomic_load_n(&asked, __ATOMIC_ACQUIRE)) {
    __atomic_store_n(&theirs, (ClockWait*)dlsym(RTLD_DEFAULT, "pthread_cond_clockwait"), __ATOMIC_RELAXED);
    __atomic_store_n(&asked, 1, __ATOMIC_RELEASE);
  }
  ClockWait* const wait = __atomic_load_n(&theirs, __ATOMIC_RELAXED);
  if (wait != NULL) return wait(condition, mutex, clock, until);
  struct timespec now, end;
  if (clock == CLOCK_REALTIME) return pthread_cond_timedwait(condition, mutex, until);
  if (clock_gettime(clock, &now) != 0 || clock_gettime(CLOCK_REALTIME, &end) != 0) return EINVAL;
  end.tv_sec += until->tv_sec - now.tv_sec;
  end.tv_nsec += until->tv_nsec - now.tv_nsec;
  if (end.tv_nsec < 0) {
    end.tv_nsec += 1000000000;
    end.tv_sec -= 1;
  } else if (end.tv_nsec >= 1000000000) {
    end.tv_nsec -= 1000000000;
    end.tv_sec += 1;
  }
  return pthread_cond_timedwait(condition, mutex, &end);
}

const char* strerrordesc_np(int number) {
  static _Thread_local char text[128];
  return strerror_r(number, text, sizeof text);
}

const char* sigabbrev_np(int number) {
  static const char* const names[] = {
      [SIGABRT] = "ABRT", [SIGALRM] = "ALRM",     [SIGBUS] = "BUS",   [SIGCHLD] = "CHLD", [SIGCONT] = "CONT",
      [SIGFPE] = "FPE",   [SIGHUP] = "HUP",       [SIGILL] = "ILL",   [SIGINT] = "INT",   [SIGKILL] = "KILL",
      [SIGPIPE] = "PIPE", [SIGPOLL] = "POLL",     [SIGPROF] = "PROF", [SIGPWR] = "PWR",   [SIGQUIT] = "QUIT",
      [SIGSEGV] = "SEGV", [SIGSTKFLT] = "STKFLT", [SIGSTOP] = "STOP", [SIGSYS] = "SYS",   [SIGTERM] = "TERM",
      [SIGTRAP] = "TRAP", [SIGTSTP] = "TSTP",     [SIGTTIN] = "TTIN", [SIGTTOU] = "TTOU", [SIGURG] = "URG",
      [SIGUSR1] = "USR1", [SIGUSR2] = "USR2",     [SIGVTALRM] = "VTALRM", [SIGWINCH] = "WINCH",
      [SIGXCPU] = "XCPU", [SIGXFSZ] = "XFSZ"};
  return number > 0 && number < (int)(sizeof names / sizeof names[0]) ? names[number] : NULL;
}

#ifdef OLD_GLIBC_PROGRAM
// Programs linked since 2.34 leave their constructors to glibc; before, they had to run them.
typedef int Main(int, char**, char**);
typedef void Init(int, char**, char**);
extern Init* __init_array_start[];
extern Init* __init_array_end[];
static void run_constructors(int count, char** arguments, char** environment) {
  for (Init** each = __init_array_start; each < __init_array_end; ++each) (*each)(count, arguments, environment);
}
__asm__(".symver first_libc_start_main,__libc_start_main@" FIRST);
#pragma GCC visibility push(default)
extern int first_libc_start_main(Main*, int, char**, Init*, void (*)(void), void (*)(void), void*);
#pragma GCC visibility pop
int __libc_start_main(Main* main, int count, char** arguments, Init* init, void (*fini)(void), void (*at_exit)(void),
                      void* stack) {
  (void)init;
  return first_libc_start_main(main, count, arguments, run_constructors, fini, at_exit, stack);
}
#endif

#pragma GCC visibility pop
