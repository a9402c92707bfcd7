import CLMDB
import Platform

extension PageAccess {
  /// The number of free bytes on the disk that an unprivileged process can use.
  func freeDiskBytes() throws(StoreError) -> Int {
    var descriptor: mdb_filehandle_t = 0
    // SAFETY: the transaction, and with it its environment, is open; the calls fill local values.
    try unsafe StoreError.check(mdb_env_get_fd(mdb_txn_env(handle), &descriptor), "mdb_env_get_fd")
    var answer = statvfs()
    guard unsafe fstatvfs(descriptor, &answer) == 0 else {
      throw StoreError(.io, "The disk does not tell how much is free", operation: "fstatvfs")
    }
    let (bytes, isTooMuch) = Int(answer.f_bavail).multipliedReportingOverflow(by: Int(answer.f_frsize))
    return isTooMuch ? .max / 2 : bytes
  }
}
