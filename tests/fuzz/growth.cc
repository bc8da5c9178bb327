#include "tests/fuzz/growth.h"

#include <algorithm>
#include <cctype>
#include <cstdio>
#include <ctime>

#include "tests/fuzz/target.h"

namespace nodepool::fuzz {

namespace {

constexpr std::size_t kTimes = 8;    // as large
constexpr double kAllowance = 4;     // over linear: caches, tables that double, other processes
constexpr double kTooShort = 0.03;   // seconds: what takes less tells nothing
constexpr int kAttempts = 3;         // of which the best counts
constexpr std::size_t kShown = 300;  // bytes of an input

double processor_time() {
  timespec now{};
  ::clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

bool is_separator(char c) {
  return std::string_view(",;:\n {}[]/").find(c) != std::string_view::npos;
}

}  // namespace

double time_of(std::string_view input) {
  const double begin = processor_time();
  read(input);
  return processor_time() - begin;
}

std::vector<Piece> pieces_of(std::string_view input, std::size_t most) {
  std::vector<Piece> pieces;
  if (input.empty() || most == 0) return pieces;
  pieces.push_back({.begin = 0, .size = input.size()});
  std::vector<std::size_t> bounds = {0};
  for (std::size_t i = 0; i < input.size(); ++i) {
    if (is_separator(input[i])) bounds.push_back(i + 1);
  }
  // Parts of one, two and four of the smallest, in turn, all over the input.
  const std::size_t step = std::max<std::size_t>(1, bounds.size() / most);
  std::size_t parts = 1;
  for (std::size_t i = 0; i + parts < bounds.size() && pieces.size() < most; i += step) {
    pieces.push_back({.begin = bounds[i], .size = bounds[i + parts] - bounds[i]});
    parts = parts == 4 ? 1 : parts * 2;
  }
  return pieces;
}

std::string grown(std::string_view input, Piece piece, std::size_t size, bool numbered) {
  const std::string_view part = input.substr(piece.begin, piece.size);
  const auto letter = std::ranges::find_if(
      part, [](char c) { return std::isalnum(static_cast<unsigned char>(c)) != 0; });
  const auto place = static_cast<std::size_t>(letter - part.begin());
  std::string result(input.substr(0, piece.begin));
  for (std::size_t i = 0; result.size() < size; ++i) {
    if (numbered && place < part.size()) {
      result += part.substr(0, place + 1);
      result += std::to_string(i);
      result += part.substr(place + 1);
    } else {
      result += part;
    }
  }
  result += input.substr(piece.begin + piece.size);
  return result;
}

void require_linear(std::string_view input, Piece piece, std::size_t size, bool numbered,
                    double seconds) {
  if (piece.size == 0 || seconds < kTooShort) return;
  const std::string small = grown(input, piece, size / kTimes, numbered);
  const std::string large = grown(input, piece, size, numbered);
  double least_large = seconds;
  double most_small = 0;
  for (int attempt = 0; attempt < kAttempts; ++attempt) {
    if (attempt > 0) least_large = std::min(least_large, time_of(large));
    if (least_large < kTooShort) return;
    most_small = std::max(most_small, time_of(small));
    if (least_large <= most_small * kTimes * kAllowance) return;
  }
  std::fprintf(stderr, "%zu bytes take %.3f s, %zu bytes %.3f s; they begin with:\n%s\n",
               small.size(), most_small, large.size(), least_large,
               large.substr(0, kShown).c_str());
  require(false, "time grows in proportion to the input");
}

}  // namespace nodepool::fuzz
