#include "coordination/zookeeper/tls.h"

#include <openssl/bio.h>
#include <openssl/x509v3.h>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <string_view>
#include <utility>

#include <boost/asio/ip/address.hpp>
#include <boost/system/error_code.hpp>

namespace nodepool::coordination::zookeeper {

namespace ssl = boost::asio::ssl;

namespace {

void require_usable(const boost::system::error_code& error, std::string_view what,
                    const std::string& file) {
  if (!error) return;
  throw StoreError(StoreError::Kind::storage, "the " + std::string(what) +
                                                  " for ZooKeeper cannot be used: " + file + ": " +
                                                  error.message());
}

bool is_address(const std::string& host) {
  boost::system::error_code error;
  boost::asio::ip::make_address(host, error);
  return !error;
}

// "DNS:zk1.example.org, IP Address:192.0.2.1", or the subject without such names.
std::string names_of(X509& certificate) {
  constexpr std::size_t kEnough = 200;
  const std::unique_ptr<BIO, decltype(&BIO_free)> text(BIO_new(BIO_s_mem()), &BIO_free);
  const int names = X509_get_ext_by_NID(&certificate, NID_subject_alt_name, -1);
  if (names >= 0) {
    X509V3_EXT_print(text.get(), X509_get_ext(&certificate, names), 0, 0);
  } else {
    X509_NAME_print_ex(text.get(), X509_get_subject_name(&certificate), 0, XN_FLAG_ONELINE);
  }
  char* bytes = nullptr;
  const long size = BIO_get_mem_data(text.get(), &bytes);
  const std::string_view all(bytes, static_cast<std::size_t>(std::max(size, 0L)));
  return std::string(all.substr(0, kEnough)) + (all.size() > kEnough ? "…" : "");
}

}  // namespace

TlsClient make_tls_client(const TlsFiles& files, bool verify_hostname) {
  ssl::context context(ssl::context::tls_client);
  context.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  context.set_verify_mode(ssl::verify_peer);
  boost::system::error_code error;
  require_usable(context.load_verify_file(files.ca, error), "CA certificate", files.ca);
  require_usable(context.use_certificate_chain_file(files.cert, error), "client certificate",
                 files.cert);
  require_usable(context.use_private_key_file(files.key, ssl::context::pem, error), "private key",
                 files.key);
  return {.context = std::move(context), .verifies_hostname = verify_hostname};
}

void send_host_name(SSL& connection, const std::string& host) {
  if (!is_address(host)) SSL_set_tlsext_host_name(&connection, host.c_str());
}

std::string name_mismatch(X509& certificate, const std::string& host) {
  const bool matches =
      is_address(host) ? X509_check_ip_asc(&certificate, host.c_str(), 0) == 1
                       : X509_check_host(&certificate, host.data(), host.size(), 0, nullptr) == 1;
  if (matches) return {};
  return "the server's certificate is for " + names_of(certificate) + ", not for " + host;
}

std::string name_mismatch(const SSL& connection, const std::string& host) {
  const std::unique_ptr<X509, decltype(&X509_free)> certificate(
      SSL_get1_peer_certificate(&connection), &X509_free);
  if (!certificate) return "the server sent no certificate";
  return name_mismatch(*certificate, host);
}

}  // namespace nodepool::coordination::zookeeper
