#include "tests/support/sshd.h"

#include <pwd.h>
#include <signal.h>
#include <unistd.h>

#include <chrono>
#include <sstream>
#include <stdexcept>
#include <utility>

#include "tests/support/patience.h"

namespace nodepool::test_support {

namespace {

constexpr char kNewConnection[] = "Connection from ";

// sshd is often outside the PATH of ordinary users and must be started by its full path.
std::string find_sshd() {
  for (const char* path : {"/usr/sbin/sshd", "/usr/local/sbin/sshd", "/usr/bin/sshd"}) {
    if (::access(path, X_OK) == 0) return path;
  }
  throw std::runtime_error("sshd is missing: install openssh-server (tools/bootstrap --tests)");
}

void generate_key(const std::filesystem::path& file, const std::string& kind) {
  const auto dash = kind.find('-');
  std::vector<std::string> command{"ssh-keygen", "-q", "-N", "", "-C", "", "-f", file.string()};
  command.insert(command.end(), {"-t", kind.substr(0, dash)});
  if (dash != std::string::npos) command.insert(command.end(), {"-b", kind.substr(dash + 1)});
  const Completed result = run(command);
  if (result.status != 0) throw std::runtime_error("ssh-keygen: " + result.error);
}

// "<type> <base64>" without the comment.
std::string public_key(const std::filesystem::path& file) {
  std::istringstream words(read_file(file.string() + ".pub"));
  std::string type;
  std::string base64;
  words >> type >> base64;
  return type + " " + base64;
}

}  // namespace

Sshd::Sshd(const Options& options)
    : address_(options.address), port_(options.address), program_(find_sshd()) {
  for (const std::string& kind : options.host_keys) make_host_key(kind);
  generate_key(client_key(), "ed25519");
  write_configuration(options.configuration);
  // The privilege separation directory of root's sshd, which may be missing.
  if (::geteuid() == 0) std::filesystem::create_directories("/run/sshd");
  if (options.start) start();
}

void Sshd::make_host_key(const std::string& kind) {
  host_key_files_.push_back(directory_.path() / ("host_" + kind));
  generate_key(host_key_files_.back(), kind);
  host_keys_.push_back(public_key(host_key_files_.back()));
}

void Sshd::write_configuration(const std::vector<std::string>& more) const {
  std::ostringstream text;
  // First, because sshd uses the first of several values.
  for (const std::string& line : more) text << line << "\n";
  text << "ListenAddress " << address_ << "\nPort " << port() << "\n";
  for (const auto& file : host_key_files_) text << "HostKey " << file.string() << "\n";
  text << "AuthorizedKeysFile " << client_key().string() << ".pub\n"
       << "PidFile none\n"
          "UsePAM no\n"
          "StrictModes no\n"
          "PasswordAuthentication no\n"
          "KbdInteractiveAuthentication no\n"
          "PermitRootLogin prohibit-password\n"
          "UseDNS no\n"
          "LogLevel VERBOSE\n"
          "MaxStartups 1000\n";
  directory_.write("sshd_config", text.str());
}

std::filesystem::path Sshd::client_key() const {
  return directory_.path() / "client_key";
}

std::string Sshd::user() {
  const passwd* entry = ::getpwuid(::geteuid());
  return entry == nullptr ? std::to_string(::geteuid()) : entry->pw_name;
}

void Sshd::replace_host_keys() {
  host_keys_.clear();
  for (const std::filesystem::path& file : std::exchange(host_key_files_, {})) {
    std::filesystem::remove(file);
    std::filesystem::remove(file.string() + ".pub");
    make_host_key(file.filename().string().substr(std::string("host_").size()));
  }
}

void Sshd::start() {
  const std::vector<std::string> command{program_, "-D", "-e", "-f",
                                         (directory_.path() / "sshd_config").string()};
  server_.emplace(command);
  if (!server_->error_output_shows("Server listening on", kPatience)) {
    throw std::runtime_error("sshd did not start: " + log());
  }
}

void Sshd::stop() {
  end(SIGTERM);
}

void Sshd::kill() {
  end(SIGKILL);
}

void Sshd::end(int signal) {
  if (!server_) return;
  server_->signal(signal);
  server_->wait();
}

std::string Sshd::log() const {
  return server_ ? server_->standard_error() : "";
}

std::size_t Sshd::connections() const {
  const std::string text = log();
  std::size_t count = 0;
  for (auto at = text.find(kNewConnection); at != std::string::npos;
       at = text.find(kNewConnection, at + 1)) {
    ++count;
  }
  return count;
}

}  // namespace nodepool::test_support
