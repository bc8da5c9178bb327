#include "cli/each.h"

#include <algorithm>
#include <ostream>

namespace nodepool::cli {

Task<int> for_each(Context& context, std::vector<std::string> ids, Act act) {
  int status = 0;
  for (const std::string& id : ids) {
    std::string failure;
    try {
      Task<int> acting = act(id);
      status = std::max(status, co_await std::move(acting));
    } catch (const async::Cancelled&) {
      throw;
    } catch (const std::exception& error) {
      failure = error.what();
    }
    if (failure.empty()) continue;
    context.err << "nodepool: " << failure << '\n';
    status = std::max(status, 1);
  }
  co_return status;
}

}  // namespace nodepool::cli
