// A Queue on Azure Queue storage.
#pragma once

#include <memory>
#include <string>

#include "meanwhile/storage/azure/client.h"
#include "meanwhile/storage/queue.h"

namespace meanwhile::storage {

// "meanwhile-" and 20 digits that container and prefix give: the queue of a location needs no
// prefix of its own, and names of queues have few letters.
std::string azure_queue_name(const Location& location);

std::unique_ptr<Queue> azure_queue(std::shared_ptr<AzureClient> client, const Location& location);

}  // namespace meanwhile::storage
