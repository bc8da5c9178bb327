#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"

namespace nodepool::model {

// The last boot times of a provider's machines by label, in seconds, the oldest first:
// /nodepool/boot-times/<provider>. Not known to the Python Nodepool. If it is lost, it is measured
// again.
//
//   {"debian-12": [41.2, 40.8]}
using BootRecord = std::map<std::string, std::vector<double>, std::less<>>;

// Returns an empty record if there is none, or it is invalid. Throws StoreError.
coordination::Task<BootRecord> read_boot_record(coordination::Store& store, std::string provider);

// Creates or replaces the record. Throws StoreError.
coordination::Task<> write_boot_record(coordination::Store& store, std::string provider,
                                       BootRecord record);

}  // namespace nodepool::model
