#include "RawLink.h"

#include <arpa/inet.h>
#include <errno.h>
#include <lmdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>
#include <zlib.h>

#include "RawStorePrivate.h"

enum { head_bytes = 8, plain_limit = 64 << 20, kind_documents = 1, kind_changes = 2 };

typedef struct {
  unsigned char *bytes;
  size_t count, room;
} buffer;

struct raw_link {
  int socket;
  z_stream deflater, inflater;
  buffer plain, wire;
  raw_traffic traffic;
};

static int reserve(buffer *buffer, size_t more) {
  if (buffer->room - buffer->count >= more) return 0;
  size_t room = buffer->room * 2 > buffer->count + more ? buffer->room * 2 : buffer->count + more;
  void *bytes = realloc(buffer->bytes, room);
  if (!bytes) return ENOMEM;
  buffer->bytes = bytes;
  buffer->room = room;
  return 0;
}

static int append(buffer *buffer, const void *bytes, size_t count) {
  int rc = reserve(buffer, count);
  if (rc) return rc;
  memcpy(buffer->bytes + buffer->count, bytes, count);
  buffer->count += count;
  return 0;
}

int raw_listen(int *port) {
  int handle = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  socklen_t count = sizeof address;
  if (handle < 0) return -1;
  if (bind(handle, (struct sockaddr *)&address, count) || listen(handle, 1)
      || getsockname(handle, (struct sockaddr *)&address, &count)) {
    close(handle);
    return -1;
  }
  *port = ntohs(address.sin_port);
  return handle;
}

int raw_accept(int listener) { return accept(listener, NULL, NULL); }

int raw_connect(int port) {
  int handle = socket(AF_INET, SOCK_STREAM, 0);
  struct sockaddr_in address = {
    .sin_family = AF_INET, .sin_port = htons((uint16_t)port), .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
  if (handle < 0) return -1;
  if (!connect(handle, (struct sockaddr *)&address, sizeof address)) return handle;
  close(handle);
  return -1;
}

int raw_link_open(int socket, int level, raw_link **out) {
  raw_link *link = calloc(1, sizeof *link);
  if (!link) return ENOMEM;
  link->socket = socket;
  int yes = 1;
  setsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &yes, sizeof yes);
  if (deflateInit(&link->deflater, level) != Z_OK || inflateInit(&link->inflater) != Z_OK) {
    raw_link_close(link);
    return ENOMEM;
  }
  *out = link;
  return 0;
}

void raw_link_close(raw_link *link) {
  close(link->socket);
  deflateEnd(&link->deflater);
  inflateEnd(&link->inflater);
  free(link->plain.bytes);
  free(link->wire.bytes);
  free(link);
}

void raw_link_shut(raw_link *link) { shutdown(link->socket, SHUT_RDWR); }

raw_traffic raw_link_traffic(const raw_link *link) { return link->traffic; }

static int send_all(int socket, const unsigned char *bytes, size_t count) {
  while (count) {
    ssize_t sent = send(socket, bytes, count, MSG_NOSIGNAL);
    if (sent < 0 && errno == EINTR) continue;
    if (sent < 0) return errno;
    bytes += sent;
    count -= (size_t)sent;
  }
  return 0;
}

/// 0 with `*ended` set when the connection ends before the first byte.
static int receive_all(int socket, unsigned char *bytes, size_t count, int *ended) {
  for (size_t at = 0; at < count;) {
    ssize_t received = recv(socket, bytes + at, count - at, 0);
    if (received < 0 && errno == EINTR) continue;
    if (received < 0) return errno;
    if (!received) {
      *ended = 1;
      return at ? ECONNRESET : 0;
    }
    at += (size_t)received;
  }
  return 0;
}

static int begin(raw_link *link, unsigned char kind, uint32_t count) {
  link->plain.count = 0;
  int rc = append(&link->plain, &kind, 1);
  return rc ? rc : append(&link->plain, &count, sizeof count);
}

static int flush(raw_link *link) {
  buffer *plain = &link->plain, *wire = &link->wire;
  wire->count = 0;
  int rc = reserve(wire, head_bytes + deflateBound(&link->deflater, plain->count) + 64);
  if (rc) return rc;
  z_stream *stream = &link->deflater;
  stream->next_in = plain->bytes;
  stream->avail_in = (uInt)plain->count;
  stream->next_out = wire->bytes + head_bytes;
  stream->avail_out = (uInt)(wire->room - head_bytes);
  if (deflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in) return EIO;
  wire->count = wire->room - stream->avail_out;
  uint32_t head[2] = {(uint32_t)plain->count, (uint32_t)(wire->count - head_bytes)};
  memcpy(wire->bytes, head, sizeof head);
  link->traffic.plain += plain->count;
  link->traffic.wire += wire->count;
  return send_all(link->socket, wire->bytes, wire->count);
}

static int add_document(raw_link *link, raw_bytes id, raw_bytes text) {
  uint16_t id_count = (uint16_t)id.count;
  uint32_t text_count = (uint32_t)text.count;
  int rc = append(&link->plain, &id_count, sizeof id_count);
  if (!rc) rc = append(&link->plain, &text_count, sizeof text_count);
  if (!rc) rc = append(&link->plain, id.bytes, id.count);
  return rc ? rc : append(&link->plain, text.bytes, text.count);
}

int raw_link_send_store(raw_link *link, raw_store *store, size_t per_frame) {
  MDB_txn *txn;
  MDB_cursor *cursor = NULL;
  int rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);
  if (rc) return rc;
  rc = mdb_cursor_open(txn, store->documents, &cursor);
  MDB_val key, value;
  uint32_t count = 0;
  if (!rc) rc = begin(link, kind_documents, 0);
  while (!rc && !(rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
    rc = add_document(
      link, (raw_bytes){key.mv_data, key.mv_size}, (raw_bytes){value.mv_data, value.mv_size});
    if (rc || ++count < per_frame) continue;
    memcpy(link->plain.bytes + 1, &count, sizeof count);
    rc = flush(link);
    count = 0;
    if (!rc) rc = begin(link, kind_documents, 0);
  }
  if (rc == MDB_NOTFOUND) rc = 0;
  if (!rc && count) {
    memcpy(link->plain.bytes + 1, &count, sizeof count);
    rc = flush(link);
  }
  if (cursor) mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  return rc;
}

int raw_link_send(raw_link *link, const raw_bytes *ids, const raw_bytes *texts, size_t count) {
  int rc = begin(link, kind_documents, (uint32_t)count);
  for (size_t i = 0; !rc && i < count; i++) rc = add_document(link, ids[i], texts[i]);
  return rc ? rc : flush(link);
}

int raw_link_update(
  raw_link *link, raw_store *store, const raw_bytes *ids, const int64_t *values, size_t count,
  const char *field) {
  int rc = raw_update(store, ids, values, count, field);
  if (!rc) rc = begin(link, kind_changes, (uint32_t)count);
  struct timespec now;
  clock_gettime(CLOCK_REALTIME, &now);
  uint64_t time = (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
  unsigned char field_count = (unsigned char)strlen(field);
  if (!rc) rc = append(&link->plain, &field_count, 1);
  if (!rc) rc = append(&link->plain, field, field_count);
  for (size_t i = 0; !rc && i < count; i++) {
    uint16_t id_count = (uint16_t)ids[i].count;
    rc = append(&link->plain, &id_count, sizeof id_count);
    if (!rc) rc = append(&link->plain, ids[i].bytes, ids[i].count);
    if (!rc) rc = append(&link->plain, &time, sizeof time);
    if (!rc) rc = append(&link->plain, &values[i], sizeof values[i]);
  }
  return rc ? rc : flush(link);
}

/// What is left to read of a plain frame.
typedef struct {
  const unsigned char *at, *end;
} reader;

static int take(reader *reader, void *out, size_t count) {
  if ((size_t)(reader->end - reader->at) < count) return EPROTO;
  memcpy(out, reader->at, count);
  reader->at += count;
  return 0;
}

static int take_bytes(reader *reader, size_t count, raw_bytes *out) {
  if ((size_t)(reader->end - reader->at) < count) return EPROTO;
  *out = (raw_bytes){reader->at, count};
  reader->at += count;
  return 0;
}

static int write_documents(raw_store *store, reader *reader, uint32_t count) {
  raw_bytes *ids = calloc(count, sizeof *ids), *texts = calloc(count, sizeof *texts);
  int rc = ids && texts ? 0 : ENOMEM;
  for (uint32_t i = 0; !rc && i < count; i++) {
    uint16_t id_count;
    uint32_t text_count;
    rc = take(reader, &id_count, sizeof id_count);
    if (!rc) rc = take(reader, &text_count, sizeof text_count);
    if (!rc) rc = take_bytes(reader, id_count, &ids[i]);
    if (!rc) rc = take_bytes(reader, text_count, &texts[i]);
  }
  if (!rc) rc = raw_insert(store, ids, texts, count);
  free(ids);
  free(texts);
  return rc;
}

static int write_changes(raw_store *store, reader *reader, uint32_t count) {
  unsigned char field_count;
  char field[256] = "";
  raw_bytes *ids = calloc(count, sizeof *ids);
  int64_t *values = calloc(count, sizeof *values);
  int rc = ids && values ? 0 : ENOMEM;
  if (!rc) rc = take(reader, &field_count, 1);
  if (!rc) rc = take(reader, field, field_count);
  for (uint32_t i = 0; !rc && i < count; i++) {
    uint16_t id_count;
    uint64_t time;
    rc = take(reader, &id_count, sizeof id_count);
    if (!rc) rc = take_bytes(reader, id_count, &ids[i]);
    if (!rc) rc = take(reader, &time, sizeof time);
    if (!rc) rc = take(reader, &values[i], sizeof values[i]);
  }
  if (!rc) rc = raw_update(store, ids, values, count, field);
  free(ids);
  free(values);
  return rc;
}

/// Leaves the plain bytes of the next frame in `link->plain`; none at the end of the connection.
static int receive_frame(raw_link *link) {
  uint32_t head[2];
  int ended = 0;
  link->plain.count = link->wire.count = 0;
  int rc = receive_all(link->socket, (unsigned char *)head, sizeof head, &ended);
  if (rc || ended) return rc;
  if (head[0] > plain_limit || head[1] > plain_limit) return EPROTO;
  if ((rc = reserve(&link->wire, head[1])) || (rc = reserve(&link->plain, head[0] + 1))) return rc;
  rc = receive_all(link->socket, link->wire.bytes, head[1], &ended);
  if (rc || ended) return rc ? rc : ECONNRESET;
  z_stream *stream = &link->inflater;
  stream->next_in = link->wire.bytes;
  stream->avail_in = head[1];
  // One byte more than there is, so that the mark of the flush is read too.
  stream->next_out = link->plain.bytes;
  stream->avail_out = head[0] + 1;
  if (inflate(stream, Z_SYNC_FLUSH) != Z_OK || stream->avail_in || stream->avail_out != 1) return EPROTO;
  link->plain.count = head[0];
  link->traffic.plain += head[0];
  link->traffic.wire += head_bytes + head[1];
  return 0;
}

int raw_link_receive(raw_link *link, raw_store *store, size_t *count) {
  *count = 0;
  int rc = receive_frame(link);
  if (rc || !link->plain.count) return rc;
  reader reader = {link->plain.bytes, link->plain.bytes + link->plain.count};
  unsigned char kind;
  uint32_t items;
  rc = take(&reader, &kind, 1);
  if (!rc) rc = take(&reader, &items, sizeof items);
  // No item takes less than 6 bytes.
  if (!rc && items > link->plain.count / 6) rc = EPROTO;
  if (!rc) rc = kind == kind_documents ? write_documents(store, &reader, items)
                                       : write_changes(store, &reader, items);
  if (!rc) *count = items;
  return rc;
}
