#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace nodepool::drivers::kubernetes {

// A program that returns a token (client-go's exec plug-ins).
struct ExecPlugin {
  std::string command;  // a path, or a name to search in PATH
  std::vector<std::string> arguments;
  std::vector<std::pair<std::string, std::string>> environment;  // besides this process's
  std::string api_version;  // "client.authentication.k8s.io/v1"
  bool wants_cluster = false;
  std::string install_hint;

  friend bool operator==(const ExecPlugin&, const ExecPlugin&) = default;
};

// A text, or the file that contains it.
struct TextOrFile {
  std::string text;
  std::string file;

  bool empty() const { return text.empty() && file.empty(); }
  friend bool operator==(const TextOrFile&, const TextOrFile&) = default;
};

// A context of a kubeconfig: the cluster and its user.
struct Cluster {
  std::string context;  // name; empty: the cluster that this process runs in
  std::string server;   // URL, without a slash at the end
  TextOrFile ca;        // PEM; empty: the system's CA certificates
  bool verify = true;
  std::string proxy;  // URL; empty: from the environment

  // The user: all fields that are set are used.
  TextOrFile client_cert;  // PEM, like the key
  TextOrFile client_key;
  std::string token;
  std::string token_file;  // read again periodically
  std::string username;
  std::string password;
  std::optional<ExecPlugin> exec;
  std::string impersonated_user;
  std::vector<std::string> impersonated_groups;

  friend bool operator==(const Cluster&, const Cluster&) = default;
};

}  // namespace nodepool::drivers::kubernetes
