#pragma once

#include <libvirt/libvirt.h>
#include <libvirt/virterror.h>

#include <stdexcept>

namespace nodepool::drivers::libvirt {

// The functions of libvirt that the driver calls.
#define NODEPOOL_LIBVIRT_FUNCTIONS(USE) \
  USE(virInitialize)                    \
  USE(virEventRegisterDefaultImpl)      \
  USE(virEventRunDefaultImpl)           \
  USE(virSetErrorFunc)                  \
  USE(virGetLastError)                  \
  USE(virConnectOpen)                   \
  USE(virConnectClose)                  \
  USE(virConnectIsAlive)                \
  USE(virConnectSetKeepAlive)           \
  USE(virConnectGetCapabilities)        \
  USE(virConnectListAllDomains)         \
  USE(virConnectListAllNetworks)        \
  USE(virNodeGetInfo)                   \
  USE(virNodeGetMemoryStats)            \
  USE(virNodeDeviceLookupByName)        \
  USE(virNodeDeviceFree)                \
  USE(virNetworkGetName)                \
  USE(virNetworkGetDHCPLeases)          \
  USE(virNetworkDHCPLeaseFree)          \
  USE(virNetworkFree)                   \
  USE(virDomainDefineXML)               \
  USE(virDomainLookupByName)            \
  USE(virDomainGetName)                 \
  USE(virDomainGetState)                \
  USE(virDomainGetXMLDesc)              \
  USE(virDomainIsActive)                \
  USE(virDomainCreate)                  \
  USE(virDomainDestroy)                 \
  USE(virDomainUndefineFlags)           \
  USE(virDomainAgentSetResponseTimeout) \
  USE(virDomainInterfaceAddresses)      \
  USE(virDomainInterfaceFree)           \
  USE(virDomainFree)                    \
  USE(virStoragePoolLookupByName)       \
  USE(virStoragePoolGetXMLDesc)         \
  USE(virStoragePoolListAllVolumes)     \
  USE(virStoragePoolFree)               \
  USE(virStorageVolLookupByName)        \
  USE(virStorageVolGetName)             \
  USE(virStorageVolGetXMLDesc)          \
  USE(virStorageVolCreateXML)           \
  USE(virStorageVolUpload)              \
  USE(virStorageVolDownload)            \
  USE(virStorageVolDelete)              \
  USE(virStorageVolFree)                \
  USE(virStreamNew)                     \
  USE(virStreamSend)                    \
  USE(virStreamRecv)                    \
  USE(virStreamFinish)                  \
  USE(virStreamFree)

// The library cannot be loaded.
class LibraryMissing : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

// libvirt.so, loaded at run time: linked to every program, it would cost 10 MB and 30 ms even if no
// provider needs it.
class Library {
 public:
  // Loads the library with the first call, and starts the thread that serves its keepalives.
  // Throws LibraryMissing.
  static const Library& get();

// NOLINTNEXTLINE(bugprone-macro-parentheses): a name that is declared
#define NODEPOOL_DECLARE(function) decltype(&::function) function = nullptr;
  NODEPOOL_LIBVIRT_FUNCTIONS(NODEPOOL_DECLARE)
#undef NODEPOOL_DECLARE

 private:
  Library();
};

}  // namespace nodepool::drivers::libvirt
