#include "tests/support/allocations.h"

#include <malloc.h>

#include <atomic>
#include <cstdlib>
#include <new>

namespace {

// Global counters, because operator new has no other place for them.
std::atomic<std::size_t> calls = 0;
std::atomic<std::size_t> held =
    0;  // bytes; wraps if more is freed than allocated since the last reset
std::atomic<std::size_t> most_held = 0;

void* take(void* memory) {
  if (memory == nullptr) throw std::bad_alloc();
  calls.fetch_add(1, std::memory_order_relaxed);
  const std::size_t size = ::malloc_usable_size(memory);
  const std::size_t now = held.fetch_add(size, std::memory_order_relaxed) + size;
  std::size_t most = most_held.load(std::memory_order_relaxed);
  // A negative value (memory from before is freed) must not count as a large one.
  while (static_cast<std::ptrdiff_t>(now) > static_cast<std::ptrdiff_t>(most) &&
         !most_held.compare_exchange_weak(most, now, std::memory_order_relaxed)) {
  }
  return memory;
}

void give(void* memory) {
  if (memory != nullptr) {
    held.fetch_sub(::malloc_usable_size(memory), std::memory_order_relaxed);
  }
  std::free(memory);
}

}  // namespace

// The operators for arrays call these, or are a sanitizer's. All others are replaced together,
// because a sanitizer's own `new (nothrow)` does not match this delete.
void* operator new(std::size_t size) {
  return take(std::malloc(size == 0 ? 1 : size));
}
void* operator new(std::size_t size, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(size);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t) noexcept {
  give(memory);
}
void operator delete(void* memory, const std::nothrow_t&) noexcept {
  give(memory);
}
void* operator new(std::size_t size, std::align_val_t alignment) {
  const auto unit = static_cast<std::size_t>(alignment);
  return take(std::aligned_alloc(unit, (size + unit - 1) / unit * unit));
}
void* operator new(std::size_t size, std::align_val_t alignment, const std::nothrow_t&) noexcept {
  try {
    return ::operator new(size, alignment);
  } catch (const std::bad_alloc&) {
    return nullptr;
  }
}
void operator delete(void* memory, std::align_val_t) noexcept {
  give(memory);
}
void operator delete(void* memory, std::size_t, std::align_val_t) noexcept {
  give(memory);
}
void operator delete(void* memory, std::align_val_t, const std::nothrow_t&) noexcept {
  give(memory);
}

namespace nodepool::test_support {

Allocations allocations_of(const std::function<void()>& work) {
  calls = 0;
  held = 0;
  most_held = 0;
  work();
  return {.count = calls, .most = most_held};
}

}  // namespace nodepool::test_support
