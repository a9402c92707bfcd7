#ifndef BIG_PEER_FILES_H
#define BIG_PEER_FILES_H

#include <stddef.h>

/// A file that the server hands out, as constant bytes of the program.
struct BigPeerFile {
  const unsigned char *bytes;
  size_t count;
};

/// The description of the HTTP API.
struct BigPeerFile bigpeer_openapi_json(void);

#endif
