#pragma once

#include <cstddef>
#include <memory>
#include <string>
#include <utility>

#include "async/event.h"
#include "driver/driver.h"

namespace nodepool::builder {

// A started provider with image support.
struct ImageProvider {
  std::shared_ptr<driver::Provider> provider;
  std::size_t calls = 0;  // in progress; it is not stopped before they end
  async::Event call_ended{"a call of a provider ended"};

  driver::ImageSupport& images() const { return *provider->images(); }
};

// Prevents that a provider is stopped during a call.
class ProviderCall {
 public:
  explicit ProviderCall(std::shared_ptr<ImageProvider> provider) : provider_(std::move(provider)) {
    ++provider_->calls;
  }
  ~ProviderCall() {
    --provider_->calls;
    provider_->call_ended.set();
  }
  ProviderCall(const ProviderCall&) = delete;
  ProviderCall& operator=(const ProviderCall&) = delete;

  driver::ImageSupport& images() const { return provider_->images(); }

 private:
  std::shared_ptr<ImageProvider> provider_;
};

using ImageProviders = std::map<std::string, std::shared_ptr<ImageProvider>, std::less<>>;

}  // namespace nodepool::builder
