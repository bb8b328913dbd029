// Azure Blob and Queue storage over its REST interface, and what speaks the same (Azurite).
#pragma once

#include <cstddef>
#include <string>

#include "meanwhile/storage/store.h"

namespace meanwhile::storage {

// Constants of the implementation; tests pass smaller ones.
struct AzureOptions {
  double deadline_s = 120;  // of a request with its retries, and as long again as its bytes take
                            // on a link of kSlowestBytesPerS
  double first_contact_s = 10;  // instead, as long as nothing has ever answered at the address
  double try_s = 30;            // of one try, and as long again
  double connect_s = 10;        // of its connection
  double pause_s = 0.2;         // before the second try; doubles from try to try
  double longest_pause_s = 10;  // which it does not outgrow

  std::size_t single_get_bytes = std::size_t{16} << 20;  // larger blobs come in pieces
  std::size_t single_put_bytes = std::size_t{32} << 20;  // larger ones are put in pieces
  std::size_t piece_bytes = std::size_t{8} << 20;
  int list_entries = 5000;                           // of a page of a listing
  int list_pages = 2000;                             // of a listing, at most: 10 million blobs
  std::size_t answer_bytes = std::size_t{64} << 20;  // of answers that are no blobs, at most
  int connections = 4;                               // of one call that moves pieces

  std::string ca_file;  // certificates to trust; empty: those the system trusts
};

inline constexpr double kSlowestBytesPerS = 256 << 10;

// As `open`, for a location of kind kAzure. The queue is named by container and prefix.
Store open_azure(const Location& location, const Credentials& credentials, Meter& meter,
                 const AzureOptions& options = {});

// Makes the container of `location`; false when it was there. THROWS as BlobStore.
bool create_container(const Location& location, const Credentials& credentials, Meter& meter,
                      const AzureOptions& options = {});

}  // namespace meanwhile::storage
