#include "bench/count_server.h"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <openssl/ec.h>
#include <openssl/ssl.h>
#include <openssl/x509.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <new>
#include <string>
#include <thread>

namespace bench {

struct CountServer::Shared {
  std::atomic<std::uint64_t> requests{0};
};

namespace {

constexpr char kAnswer[] =
    "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 2\r\n\r\n{}";

// Requests have no body: each ends with an empty line.
void answer(int fd, std::string& pending, std::atomic<std::uint64_t>& requests) {
  for (std::size_t end = pending.find("\r\n\r\n"); end != std::string::npos;
       end = pending.find("\r\n\r\n")) {
    pending.erase(0, end + 4);
    requests.fetch_add(1);
    if (send(fd, kAnswer, sizeof kAnswer - 1, MSG_NOSIGNAL) < 0) return;
  }
}

void watch(int epoll, int fd) {
  epoll_event event{};
  event.events = EPOLLIN;
  event.data.fd = fd;
  epoll_ctl(epoll, EPOLL_CTL_ADD, fd, &event);
}

[[noreturn]] void serve(int listener, std::atomic<std::uint64_t>& requests) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  const int epoll = epoll_create1(0);
  watch(epoll, listener);
  std::map<int, std::string> pending;
  epoll_event events[64];
  char buffer[16384];
  while (true) {
    const int n = epoll_wait(epoll, events, 64, -1);
    for (int i = 0; i < n; ++i) {
      const int fd = events[i].data.fd;
      if (fd == listener) {
        const int accepted = accept4(listener, nullptr, nullptr, 0);
        const int one = 1;
        setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
        watch(epoll, accepted);
        continue;
      }
      const ssize_t got = recv(fd, buffer, sizeof buffer, 0);
      if (got <= 0) {
        pending.erase(fd);
        close(fd);
        continue;
      }
      pending[fd].append(buffer, static_cast<std::size_t>(got));
      answer(fd, pending[fd], requests);
    }
  }
}

SSL_CTX* server_context() {
  EVP_PKEY* const key = EVP_EC_gen("P-256");
  X509* const certificate = X509_new();
  ASN1_INTEGER_set(X509_get_serialNumber(certificate), 1);
  X509_gmtime_adj(X509_getm_notBefore(certificate), 0);
  X509_gmtime_adj(X509_getm_notAfter(certificate), 86'400);
  X509_set_pubkey(certificate, key);
  SSL_CTX* const context = SSL_CTX_new(TLS_server_method());
  if (X509_sign(certificate, key, EVP_sha256()) == 0 ||
      SSL_CTX_use_certificate(context, certificate) != 1 ||
      SSL_CTX_use_PrivateKey(context, key) != 1) {
    std::fputs("count_server: no certificate\n", stderr);
    std::abort();
  }
  return context;
}

void talk_tls(SSL_CTX* context, int fd, std::atomic<std::uint64_t>& requests) {
  SSL* const connection = SSL_new(context);
  SSL_set_fd(connection, fd);
  std::string pending;
  char buffer[16384];
  bool open = SSL_accept(connection) == 1;
  while (open) {
    const int got = SSL_read(connection, buffer, sizeof buffer);
    open = got > 0;
    if (open) pending.append(buffer, static_cast<std::size_t>(got));
    for (std::size_t end = 0; (end = pending.find("\r\n\r\n")) != std::string::npos;) {
      pending.erase(0, end + 4);
      requests.fetch_add(1);
      open = open && SSL_write(connection, kAnswer, sizeof kAnswer - 1) > 0;
    }
  }
  SSL_free(connection);
  close(fd);
}

[[noreturn]] void serve_tls(int listener, std::atomic<std::uint64_t>& requests) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  signal(SIGPIPE, SIG_IGN);
  SSL_CTX* const context = server_context();
  while (true) {
    const int accepted = accept4(listener, nullptr, nullptr, 0);
    if (accepted < 0) continue;
    const int one = 1;
    setsockopt(accepted, IPPROTO_TCP, TCP_NODELAY, &one, sizeof one);
    std::thread([&requests, context, accepted] { talk_tls(context, accepted, requests); }).detach();
  }
}

}  // namespace

CountServer::CountServer(bool tls) {
  void* const memory =
      mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (memory == MAP_FAILED) std::abort();
  shared_ = new (memory) Shared;
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in place{};
  place.sin_family = AF_INET;
  place.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof place;
  auto* const generic = reinterpret_cast<sockaddr*>(&place);
  if (bind(listener, generic, size) != 0 || listen(listener, 1024) != 0 ||
      getsockname(listener, generic, &size) != 0) {
    std::perror("count_server");
    std::abort();
  }
  port_ = ntohs(place.sin_port);
  pid_ = fork();
  if (pid_ == 0 && tls) serve_tls(listener, shared_->requests);
  if (pid_ == 0) serve(listener, shared_->requests);
  close(listener);
}

CountServer::~CountServer() {
  kill(pid_, SIGKILL);
  waitpid(pid_, nullptr, 0);
}

std::uint64_t CountServer::requests() const { return shared_->requests.load(); }

}  // namespace bench
