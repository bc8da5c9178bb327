#pragma once

#include <cstdint>
#include <random>
#include <string>

namespace nodepool::async {

// The source of random numbers and ids, so that a simulation can be replayed from its seed.
class Random {
 public:
  explicit Random(std::uint64_t seed) : engine_(seed) {}

  // Seeded from the operating system.
  static Random from_system() {
    std::random_device device;
    return Random((std::uint64_t{device()} << 32) | device());
  }

  std::uint64_t next() { return engine_(); }

  // A number from 0 to `bound` - 1; `bound` must not be 0.
  std::uint64_t below(std::uint64_t bound) {
    return std::uniform_int_distribution<std::uint64_t>(0, bound - 1)(engine_);
  }

  // A number from 0 up to, but not including, 1.
  // The upper 53 bits of a number: the precision of a double.
  double fraction() { return static_cast<double>(next() >> 11U) * 0x1p-53; }

  // A random (version 4) UUID as 32 lowercase hexadecimal digits without dashes: the form of lock
  // contenders, build ids and event ids.
  std::string uuid_hex();

 private:
  std::mt19937_64 engine_;
};

}  // namespace nodepool::async
