#pragma once

#include <string_view>

namespace nodepool::fuzz {

// A target: gives any bytes to a reader of what comes from outside, and catches what the reader's
// header says that it throws. Whatever else comes out of it is a defect, and so are a promise that
// does not hold (require()), and time or memory out of proportion (growth.h).
void read(std::string_view input);

// Ends the program if a promise does not hold.
void require(bool holds, std::string_view promise);

}  // namespace nodepool::fuzz
