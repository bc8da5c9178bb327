// The secure file, and the logging configuration.

#include <unistd.h>

#include <filesystem>
#include <stdexcept>
#include <string>

#include "config/load.h"
#include "program/log_config.h"
#include "telemetry/log_format.h"
#include "tests/fuzz/file_on_hand.h"
#include "tests/fuzz/target.h"

namespace nodepool::fuzz {
namespace {

constexpr std::string_view kConfiguration =
    "zookeeper-servers: [{host: zk}]\nlabels: [{name: a}]\nproviders: []\n";

// With an ending that says what is in it.
std::string yaml_at(const std::string& path) {
  static const std::string link =
      std::filesystem::temp_directory_path() / ("fuzz-" + std::to_string(::getpid()) + ".yaml");
  std::filesystem::remove(link);
  std::filesystem::create_symlink(path, link);
  return link;
}

// Also renders a message in each of its formats.
void read_log_config(const std::string& path) {
  try {
    const program::LogConfig config = program::load_log_config(path);
    for (const telemetry::LogTargetOptions& target : config.options.targets) {
      telemetry::LogFormat(target.format).render({.logger = "nodepool", .message = "a\nb"}, "");
    }
  } catch (const std::runtime_error&) {
  }
}

}  // namespace

void read(std::string_view input) {
  static const FileOnHand configuration;
  static const FileOnHand file;
  configuration.write(kConfiguration);
  file.write(input);
  try {
    const config::LoadOptions options{.path = configuration.path(), .secure_path = file.path()};
    config::load(options);
  } catch (const config::ConfigError&) {
  }
  const std::string path = yaml_at(file.path());
  read_log_config(path);
  std::filesystem::remove(path);
  read_log_config(file.path());  // without an ending: INI
}

}  // namespace nodepool::fuzz
