#include "BigPeerFiles.h"

// Embedding is of C23. The compilers that build Dunlin know it in older modes too, and warn of it there.
#pragma clang diagnostic ignored "-Wc23-extensions"

// Defines the function that the header declares for a file.
#define FILE_FUNCTION(name) \
  struct BigPeerFile bigpeer_##name(void) { return (struct BigPeerFile){name, sizeof name}; }

static const unsigned char openapi_json[] = {
#embed "Files/openapi.json"
};
FILE_FUNCTION(openapi_json)
