// A BlobStore on Azure Blob storage: block blobs below one prefix of a container.
#pragma once

#include <memory>

#include "meanwhile/storage/azure/client.h"
#include "meanwhile/storage/blob_store.h"

namespace meanwhile::storage {

std::unique_ptr<BlobStore> azure_blobs(std::shared_ptr<AzureClient> client,
                                       const Location& location);

}  // namespace meanwhile::storage
