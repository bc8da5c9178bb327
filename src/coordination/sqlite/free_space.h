#pragma once

#include <string>

namespace nodepool::coordination::sqlite {

// Why the store in this file may soon refuse writes, as a sentence: little space is free on its
// disk. Empty if there is enough, or if that is unknown. Does not open the store.
std::string space_problem(const std::string& path);

}  // namespace nodepool::coordination::sqlite
