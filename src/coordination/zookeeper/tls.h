#pragma once

#include <openssl/ssl.h>

#include <string>

#include <boost/asio/ssl/context.hpp>

#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

// The TLS settings for connections to servers.
struct TlsClient {
  boost::asio::ssl::context context;
  bool verifies_hostname = false;  // otherwise a mismatch is only reported
};

// Reads the files. Throws StoreError(storage) with the name of the file.
TlsClient make_tls_client(const TlsFiles& files, bool verify_hostname);

// Sets the server name for the handshake (SNI, RFC 6066), so that the server can choose a
// certificate. SNI does not support addresses.
void send_host_name(SSL& connection, const std::string& host);

// Why a server's certificate does not match `host`, a DNS name or an address: "the server's
// certificate is for …, not for HOST". Empty if it matches. Like OpenSSL, uses the common name of
// the subject if the certificate has no DNS name.
std::string name_mismatch(X509& certificate, const std::string& host);

// The same for the server's certificate of a connection, after the handshake.
std::string name_mismatch(const SSL& connection, const std::string& host);

}  // namespace nodepool::coordination::zookeeper
