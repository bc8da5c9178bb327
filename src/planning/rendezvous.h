#pragma once

#include <cstdint>
#include <string_view>

// Highest-random-weight hashing (rendezvous hashing): of several candidates the one with the
// highest weight for a subject has it. Processes that were built by other compilers, or run on
// other machines, agree: the functions are specified to the bit, unlike std::hash.
namespace nodepool::planning {

// FNV-1a with 64 bits. Reference: draft-eastlake-fnv.
std::uint64_t fnv1a(std::string_view text);

// The weight of a candidate for a subject: FNV-1a of both with a zero byte in between, and then the
// finalizer of MurmurHash3, without which names that differ in their last characters only would
// have similar weights. Reference: github.com/aappleby/smhasher, MurmurHash3.cpp, fmix64.
std::uint64_t rendezvous_weight(std::string_view candidate, std::string_view subject);

}  // namespace nodepool::planning
