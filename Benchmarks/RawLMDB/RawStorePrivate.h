#ifndef RAW_STORE_PRIVATE_H
#define RAW_STORE_PRIVATE_H

#include <lmdb.h>

#include "RawLMDB.h"

enum { max_indexes = 4, key_bytes = 256, document_bytes = 1 << 20 };

struct raw_store {
  MDB_env *env;
  MDB_dbi documents;
  int index_count;
  raw_index indexes[max_indexes];
  MDB_dbi tables[max_indexes];
  char *scratch;
};

#endif
