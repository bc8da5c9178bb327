// Prints the stable names of one kind that the code declares, one a line, sorted.
//
//   nodepool_interface configuration|commands|listings|metrics|records

#include <algorithm>
#include <functional>
#include <iostream>
#include <map>
#include <string>

#include "names.h"

int main(int argc, char** argv) {
  using namespace nodepool::stability;
  const std::map<std::string, std::function<Names()>> kinds{{"configuration", configuration_names},
                                                            {"commands", command_names},
                                                            {"listings", listing_names},
                                                            {"metrics", metric_names},
                                                            {"records", record_names}};
  const auto kind = argc == 2 ? kinds.find(argv[1]) : kinds.end();
  if (kind == kinds.end()) {
    std::cerr << "usage: nodepool_interface configuration|commands|listings|metrics|records\n";
    return 2;
  }
  Names names = kind->second();
  std::ranges::sort(names);
  if (const auto twice = std::ranges::adjacent_find(names); twice != names.end()) {
    std::cerr << "nodepool_interface: declared twice: " << *twice << '\n';
    return 1;
  }
  for (const std::string& name : names) std::cout << name << '\n';
  return 0;
}
