#include "meanwhile/storage/azure/azure.h"

#include <memory>

#include "meanwhile/storage/azure/account.h"
#include "meanwhile/storage/azure/blobs.h"
#include "meanwhile/storage/azure/client.h"
#include "meanwhile/storage/azure/error.h"
#include "meanwhile/storage/azure/queue.h"

namespace meanwhile::storage {

Store open_azure(const Location& location, const Credentials& credentials, Meter& meter,
                 const AzureOptions& options) {
  const auto client =
      std::make_shared<AzureClient>(azure_account(location, credentials), meter, options);
  return {azure_blobs(client, location), azure_queue(client, location)};
}

bool create_container(const Location& location, const Credentials& credentials, Meter& meter,
                      const AzureOptions& options) {
  AzureClient client(azure_account(location, credentials), meter, options);
  const AzureCall call{.what = fmt::format("azure://{}/{}: creating the container",
                                           location.account, location.container),
                       .kind = Request::kPut,
                       .needs = 'c',
                       .method = "PUT",
                       .path = "/" + location.container,
                       .query = {{"restype", "container"}}};
  const HttpAnswer answer = client.send(call);
  if (answer.status == 201) return true;
  if (error_code(answer) == "ContainerAlreadyExists") return answer.tries > 1;
  throw client.unexpected(call, answer);
}

}  // namespace meanwhile::storage
