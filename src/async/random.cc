#include "async/random.h"

namespace nodepool::async {

std::string Random::uuid_hex() {
  static constexpr char kDigits[] = "0123456789abcdef";
  std::string text(32, '0');
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (i % 16 == 0) bits = next();
    text[i] = kDigits[bits & 0xf];
    bits >>= 4;
  }
  // RFC 9562, section 5.4: the version, and the variant in the upper bits of octet 8.
  text[12] = '4';
  text[16] = kDigits[0x8 | (next() & 0x3)];
  return text;
}

}  // namespace nodepool::async
