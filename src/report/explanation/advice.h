#pragma once

#include <string>
#include <string_view>

namespace nodepool::report {

// Why a request is not served yet.
struct ReasonToWait {
  std::string text = {};    // one line that stays the same as long as the reason does
  std::string advice = {};  // what would help; may be empty
};

// What would help, by the stable name of the reason (planning::name_of()). Empty: unknown.
std::string advice_about(std::string_view reason);

// What would help if no pool offers all labels of a request.
std::string advice_without_pool();

}  // namespace nodepool::report
