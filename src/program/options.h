#pragma once

#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace CLI {
class App;
}

namespace nodepool::program {

// The command line of a daemon. Paths are absolute.
struct Options {
  std::string config = "/etc/nodepool/nodepool.yaml";
  std::optional<std::string> secure;
  std::optional<std::string> log_config;
  std::string pid_file;
  bool foreground = false;  // -f or -d
  bool debug = false;       // -d
  bool webapp = true;       // not --no-webapp
  bool repl = false;        // accepted for old start scripts
};

// The name of a daemon, and its default paths.
struct Program {
  std::string name;      // "nodepool-launcher", for help
  std::string log_name;  // "nodepool": /var/log/nodepool/<log_name>.log
  std::string pid_file;
  std::function<void(CLI::App&)> add_options = {};  // its own
};

// An option, for a manual.
struct OptionHelp {
  std::string names;  // "-c", "--build-workers"
  std::string value;  // "TEXT"; empty: none
  std::string help;
  std::string usual;  // the default; empty: none
};
std::vector<OptionHelp> describe_options(const Program& program);

// The names of options that `given` stands for, as for Python's argparse: itself if it is one of
// `names`, otherwise those that begin with it.
std::vector<std::string> names_meant_by(std::string_view given,
                                        const std::vector<std::string>& names);

// Parses the command line. Long options may be abbreviated; of a repeated one, the last value
// counts. For help, version and errors, prints them and returns the exit status
// instead: 0, or 2 for an error.
std::variant<Options, int> parse_options(const Program& program, int argc, const char* const* argv);

}  // namespace nodepool::program
