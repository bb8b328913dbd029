#include "meanwhile/storage/azure/curl.h"

#include <dlfcn.h>

#include "meanwhile/base/error.h"

namespace meanwhile::storage {

namespace {

using base::Error;
using base::ErrorKind;

constexpr char kLibrary[] = "libcurl.so.4";
constexpr unsigned kLeastVersion = 0x075500;  // 7.85.0, which has CURLOPT_PROTOCOLS_STR

template <class Function>
void find(void* library, const char* name, Function& function) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) {
    throw Error(ErrorKind::kUsage, "{} has no function {}", kLibrary, name);
  }
}

Curl load() {
  void* const library = dlopen(kLibrary, RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr) {
    throw Error(ErrorKind::kUsage,
                "Azure needs {}: install it with 'apt install libcurl4' or 'dnf install libcurl' "
                "({})",
                kLibrary, dlerror());
  }
  Curl curl;
  find(library, "curl_global_init", curl.global_init);
  find(library, "curl_version_info", curl.version_info);
  find(library, "curl_easy_init", curl.easy_init);
  find(library, "curl_easy_cleanup", curl.easy_cleanup);
  find(library, "curl_easy_reset", curl.easy_reset);
  find(library, "curl_easy_setopt", curl.easy_setopt);
  find(library, "curl_easy_perform", curl.easy_perform);
  find(library, "curl_easy_getinfo", curl.easy_getinfo);
  find(library, "curl_easy_strerror", curl.easy_strerror);
  find(library, "curl_slist_append", curl.slist_append);
  find(library, "curl_slist_free_all", curl.slist_free_all);
  const curl_version_info_data* const version = curl.version_info(CURLVERSION_NOW);
  if (version->version_num < kLeastVersion) {
    throw Error(ErrorKind::kUsage, "Azure needs libcurl 7.85 or newer; {} is {}", kLibrary,
                version->version);
  }
  if (const CURLcode code = curl.global_init(CURL_GLOBAL_DEFAULT); code != CURLE_OK) {
    throw Error(ErrorKind::kSystem, "libcurl: {}", curl.easy_strerror(code));
  }
  return curl;
}

}  // namespace

const Curl& curl() {
  static const Curl loaded = load();
  return loaded;
}

}  // namespace meanwhile::storage
