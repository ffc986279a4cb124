// What a connection to https:// needs of OpenSSL: whom to trust, and why somebody was not trusted.
#pragma once

#include <string>

#include <genscope/error.h>

extern "C" {
struct ssl_st;
struct ssl_ctx_st;
}

namespace genscope::bench {

struct TlsOptions {
  std::string ca_file;    // PEM; empty: those that the system trusts
  bool insecure = false;  // any certificate will do
};

// For all connections of a client: TLS 1.2 or later, HTTP/1.1. The caller frees it
// (SSL_CTX_free). An Error names the file that cannot be used.
Result<ssl_ctx_st*> new_tls_context(const TlsOptions& options);

// Before the handshake: whom we ask for, and whose certificate it must be. `host` is a name or an
// address.
Status expect_host(ssl_st* connection, const std::string& host);

// After a handshake that failed: "its certificate is not trusted (...); ..."; empty if the
// certificate was not the reason.
std::string mistrust(ssl_st* connection);

}  // namespace genscope::bench
