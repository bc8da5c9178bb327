#pragma once

#include <openssl/ssl.h>

#include <string>

#include <boost/asio/ssl/context.hpp>

#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

// What TLS connections to servers are made with.
struct TlsClient {
  boost::asio::ssl::context context;
  bool verifies_hostname = false;  // otherwise a certificate for another name is only reported
};

// Reads the files. Throws StoreError(storage), which names the file.
TlsClient make_tls_client(const TlsFiles& files, bool verify_hostname);

// Tells the server before the handshake by which name it is asked for (SNI, RFC 6066), so that it
// can choose a certificate. An address is not told: the extension has no place for it.
void send_host_name(SSL& connection, const std::string& host);

// Why a server's certificate is not one for `host`, a DNS name or an address: "the server's
// certificate is for …, not for HOST". Empty if it is. As OpenSSL has it, a certificate without any
// DNS name stands for the common name of its subject.
std::string name_mismatch(X509& certificate, const std::string& host);

// The same for the certificate of the server at the other end, after the handshake.
std::string name_mismatch(const SSL& connection, const std::string& host);

}  // namespace nodepool::coordination::zookeeper
