// Looks for seeds with which the simulation fails, and replays them.
//
//   simulation [--seeds N] [--first SEED] [--seed SEED] [--verbose]

#include <fmt/format.h>

#include <cstdlib>
#include <cstring>
#include <iostream>
#include <string>

#include "tests/simulation/harness/simulation.h"

namespace {

using nodepool::simulation::Report;
using nodepool::simulation::simulate;

struct Arguments {
  std::uint64_t first = 1;
  std::uint64_t seeds = 100;
  bool verbose = false;
};

Arguments parse(int argc, char** argv) {
  Arguments arguments;
  for (int i = 1; i < argc; ++i) {
    const std::string option = argv[i];
    if (option == "--verbose") {
      arguments.verbose = true;
      continue;
    }
    if (i + 1 == argc) throw std::invalid_argument(option + " needs a number");
    const std::uint64_t number = std::stoull(argv[++i]);
    if (option == "--seeds") {
      arguments.seeds = number;
    } else if (option == "--first") {
      arguments.first = number;
    } else if (option == "--seed") {
      arguments.first = number;
      arguments.seeds = 1;
      arguments.verbose = true;
    } else {
      throw std::invalid_argument("unknown option " + option);
    }
  }
  return arguments;
}

// Returns the number of seeds that failed.
int run(const Arguments& arguments) {
  std::map<std::string, std::uint64_t> totals;
  double hours = 0;
  int failed = 0;
  for (std::uint64_t i = 0; i < arguments.seeds; ++i) {
    const Report report = simulate(arguments.first + i, arguments.verbose);
    if (arguments.verbose) {
      for (const std::string& line : report.log) std::cout << line << '\n';
    }
    for (const auto& [what, number] : report.counts) totals[what] += number;
    hours += report.virtual_hours;
    if (report.violations.empty()) continue;
    ++failed;
    std::cout << "seed " << report.seed << " fails:\n";
    for (const std::string& violation : report.violations) std::cout << "  " << violation << '\n';
    std::cout << std::flush;
  }
  for (const auto& [what, number] : totals) {
    std::cout << fmt::format("{:>12}  {}\n", number, what);
  }
  std::cout << fmt::format("{} seeds, {:.1f} virtual hours, {} failed\n", arguments.seeds, hours,
                           failed);
  return failed;
}

}  // namespace

int main(int argc, char** argv) {
  try {
    return run(parse(argc, argv)) == 0 ? EXIT_SUCCESS : EXIT_FAILURE;
  } catch (const std::exception& error) {
    std::cerr << error.what() << '\n';
    return 2;
  }
}
