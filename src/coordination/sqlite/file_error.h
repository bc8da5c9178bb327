#pragma once

#include <string>
#include <string_view>

#include "coordination/error.h"

namespace nodepool::coordination::sqlite {

// Whether this errno value means that the disk, or the user's share of it, is full.
bool is_lack_of_space(int reason);

// The error for a failed system call on a file of a store: `no_space` if the disk is full,
// otherwise `storage` with the advice, if there is one. `doing` completes "cannot …"; `reason` is
// an errno value.
StoreError file_error(std::string_view path, std::string_view doing, int reason,
                      std::string_view advice = {});

}  // namespace nodepool::coordination::sqlite
