/* What HDF5's archive asks for to read from a store of objects over a network (its driver ros3), which SPAM
 * does not: each refuses, so that a SPAM with HDF5 inside needs neither libcurl nor OpenSSL. */
#include <stddef.h>

void* curl_easy_init(void) {
  return NULL;
}
void curl_easy_cleanup(void* handle) {
  (void)handle;
}
int curl_easy_perform(void* handle) {
  (void)handle;
  return 1;
}
int curl_easy_setopt(void* handle, int option, ...) {
  (void)handle;
  (void)option;
  return 1;
}
int curl_global_init(long flags) {
  (void)flags;
  return 1;
}
void curl_global_cleanup(void) {}
void* curl_slist_append(void* list, const char* line) {
  (void)list;
  (void)line;
  return NULL;
}
void curl_slist_free_all(void* list) {
  (void)list;
}
const void* EVP_sha256(void) {
  return NULL;
}
unsigned char* HMAC(const void* hash, const void* key, int key_bytes, const unsigned char* data, size_t bytes,
                    unsigned char* digest, unsigned* digest_bytes) {
  (void)hash;
  (void)key;
  (void)key_bytes;
  (void)data;
  (void)bytes;
  (void)digest;
  (void)digest_bytes;
  return NULL;
}
unsigned char* SHA256(const unsigned char* data, size_t bytes, unsigned char* digest) {
  (void)data;
  (void)bytes;
  (void)digest;
  return NULL;
}
