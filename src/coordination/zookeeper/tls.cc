#include "coordination/zookeeper/tls.h"

#include <string_view>

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

}  // namespace

ssl::context make_tls_context(const TlsFiles& files) {
  ssl::context context(ssl::context::tls_client);
  context.set_options(ssl::context::no_tlsv1 | ssl::context::no_tlsv1_1);
  context.set_verify_mode(ssl::verify_peer);
  boost::system::error_code error;
  require_usable(context.load_verify_file(files.ca, error), "CA certificate", files.ca);
  require_usable(context.use_certificate_chain_file(files.cert, error), "client certificate",
                 files.cert);
  require_usable(context.use_private_key_file(files.key, ssl::context::pem, error), "private key",
                 files.key);
  return context;
}

}  // namespace nodepool::coordination::zookeeper
