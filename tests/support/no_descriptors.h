#pragma once

#include <sys/resource.h>

namespace nodepool::test_support {

// Meanwhile the process can open no descriptor. The sanitizers need some to check virtual calls.
#if !__has_feature(address_sanitizer)
class NoDescriptors {
 public:
  NoDescriptors() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    const rlimit none{.rlim_cur = 0, .rlim_max = before_.rlim_max};
    ::setrlimit(RLIMIT_NOFILE, &none);
  }
  ~NoDescriptors() { ::setrlimit(RLIMIT_NOFILE, &before_); }
  NoDescriptors(const NoDescriptors&) = delete;
  NoDescriptors& operator=(const NoDescriptors&) = delete;

 private:
  rlimit before_{};
};
#endif

}  // namespace nodepool::test_support
