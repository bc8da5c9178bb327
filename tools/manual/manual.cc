// Writes the manual pages and the shell completions to a directory.
//
//   nodepool_manual DIRECTORY DATE

#include <exception>
#include <fstream>
#include <iostream>
#include <stdexcept>
#include <string>

#include "cli/manual/completion.h"
#include "cli/manual/man_page.h"
#include "main/daemon_programs.h"
#include "telemetry/version.h"

namespace {

using namespace nodepool;

void write(const std::string& path, const std::string& text) {
  std::ofstream file(path, std::ios::binary);
  file << text;
  file.close();
  if (!file) throw std::runtime_error("cannot write " + path);
}

cli::DaemonPage launcher_page() {
  return {
      .name = "nodepool-launcher",
      .summary = "serves node requests: launches machines and deletes used nodes",
      .sections = {"The launcher serves requests with the providers of its configuration and "
                   "reloads the configuration when it changes. Several launchers may share a "
                   "store.",
                   "SIGINT, SIGTERM and SIGUSR1 stop it; the next launcher resumes its launches. "
                   "SIGHUP reloads the configuration. SIGUSR2 logs the stacks of its threads "
                   "and what its tasks wait for. Without -f or -d it runs in the background."},
      .options = program::describe_options(launcher_program())};
}

cli::DaemonPage builder_page() {
  BuilderChoices choices;
  return {
      .name = "nodepool-builder",
      .summary = "builds disk images and uploads them to providers",
      .sections = {"The builder builds the disk images of its configuration with "
                   "diskimage-builder or a command of your own, uploads them, and deletes outdated "
                   "builds and uploads.",
                   "SIGTERM stops it at once; SIGINT and SIGUSR1 stop it after the running builds "
                   "and uploads. SIGHUP reloads the configuration. SIGUSR2 logs the stacks of its "
                   "threads and what its tasks wait for. Without -f or -d it runs in the "
                   "background."},
      .options = program::describe_options(builder_program(choices))};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: nodepool_manual DIRECTORY DATE\n";
    return 2;
  }
  const std::string directory = std::string(argv[1]) + "/";
  const cli::Release release{.version = std::string(telemetry::version()), .date = argv[2]};
  try {
    write(directory + "nodepool.1", cli::nodepool_page(release));
    write(directory + "nodepool-launcher.8", cli::daemon_page(launcher_page(), release));
    write(directory + "nodepool-builder.8", cli::daemon_page(builder_page(), release));
    write(directory + "nodepool.bash", cli::bash_completion());
    write(directory + "_nodepool", cli::zsh_completion());
  } catch (const std::exception& error) {
    std::cerr << "nodepool_manual: " << error.what() << '\n';
    return 1;
  }
  return 0;
}
