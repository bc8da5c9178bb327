#include "cloud/use_by_others.h"

#include <algorithm>
#include <utility>

namespace nodepool::cloud {

driver::Resources UseByOthers::of(const driver::Resources& counted,
                                  const driver::Resources& listed) {
  driver::Resources excess;
  driver::Resources agreed;
  for (const auto& [name, amount] : counted.amounts()) {
    const double more = std::max(0.0, amount - listed.amount(name));
    excess += driver::Resources({{name, more}});
    agreed += driver::Resources({{name, has_last_ ? std::min(more, last_.amount(name)) : more}});
  }
  has_last_ = true;
  last_ = std::move(excess);
  return agreed;
}

}  // namespace nodepool::cloud
