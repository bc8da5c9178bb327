#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "coordination/store.h"

namespace nodepool::model {

// How long the last machines of a provider took to come up, by label, in seconds, the oldest first:
// /nodepool/boot-times/<provider>. Ours; what is lost is learned again.
//
//   {"debian-12": [41.2, 40.8]}
using BootRecord = std::map<std::string, std::vector<double>, std::less<>>;

// What launchers of the provider have written; empty if there is nothing, or nothing that can be
// read. Throws StoreError.
coordination::Task<BootRecord> read_boot_record(coordination::Store& store, std::string provider);

// Puts it in the place of what was there. Throws StoreError.
coordination::Task<> write_boot_record(coordination::Store& store, std::string provider,
                                       BootRecord record);

}  // namespace nodepool::model
