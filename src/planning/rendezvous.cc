#include "planning/rendezvous.h"

namespace nodepool::planning {

namespace {

constexpr std::uint64_t kFnvOffset = 0xcbf29ce484222325;
constexpr std::uint64_t kFnvPrime = 0x100000001b3;

std::uint64_t fnv1a_on(std::uint64_t hash, std::string_view text) {
  for (const char c : text) {
    hash ^= static_cast<unsigned char>(c);
    hash *= kFnvPrime;
  }
  return hash;
}

std::uint64_t mixed(std::uint64_t hash) {
  hash ^= hash >> 33U;
  hash *= 0xff51afd7ed558ccd;
  hash ^= hash >> 33U;
  hash *= 0xc4ceb9fe1a85ec53;
  hash ^= hash >> 33U;
  return hash;
}

}  // namespace

std::uint64_t fnv1a(std::string_view text) {
  return fnv1a_on(kFnvOffset, text);
}

std::uint64_t rendezvous_weight(std::string_view candidate, std::string_view subject) {
  const std::uint64_t of_candidate = fnv1a_on(fnv1a(candidate), std::string_view("\0", 1));
  return mixed(fnv1a_on(of_candidate, subject));
}

}  // namespace nodepool::planning
