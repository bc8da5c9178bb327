#pragma once

#include <string>
#include <vector>

#include "model/component.h"

namespace nodepool::report {

// Why none of the registered pools can serve a request for these labels at present, as a sentence
// without its end. Empty: one can.
std::string shortage(const std::vector<const model::Component*>& pools,
                     const std::vector<std::string>& labels);

}  // namespace nodepool::report
