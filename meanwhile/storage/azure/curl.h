// libcurl, found when it is first needed: a program that touches no Azure store starts without it
// and the thirty libraries behind it, and runs where it is not installed.
#pragma once

#include <curl/curl.h>

namespace meanwhile::storage {

// Its functions, under their names without "curl_".
struct Curl {
  decltype(&curl_global_init) global_init;
  decltype(&curl_version_info) version_info;
  decltype(&curl_easy_init) easy_init;
  decltype(&curl_easy_cleanup) easy_cleanup;
  decltype(&curl_easy_reset) easy_reset;
  decltype(&curl_easy_setopt) easy_setopt;
  decltype(&curl_easy_perform) easy_perform;
  decltype(&curl_easy_getinfo) easy_getinfo;
  decltype(&curl_easy_strerror) easy_strerror;
  decltype(&curl_slist_append) slist_append;
  decltype(&curl_slist_free_all) slist_free_all;
};

// Loads and initialises it once. Libcurl counts and locks inside; it is never unloaded, for others
// may use it. THROWS Error(kUsage) that says what to install where there is no libcurl, or one that
// is too old.
const Curl& curl();

}  // namespace meanwhile::storage
