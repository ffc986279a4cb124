// A certificate is believed if a chain leads from it to one that we trust, and if it was made out
// to the host that we asked for. OpenSSL checks both within the handshake; no byte of a request is
// sent before. A wheel brings an OpenSSL that may look for the system's certificates at another
// distribution's place, so we look at the usual ones.
#include "bench/http/tls.h"

#include <arpa/inet.h>
#include <fmt/format.h>
#include <openssl/err.h>
#include <openssl/ssl.h>
#include <openssl/x509_vfy.h>
#include <unistd.h>

#include <memory>

namespace genscope::bench {
namespace {

constexpr const char* kSystemBundles[] = {
    "/etc/ssl/certs/ca-certificates.crt",  // Debian, Arch
    "/etc/pki/tls/certs/ca-bundle.crt",    // Fedora
    "/etc/ssl/ca-bundle.pem",              // SUSE
    "/etc/ssl/cert.pem",                   // Alpine
};

std::string last_tls_words() {
  const unsigned long code = ERR_get_error();
  ERR_clear_error();
  const char* const words = ERR_reason_error_string(code);
  return words != nullptr ? words : "no reason given";
}

void trust_the_system(SSL_CTX* context) {
  SSL_CTX_set_default_verify_paths(context);  // SSL_CERT_FILE and SSL_CERT_DIR count, too
  if (access(X509_get_default_cert_file(), R_OK) == 0) return;
  for (const char* const bundle : kSystemBundles) {
    if (access(bundle, R_OK) != 0) continue;
    SSL_CTX_load_verify_locations(context, bundle, nullptr);
    break;
  }
  ERR_clear_error();
}

bool is_ip_address(const std::string& host) {
  unsigned char bytes[sizeof(in6_addr)];
  return inet_pton(AF_INET, host.c_str(), bytes) == 1 ||
         inet_pton(AF_INET6, host.c_str(), bytes) == 1;
}

}  // namespace

Result<ssl_ctx_st*> new_tls_context(const TlsOptions& options) {
  std::unique_ptr<SSL_CTX, decltype(&SSL_CTX_free)> context(SSL_CTX_new(TLS_client_method()),
                                                            &SSL_CTX_free);
  if (!context) {
    return Error{ErrorCode::unsupported, fmt::format("TLS cannot be used: {}", last_tls_words())};
  }
  SSL_CTX_set_min_proto_version(context.get(), TLS1_2_VERSION);
  SSL_CTX_set_mode(context.get(), SSL_MODE_RELEASE_BUFFERS);
  constexpr unsigned char kHttp11[] = "\x08http/1.1";
  SSL_CTX_set_alpn_protos(context.get(), kHttp11, sizeof kHttp11 - 1);
  SSL_CTX_set_verify(context.get(), options.insecure ? SSL_VERIFY_NONE : SSL_VERIFY_PEER, nullptr);
  if (options.insecure) return context.release();
  if (options.ca_file.empty()) {
    trust_the_system(context.get());
    return context.release();
  }
  if (access(options.ca_file.c_str(), R_OK) != 0) {
    return Error{ErrorCode::not_found,
                 fmt::format("{}: cannot be read; give a file of certificates in PEM format",
                             options.ca_file)};
  }
  if (SSL_CTX_load_verify_locations(context.get(), options.ca_file.c_str(), nullptr) != 1) {
    return Error{ErrorCode::bad_data, fmt::format("{}: no certificates in PEM format in it ({})",
                                                  options.ca_file, last_tls_words())};
  }
  return context.release();
}

Status expect_host(ssl_st* connection, const std::string& host) {
  X509_VERIFY_PARAM* const wanted = SSL_get0_param(connection);
  if (is_ip_address(host)) {  // no name is told to the server: the standard wants names only
    if (X509_VERIFY_PARAM_set1_ip_asc(wanted, host.c_str()) == 1) return Done{};
  } else if (SSL_set_tlsext_host_name(connection, host.c_str()) == 1 &&
             SSL_set1_host(connection, host.c_str()) == 1) {
    return Done{};
  }
  return Error{ErrorCode::invalid_argument,
               fmt::format("{}: not a name that a certificate can have", host)};
}

std::string mistrust(ssl_st* connection) {
  if ((SSL_get_verify_mode(connection) & SSL_VERIFY_PEER) == 0) return "";
  const long result = SSL_get_verify_result(connection);
  if (result == X509_V_OK) return "";
  const char* remedy = "give its CA with --cacert FILE (`cacert` in a suite)";
  if (result == X509_V_ERR_HOSTNAME_MISMATCH || result == X509_V_ERR_IP_ADDRESS_MISMATCH) {
    remedy = "use the name that the certificate was made for";
  } else if (result == X509_V_ERR_CERT_HAS_EXPIRED || result == X509_V_ERR_CERT_NOT_YET_VALID) {
    remedy = "renew it, and check the clock";
  }
  return fmt::format(
      "the server's certificate is not trusted ({}); {}, or take --insecure (`insecure: true`) if "
      "nobody else can be at that address",
      X509_verify_cert_error_string(result), remedy);
}

}  // namespace genscope::bench
