#ifndef RAW_LMDB_H
#define RAW_LMDB_H

#include <stddef.h>
#include <stdint.h>

/// JSON texts under their ids in LMDB, with nothing between: what any store on LMDB is measured against.
///
/// Opened as Dunlin opens it: synchronous commits, no write map, the same reserved map.
typedef struct raw_store raw_store;

typedef struct {
  const void *bytes;
  size_t count;
} raw_bytes;

/// How an index's key is made: one or two fields of the document, found by searching its text.
typedef struct {
  const char *first;
  const char *second;
} raw_index;

/// Every function returns 0 or LMDB's code.
int raw_open(const char *directory, size_t map_bytes, const raw_index *indexes, int index_count, raw_store **out);
void raw_close(raw_store *store);

/// Writes documents in one transaction.
int raw_insert(raw_store *store, const raw_bytes *ids, const raw_bytes *texts, size_t count);

/// Copies documents out, all of one snapshot or each of its own; adds their lengths to `bytes`.
int raw_read(raw_store *store, const raw_bytes *ids, size_t count, int one_snapshot, uint64_t *bytes);

/// Gives one field of each document another number, in one transaction.
int raw_update(
  raw_store *store, const raw_bytes *ids, const int64_t *values, size_t count, const char *field);

/// Copies out all documents that have a number below the bound in a field; counts them and their bytes.
int raw_find_below(raw_store *store, const char *field, double bound, uint64_t *found, uint64_t *bytes);

/// Copies out all documents that have a text in a field that begins with the prefix; counts them and their bytes.
int raw_find_prefix(
  raw_store *store, const char *field, const char *prefix, uint64_t *found, uint64_t *bytes);

/// Puts a copy without free pages in the place of the data, for whoever opens it next.
int raw_compact(raw_store *store, const char *directory);

/// Documents in the store.
size_t raw_count(raw_store *store);

/// Hands out the ids of the first documents, at most `count`.
int raw_each_id(raw_store *store, size_t count, void *context, void (*each)(raw_bytes id, void *context));

/// A sum of hashes over all documents, the same for the same documents.
uint64_t raw_digest(raw_store *store);

#endif
