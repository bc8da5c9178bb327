// A target without libFuzzer: reads its corpus, what becomes of each input when some bytes of it
// are others, and what becomes of it when parts of it are repeated. The same command always gives
// it the same inputs.
//
//   corpus_TARGET DIRECTORY [MUTANTS-OF-EACH [SEED]]

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

#include "tests/fuzz/growth.h"
#include "tests/fuzz/target.h"
#include "tests/support/allocations.h"

namespace nodepool::fuzz {
namespace {

constexpr int kMutants = 100;              // of each input
constexpr std::size_t kPieces = 6;         // of each input, that are repeated
constexpr std::size_t kGrown = 128 << 10;  // bytes
constexpr std::size_t kMemory = 32 << 20;  // bytes that a reader may have anyway
constexpr std::size_t kMemoryPerByte = 512;

std::string mutant_of(std::string input, std::mt19937& random) {
  const auto below = [&random](std::size_t bound) { return random() % bound; };
  for (std::size_t changes = 1 + below(4); changes > 0; --changes) {
    const std::size_t place = below(input.size() + 1);
    switch (below(4)) {
      case 0:
        input.insert(place, 1, static_cast<char>(below(256)));
        break;
      case 1:
        input.erase(place, 1 + below(8));
        break;
      case 2:
        input.insert(place, input.substr(below(input.size() + 1), 1 + below(32)));
        break;
      default:
        if (place < input.size()) input[place] = static_cast<char>(below(256));
    }
  }
  return input;
}

void read_grown(const std::string& input, Piece piece, bool numbered) {
  const std::string large = grown(input, piece, kGrown, numbered);
  double seconds = 0;
  const auto used = test_support::allocations_of([&] { seconds = time_of(large); });
  require(used.most < kMemory + kMemoryPerByte * large.size(),
          "memory is in proportion to the input");
  require_linear(input, piece, kGrown, numbered, seconds);
}

void try_all_of(const std::string& input, int mutants, unsigned seed) {
  read(input);
  std::mt19937 random(seed);
  for (int i = 0; i < mutants; ++i) read(mutant_of(input, random));
  for (const Piece piece : pieces_of(input, kPieces)) {
    for (const bool numbered : {false, true}) read_grown(input, piece, numbered);
  }
}

}  // namespace
}  // namespace nodepool::fuzz

int main(int argument_count, char** arguments) {
  using namespace nodepool::fuzz;
  if (argument_count < 2 || argument_count > 4) {
    std::cerr << "usage: " << arguments[0] << " DIRECTORY [MUTANTS-OF-EACH [SEED]]\n";
    return 2;
  }
  const int mutants = argument_count > 2 ? std::stoi(arguments[2]) : kMutants;
  const auto seed = static_cast<unsigned>(argument_count > 3 ? std::stoi(arguments[3]) : 1);
  std::vector<std::filesystem::path> paths;
  for (const auto& entry : std::filesystem::directory_iterator(arguments[1])) {
    paths.push_back(entry.path());
  }
  std::ranges::sort(paths);
  for (const std::filesystem::path& path : paths) {
    std::ifstream file(path, std::ios::binary);
    const std::string input{std::istreambuf_iterator<char>(file), std::istreambuf_iterator<char>()};
    std::cout << path.filename().string() << std::endl;  // it may not come back
    try {
      try_all_of(input, mutants, seed);
    } catch (const std::exception& error) {
      std::cerr << "thrown: " << error.what() << '\n';
      return 1;
    }
  }
  return paths.empty() ? 1 : 0;
}
