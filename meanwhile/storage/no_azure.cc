// Instead of azure/ in a build with MEANWHILE_AZURE=OFF.
#include "meanwhile/storage/azure/azure.h"

namespace meanwhile::storage {

namespace {

base::Error no_azure(const Location& location) {
  return base::Error(base::ErrorKind::kUsage,
                     "store '{}': this build has no Azure storage (it was configured with "
                     "MEANWHILE_AZURE=OFF); a directory can be a store",
                     location.url);
}

}  // namespace

Store open_azure(const Location& location, const Credentials&, Meter&, const AzureOptions&) {
  throw no_azure(location);
}

bool create_container(const Location& location, const Credentials&, Meter&, const AzureOptions&) {
  throw no_azure(location);
}

}  // namespace meanwhile::storage
