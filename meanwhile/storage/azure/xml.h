// The XML and the multipart bodies Azure speaks in. Pure functions.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "meanwhile/storage/queue.h"

namespace meanwhile::storage {

struct ListedBlob {
  std::string name;
  std::int64_t bytes = 0;
  std::string etag;           // without quotes
  std::string last_modified;  // "Tue, 05 Mar 2024 07:08:09 GMT"
};
struct ListPage {
  std::vector<ListedBlob> blobs;
  std::string next_marker;  // empty: this is the last page
};

// THROWS Error(kSystem) when `xml` is not what it should be, as all here that read.
ListPage parse_list(std::span<const std::byte> xml);

// Decodes the bodies from base64; one that is not base64 comes from another program and stays as
// it is.
std::vector<Message> parse_messages(std::span<const std::byte> xml);

std::string message_xml(std::string_view body);
std::string block_list_xml(std::span<const std::string> block_ids);

// A batch of requests: each is given as its lines, from "DELETE /path HTTP/1.1" on, without the
// empty line at the end.
std::string batch_body(std::string_view boundary, std::span<const std::string> requests);
// The status of each request, in order of requests; 0 for one without an answer. `boundary` is the
// answer's.
std::vector<int> parse_batch(std::string_view body, std::string_view boundary,
                             std::size_t requests);

// "multipart/mixed; boundary=…": what follows; "" when there is none.
std::string boundary_of(std::string_view content_type);

}  // namespace meanwhile::storage
