#define _GNU_SOURCE
#include "RawLMDB.h"

#include <errno.h>
#include <fcntl.h>
#include <lmdb.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "RawStorePrivate.h"

int raw_open(const char *directory, size_t map_bytes, const raw_index *indexes, int index_count, raw_store **out) {
  if (index_count > max_indexes) return EINVAL;
  raw_store *store = calloc(1, sizeof *store);
  if (!store || !(store->scratch = malloc(document_bytes))) {
    free(store);
    return ENOMEM;
  }
  store->index_count = index_count;
  MDB_txn *txn = NULL;
  int rc = mdb_env_create(&store->env);
  if (!rc) rc = mdb_env_set_maxdbs(store->env, 1 + max_indexes);
  if (!rc) rc = mdb_env_set_mapsize(store->env, map_bytes);
  if (!rc) rc = mdb_env_open(store->env, directory, MDB_NOTLS, 0600);
  if (!rc) rc = mdb_txn_begin(store->env, NULL, 0, &txn);
  if (!rc) rc = mdb_dbi_open(txn, "documents", MDB_CREATE, &store->documents);
  for (int i = 0; !rc && i < index_count; i++) {
    char name[16];
    snprintf(name, sizeof name, "index-%d", i);
    store->indexes[i] = indexes[i];
    rc = mdb_dbi_open(txn, name, MDB_CREATE, &store->tables[i]);
  }
  if (!rc) {
    rc = mdb_txn_commit(txn);
  } else if (txn) {
    mdb_txn_abort(txn);
  }
  if (rc) {
    raw_close(store);
    return rc;
  }
  *out = store;
  return 0;
}

void raw_close(raw_store *store) {
  if (store->env) mdb_env_close(store->env);
  free(store->scratch);
  free(store);
}

/// Finds the value of a field by its name: where it begins, and its length; a length of 0 when it is not there.
static const char *find(raw_bytes text, const char *field, size_t *count) {
  char name[64];
  int length = snprintf(name, sizeof name, "\"%s\":", field);
  const char *end = (const char *)text.bytes + text.count;
  const char *at = memmem(text.bytes, text.count, name, (size_t)length);
  *count = 0;
  if (!at) return NULL;
  at += length;
  const char *stop = at;
  if (*at == '"') {
    for (stop++; stop < end && *stop != '"'; stop++) {}
    stop++;
  } else {
    while (stop < end && *stop != ',' && *stop != '}') stop++;
  }
  *count = (size_t)(stop - at);
  return at;
}

/// Appends a value in an order that bytes keep: a string's text and a zero, a number as 8 bytes, null as none.
static size_t append(char *key, const char *value, size_t count) {
  if (!count || *value == 'n') {
    *key = 0;
    return 1;
  }
  if (*value == '"') {
    size_t length = count - 2 < 100 ? count - 2 : 100;
    *key = 2;
    memcpy(key + 1, value + 1, length);
    key[1 + length] = 0;
    return length + 2;
  }
  double number = strtod(value, NULL);
  uint64_t bits;
  memcpy(&bits, &number, 8);
  bits = __builtin_bswap64(bits >> 63 ? ~bits : bits | 1ull << 63);
  *key = 1;
  memcpy(key + 1, &bits, 8);
  return 9;
}

static size_t index_key(const raw_index *index, raw_bytes id, raw_bytes text, char *key) {
  size_t count, used = 0;
  const char *value = find(text, index->first, &count);
  used += append(key, value, count);
  if (index->second) {
    value = find(text, index->second, &count);
    used += append(key + used, value, count);
  }
  size_t rest = id.count < key_bytes - used ? id.count : key_bytes - used;
  memcpy(key + used, id.bytes, rest);
  return used + rest;
}

static MDB_val val(raw_bytes bytes) { return (MDB_val){bytes.count, (void *)bytes.bytes}; }

static int insert(raw_store *store, MDB_txn *txn, raw_bytes id, raw_bytes text) {
  MDB_val key = val(id), value = val(text);
  int rc = mdb_put(txn, store->documents, &key, &value, 0);
  for (int i = 0; !rc && i < store->index_count; i++) {
    char room[key_bytes];
    MDB_val name = {index_key(&store->indexes[i], id, text, room), room}, none = {0, ""};
    rc = mdb_put(txn, store->tables[i], &name, &none, 0);
  }
  return rc;
}

int raw_insert(raw_store *store, const raw_bytes *ids, const raw_bytes *texts, size_t count) {
  MDB_txn *txn;
  int rc = mdb_txn_begin(store->env, NULL, 0, &txn);
  if (rc) return rc;
  for (size_t i = 0; !rc && i < count; i++) rc = insert(store, txn, ids[i], texts[i]);
  if (!rc) return mdb_txn_commit(txn);
  mdb_txn_abort(txn);
  return rc;
}

int raw_read(raw_store *store, const raw_bytes *ids, size_t count, int one_snapshot, uint64_t *bytes) {
  MDB_txn *txn;
  int rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);
  if (rc) return rc;
  for (size_t i = 0; !rc && i < count; i++) {
    if (!one_snapshot) {
      mdb_txn_reset(txn);
      if ((rc = mdb_txn_renew(txn))) break;
    }
    MDB_val key = val(ids[i]), value;
    rc = mdb_get(txn, store->documents, &key, &value);
    if (!rc && value.mv_size > document_bytes) rc = MDB_BAD_VALSIZE;
    if (rc) break;
    memcpy(store->scratch, value.mv_data, value.mv_size);
    *bytes += value.mv_size + (unsigned char)store->scratch[value.mv_size / 2] / 256;
  }
  mdb_txn_abort(txn);
  return rc;
}

static int update(raw_store *store, MDB_txn *txn, raw_bytes id, int64_t number, const char *field) {
  MDB_val key = val(id), value;
  int rc = mdb_get(txn, store->documents, &key, &value);
  if (rc) return rc;
  raw_bytes old = {value.mv_data, value.mv_size};
  size_t count;
  const char *at = find(old, field, &count);
  if (old.count < 2 || old.count > document_bytes - 128) return EINVAL;
  // A field that is not there comes last.
  size_t head = at ? (size_t)(at - (const char *)old.bytes) : old.count - 1;
  memcpy(store->scratch, old.bytes, head);
  char *room = store->scratch + head;
  int written = at ? snprintf(room, 128, "%lld", (long long)number)
                   : snprintf(room, 128, ",\"%s\":%lld", field, (long long)number);
  memcpy(room + written, (const char *)old.bytes + head + count, old.count - head - count);
  raw_bytes text = {store->scratch, old.count - count + (size_t)written};
  char before[max_indexes][key_bytes], after[max_indexes][key_bytes];
  size_t before_count[max_indexes], after_count[max_indexes];
  for (int i = 0; i < store->index_count; i++) {
    before_count[i] = index_key(&store->indexes[i], id, old, before[i]);
    after_count[i] = index_key(&store->indexes[i], id, text, after[i]);
  }
  value = val(text);
  rc = mdb_put(txn, store->documents, &key, &value, 0);
  for (int i = 0; !rc && i < store->index_count; i++) {
    if (before_count[i] == after_count[i] && !memcmp(before[i], after[i], before_count[i])) continue;
    MDB_val gone = {before_count[i], before[i]}, fresh = {after_count[i], after[i]}, none = {0, ""};
    rc = mdb_del(txn, store->tables[i], &gone, NULL);
    if (!rc) rc = mdb_put(txn, store->tables[i], &fresh, &none, 0);
  }
  return rc;
}

int raw_update(
  raw_store *store, const raw_bytes *ids, const int64_t *values, size_t count, const char *field) {
  MDB_txn *txn;
  int rc = mdb_txn_begin(store->env, NULL, 0, &txn);
  if (rc) return rc;
  for (size_t i = 0; !rc && i < count; i++) rc = update(store, txn, ids[i], values[i], field);
  if (!rc) return mdb_txn_commit(txn);
  mdb_txn_abort(txn);
  return rc;
}

/// What a field's value has to be like, and how many documents were copied out for it.
typedef struct {
  const char *field, *prefix;
  double bound;
  uint64_t *found, *bytes;
} search;

static int matches(const search *wanted, raw_bytes text) {
  size_t count;
  const char *value = find(text, wanted->field, &count);
  if (!value) return 0;
  if (!wanted->prefix) return *value != '"' && *value != 'n' && strtod(value, NULL) < wanted->bound;
  size_t length = strlen(wanted->prefix);
  return *value == '"' && count >= length + 2 && !memcmp(value + 1, wanted->prefix, length);
}

static int scan(raw_store *store, const search *wanted) {
  MDB_txn *txn;
  MDB_cursor *cursor = NULL;
  int rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);
  if (rc) return rc;
  rc = mdb_cursor_open(txn, store->documents, &cursor);
  MDB_val key, value;
  while (!rc && !(rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) {
    if (!matches(wanted, (raw_bytes){value.mv_data, value.mv_size})) continue;
    if (value.mv_size > document_bytes) rc = MDB_BAD_VALSIZE;
    if (rc) break;
    memcpy(store->scratch, value.mv_data, value.mv_size);
    *wanted->found += 1;
    *wanted->bytes += value.mv_size + (unsigned char)store->scratch[value.mv_size / 2] / 256;
  }
  if (cursor) mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  return rc == MDB_NOTFOUND ? 0 : rc;
}

int raw_find_below(
  raw_store *store, const char *field, double bound, uint64_t *found, uint64_t *bytes) {
  return scan(store, &(search){.field = field, .bound = bound, .found = found, .bytes = bytes});
}

int raw_find_prefix(
  raw_store *store, const char *field, const char *prefix, uint64_t *found, uint64_t *bytes) {
  return scan(store, &(search){.field = field, .prefix = prefix, .found = found, .bytes = bytes});
}

size_t raw_count(raw_store *store) {
  MDB_txn *txn;
  MDB_stat stat = {0};
  if (mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn)) return 0;
  mdb_stat(txn, store->documents, &stat);
  mdb_txn_abort(txn);
  return stat.ms_entries;
}

int raw_each_id(raw_store *store, size_t count, void *context, void (*each)(raw_bytes id, void *context)) {
  MDB_txn *txn;
  MDB_cursor *cursor = NULL;
  int rc = mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn);
  if (rc) return rc;
  rc = mdb_cursor_open(txn, store->documents, &cursor);
  MDB_val key, value;
  for (size_t i = 0; !rc && i < count; i++) {
    if ((rc = mdb_cursor_get(cursor, &key, &value, MDB_NEXT))) break;
    each((raw_bytes){key.mv_data, key.mv_size}, context);
  }
  if (cursor) mdb_cursor_close(cursor);
  mdb_txn_abort(txn);
  return rc == MDB_NOTFOUND ? 0 : rc;
}

static uint64_t hash(uint64_t hash, MDB_val bytes) {
  const unsigned char *at = bytes.mv_data;
  for (size_t i = 0; i < bytes.mv_size; i++) hash = (hash ^ at[i]) * 0x100000001b3u;
  return (hash ^ 0xff) * 0x100000001b3u;
}

uint64_t raw_digest(raw_store *store) {
  MDB_txn *txn;
  MDB_cursor *cursor;
  uint64_t sum = 0;
  if (mdb_txn_begin(store->env, NULL, MDB_RDONLY, &txn)) return 0;
  if (!mdb_cursor_open(txn, store->documents, &cursor)) {
    MDB_val key, value;
    while (!mdb_cursor_get(cursor, &key, &value, MDB_NEXT)) {
      sum += hash(hash(0xcbf29ce484222325u, key), value);
    }
    mdb_cursor_close(cursor);
  }
  mdb_txn_abort(txn);
  return sum;
}

int raw_compact(raw_store *store, const char *directory) {
  char copy[4096], data[4096];
  if (snprintf(copy, sizeof copy, "%s/copy", directory) >= (int)sizeof copy) return ENAMETOOLONG;
  if (snprintf(data, sizeof data, "%s/data.mdb", directory) >= (int)sizeof data) return ENAMETOOLONG;
  int file = open(copy, O_WRONLY | O_CREAT | O_EXCL, 0600);
  if (file < 0) return errno;
  int rc = mdb_env_copyfd2(store->env, file, MDB_CP_COMPACT);
  if (!rc && fsync(file)) rc = errno;
  if (close(file) && !rc) rc = errno;
  if (!rc && rename(copy, data)) rc = errno;
  return rc;
}
