#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace nodepool::fuzz {

// A part of an input that can be repeated.
struct Piece {
  std::size_t begin;
  std::size_t size;
};

// The whole input, and parts between its separators, at most `most` pieces.
std::vector<Piece> pieces_of(std::string_view input, std::size_t most);

// The input with the piece repeated until it has `size` bytes. `numbered`: the copies differ, by a
// number after their first letter or digit (a key of an object is a new key then).
std::string grown(std::string_view input, Piece piece, std::size_t size, bool numbered);

// How much of the processor's time reading the input takes, in seconds.
double time_of(std::string_view input);

// Ends the program if the reader is far from linear: reading the input grown to `size` takes more
// than 32 times as much of the processor's time as reading it grown to an eighth of that. `seconds`
// is what the first attempt at the large one has taken; short times count for nothing, others are
// taken again.
void require_linear(std::string_view input, Piece piece, std::size_t size, bool numbered,
                    double seconds);

}  // namespace nodepool::fuzz
