#include "meanwhile/storage/azure/xml.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <pugixml.hpp>
#include <utility>

#include "meanwhile/base/error.h"
#include "meanwhile/storage/azure/sign.h"

namespace meanwhile::storage {

using base::Error;
using base::ErrorKind;

namespace {

pugi::xml_node load(pugi::xml_document& document, std::span<const std::byte> xml,
                    const char* root) {
  // Names and messages keep their blanks.
  const auto options = pugi::parse_default | pugi::parse_ws_pcdata_single;
  const pugi::xml_parse_result result = document.load_buffer(xml.data(), xml.size(), options);
  const pugi::xml_node node = document.child(root);
  if (!result || !node) {
    throw Error(ErrorKind::kSystem, "the server's answer of {} bytes is no {}: {}", xml.size(),
                root, result ? "its root has another name" : result.description());
  }
  return node;
}

// Saves a document into a string.
struct Writer : pugi::xml_writer {
  std::string text;
  void write(const void* data, std::size_t size) override {
    text.append(static_cast<const char*>(data), size);
  }
};

std::string saved(const pugi::xml_document& document) {
  Writer writer;
  document.save(writer, "", pugi::format_raw | pugi::format_no_declaration);
  return std::move(writer.text);
}

template <class Number>
Number number(std::string_view text, const char* of) {
  Number value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc() || end != text.data() + text.size() || value < 0) {
    throw Error(ErrorKind::kSystem, "the server's answer has a {} that is no number", of);
  }
  return value;
}

std::string unquoted(std::string_view text) {
  if (text.size() >= 2 && text.front() == '"' && text.back() == '"') {
    text = text.substr(1, text.size() - 2);
  }
  return std::string(text);
}

}  // namespace

ListPage parse_list(std::span<const std::byte> xml) {
  pugi::xml_document document;
  const pugi::xml_node root = load(document, xml, "EnumerationResults");
  ListPage page;
  for (const pugi::xml_node blob : root.child("Blobs").children("Blob")) {
    const pugi::xml_node properties = blob.child("Properties");
    page.blobs.push_back(
        {.name = blob.child_value("Name"),
         .bytes = number<std::int64_t>(properties.child_value("Content-Length"), "Content-Length"),
         .etag = unquoted(properties.child_value("Etag")),
         .last_modified = properties.child_value("Last-Modified")});
  }
  page.next_marker = root.child_value("NextMarker");
  return page;
}

std::vector<Message> parse_messages(std::span<const std::byte> xml) {
  pugi::xml_document document;
  const pugi::xml_node root = load(document, xml, "QueueMessagesList");
  std::vector<Message> messages;
  for (const pugi::xml_node node : root.children("QueueMessage")) {
    std::string text = node.child_value("MessageText");
    text = from_base64(text).value_or(text);
    // No worker has put it: it comes without a body, and the worker that leased it finds no task.
    if (text.size() > kLongestMessage) text.clear();
    messages.push_back(
        {.id = node.child_value("MessageId"),
         .receipt = node.child_value("PopReceipt"),
         .body = std::move(text),
         .deliveries = number<int>(node.child_value("DequeueCount"), "DequeueCount")});
  }
  return messages;
}

std::string message_xml(std::string_view body) {
  pugi::xml_document document;
  // base64: text may hold characters XML cannot, and readers of XML change ends of lines.
  document.append_child("QueueMessage")
      .append_child("MessageText")
      .text()
      .set(base64(body).c_str());
  return saved(document);
}

std::string block_list_xml(std::span<const std::string> block_ids) {
  pugi::xml_document document;
  pugi::xml_node list = document.append_child("BlockList");
  // Not "Uncommitted": a list that is sent again finds its blocks committed.
  for (const std::string& id : block_ids) {
    list.append_child("Latest").text().set(base64(id).c_str());
  }
  return saved(document);
}

std::string batch_body(std::string_view boundary, std::span<const std::string> requests) {
  std::string body;
  for (std::size_t i = 0; i < requests.size(); ++i) {
    body += fmt::format(
        "--{}\r\nContent-Type: application/http\r\nContent-Transfer-Encoding: binary\r\n"
        "Content-ID: {}\r\n\r\n{}\r\n\r\n",
        boundary, i, requests[i]);
  }
  return body + fmt::format("--{}--\r\n", boundary);
}

std::vector<int> parse_batch(std::string_view body, std::string_view boundary,
                             std::size_t requests) {
  constexpr std::string_view kId = "content-id:", kStatus = "http/1.1 ";
  std::vector<int> statuses(requests, 0);
  std::string lower(body);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  // In lower case, lengths and places are those of `body`.
  const std::string mark = fmt::format("--{}", boundary);
  const auto value_after = [&](std::string_view part, std::string_view name) {
    std::size_t at = part.find(name), value = 0;
    if (at == part.npos) return std::pair(false, value);
    at = std::min(part.find_first_not_of(' ', at + name.size()), part.size());
    const auto error = std::from_chars(part.data() + at, part.data() + part.size(), value).ec;
    return std::pair(error == std::errc(), value);
  };
  for (std::size_t begin = body.find(mark), next; begin != body.npos; begin = next) {
    begin += mark.size();
    next = body.find(mark, begin);
    const std::string_view part = std::string_view(lower).substr(begin, next - begin);
    const auto id = value_after(part, kId), status = value_after(part, kStatus);
    if (id.first && status.first && id.second < requests) {
      statuses[id.second] = static_cast<int>(status.second);
    }
  }
  return statuses;
}

std::string boundary_of(std::string_view content_type) {
  constexpr std::string_view kName = "boundary=";
  const std::size_t at = content_type.find(kName);
  if (at == content_type.npos) return "";
  std::string_view value = content_type.substr(at + kName.size());
  return unquoted(value.substr(0, value.find(';')));
}

}  // namespace meanwhile::storage
