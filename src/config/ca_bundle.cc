#include "config/ca_bundle.h"

#include <unistd.h>

#include <cerrno>
#include <string_view>
#include <system_error>
#include <vector>

#include "config/outside_error.h"

namespace nodepool::config {

namespace {

// In order of precedence.
std::vector<std::string_view> ca_variables(HttpLibrary library) {
  switch (library) {
    case HttpLibrary::requests:
      return {"REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE"};
    case HttpLibrary::botocore:
      return {"AWS_CA_BUNDLE", "REQUESTS_CA_BUNDLE"};
    case HttpLibrary::httplib2:
      return {"HTTPLIB2_CA_CERTS"};
  }
  return {};
}

}  // namespace

std::string ca_bundle(HttpLibrary library, const Environment& environment,
                      const Section& provider) {
  for (const std::string_view name : ca_variables(library)) {
    std::string path = variable(environment, name);
    if (path.empty()) continue;
    if (::access(path.c_str(), R_OK) == 0) return path;
    const std::string reason = std::generic_category().message(errno);
    std::string message(name);
    message.append(": ").append(path).append(": ").append(reason);
    throw OutsideError(provider.section_error(message).problem());
  }
  return {};
}

std::set<std::string> ca_bundle_paths(const Environment& environment) {
  std::set<std::string> paths;
  for (const HttpLibrary library :
       {HttpLibrary::requests, HttpLibrary::botocore, HttpLibrary::httplib2}) {
    for (const std::string_view name : ca_variables(library)) {
      paths.insert(variable(environment, name));
    }
  }
  paths.erase("");
  return paths;
}

}  // namespace nodepool::config
