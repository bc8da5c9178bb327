#include "drivers/libvirt/api/library.h"

#include <dlfcn.h>

#include <string>
#include <thread>

namespace nodepool::drivers::libvirt {

namespace {

constexpr const char* kLibrary = "libvirt.so.0";

[[noreturn]] void report_missing(const std::string& error) {
  throw LibraryMissing("cannot load " + std::string(kLibrary) + " (" + error +
                       "): install Debian's package libvirt0");
}

}  // namespace

Library::Library() {
  void* const handle = ::dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);  // never closed
  if (handle == nullptr) report_missing(::dlerror());
  const auto find = [handle](const char* name) {
    void* const found = ::dlsym(handle, name);
    if (found == nullptr) report_missing(std::string("it has no ") + name);
    return found;
  };
#define NODEPOOL_FIND(function) function = reinterpret_cast<decltype(&::function)>(find(#function));
  NODEPOOL_LIBVIRT_FUNCTIONS(NODEPOOL_FIND)
#undef NODEPOOL_FIND
  const auto ignore = [](void* /*data*/, virErrorPtr /*error*/) {};
  virSetErrorFunc(nullptr, ignore);  // otherwise it prints errors
  if (virInitialize() < 0 || virEventRegisterDefaultImpl() < 0) {
    report_missing("it cannot be initialized");
  }
  // Ends with the process: libvirt has no function that ends its event loop.
  std::thread([run = virEventRunDefaultImpl] {
    while (run() >= 0) {
    }
  }).detach();
}

const Library& Library::get() {
  static const Library* const kLoaded = new Library();  // used by threads until the process ends
  return *kLoaded;
}

}  // namespace nodepool::drivers::libvirt
