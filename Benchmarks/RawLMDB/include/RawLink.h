#ifndef RAW_LINK_H
#define RAW_LINK_H

#include "RawLMDB.h"

/// One end of a TCP connection that carries documents of a raw store, deflated, and nothing else: no versions, no
/// subscriptions, no resume. What any replication between stores on LMDB is measured against.
///
/// A frame is a count of plain bytes and one of deflated bytes, 4 each, then those bytes; one stream of zlib goes
/// through all frames of a direction. What a frame holds becomes durable in one transaction.
typedef struct raw_link raw_link;

/// What a link has carried, in bytes: frames with their heads, and before compression.
typedef struct {
  uint64_t wire, plain;
} raw_traffic;

/// Listens on a free port of this machine alone; a negative socket is a failure, with `errno`.
int raw_listen(int *port);
int raw_accept(int listener);
int raw_connect(int port);

/// Takes over a connected socket; `level` is zlib's. Every function returns 0, LMDB's code, or an errno.
int raw_link_open(int socket, int level, raw_link **out);
void raw_link_close(raw_link *link);

/// Ends the connection, and with it what waits for a frame in another thread.
void raw_link_shut(raw_link *link);

/// Sends all documents of one snapshot, so many a frame.
int raw_link_send_store(raw_link *link, raw_store *store, size_t per_frame);

/// Sends documents in one frame.
int raw_link_send(raw_link *link, const raw_bytes *ids, const raw_bytes *texts, size_t count);

/// Changes one field of documents here in one transaction, then sends its name, and id, time and number of each.
int raw_link_update(
  raw_link *link, raw_store *store, const raw_bytes *ids, const int64_t *values, size_t count, const char *field);

/// Waits for one frame and writes what it holds; a count of 0 is the end of the connection.
int raw_link_receive(raw_link *link, raw_store *store, size_t *count);

raw_traffic raw_link_traffic(const raw_link *link);

#endif
