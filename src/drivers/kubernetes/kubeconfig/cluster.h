#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nodepool::drivers::kubernetes {

// A program that tells a token (client-go's exec plug-ins).
struct ExecPlugin {
  std::string command;  // a path, or a name that is looked up in PATH
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // besides that of this process
  std::string api_version;  // "client.authentication.k8s.io/v1"
  bool wants_cluster = false;
  std::string install_hint;

  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};

// Something that is in a file, or was given as text.
struct TextOrFile {
  std::string text;
  std::string file;

  bool empty() const { return text.empty() && file.empty(); }
  friend bool operator==(const TextOrFile&, const TextOrFile&) = default;
};

// How a cluster is reached, and as whom: a context of a kubeconfig.
struct Cluster {
  std::string context;  // its name; empty: this process runs in the cluster
  std::string server;   // URL, without a slash at the end
  TextOrFile ca;        // PEM; empty: the system's authorities
  bool verify = true;
  std::string proxy;  // URL; empty: as the environment says

  // As whom: all that is set is used.
  TextOrFile client_cert;  // PEM, as is the key
  TextOrFile client_key;
  std::string token;
  std::string token_file;  // read anew when the token in it may have been replaced
  std::string username;
  std::string password;
  std::optional<ExecPlugin> exec;
  std::string impersonated_user;
  std::vector<std::string> impersonated_groups;

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

}  // namespace nodepool::drivers::kubernetes
