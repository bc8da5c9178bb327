#pragma once

#include <boost/asio/ssl/context.hpp>

#include "coordination/zookeeper/zookeeper_store.h"

namespace nodepool::coordination::zookeeper {

// Reads the files and makes of them what TLS connections need. Throws StoreError(storage), which
// names the file.
boost::asio::ssl::context make_tls_context(const TlsFiles& files);

}  // namespace nodepool::coordination::zookeeper
