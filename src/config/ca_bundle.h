#pragma once

#include <set>
#include <string>

#include "config/environment.h"
#include "config/section.h"

namespace nodepool::config {

// The Python libraries whose variables for certificate authorities apply to clouds, because the
// Python Nodepool calls these with them.
enum class HttpLibrary {
  requests,  // REQUESTS_CA_BUNDLE, else CURL_CA_BUNDLE
  botocore,  // AWS_CA_BUNDLE, else REQUESTS_CA_BUNDLE; also IBM's fork of it
  httplib2,  // HTTPLIB2_CA_CERTS
};

// The only trusted authorities: a PEM file, or a directory with hashed names; empty: the system's.
// Throws OutsideError, at `provider` and with the variable's name, if they cannot be read.
std::string ca_bundle(HttpLibrary library, const Environment& environment, const Section& provider);

// All paths in these variables, whether or not they exist.
std::set<std::string> ca_bundle_paths(const Environment& environment);

}  // namespace nodepool::config
