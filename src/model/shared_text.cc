#include "model/shared_text.h"

#include <algorithm>

namespace nodepool::model {

void SharedTexts::share(SharedText& text) {
  if (!text) return;
  if (const auto known = texts_.find(text); known != texts_.end()) {
    text = *known;
    return;
  }
  if (texts_.size() >= room_) {
    std::erase_if(texts_, [](const SharedText& known) { return known.is_alone(); });
    room_ = std::max(room_, 2 * texts_.size());
  }
  texts_.insert(text);
}

}  // namespace nodepool::model
