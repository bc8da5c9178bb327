#include "model/shared_text.h"

#include <algorithm>

namespace nodepool::model {

void SharedTexts::share(SharedText& text) {
  if (!text) return;
  if (const auto known = texts_.find(text); known != texts_.end()) {
    text = *known;
    return;
  }
  if (texts_.size() >= purge_size_) {
    std::erase_if(texts_, [](const SharedText& known) { return known.is_alone(); });
    purge_size_ = std::max(purge_size_, 2 * texts_.size());
  }
  texts_.insert(text);
}

}  // namespace nodepool::model
