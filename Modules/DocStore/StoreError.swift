import CLMDB
public import CRDTCore
import Platform

/// Why a store refused or failed an operation; the state before it is kept.
public struct StoreError: CodedError, Hashable {
  /// The kind of error, for callers that handle kinds differently.
  public struct Code: RawRepresentable, Hashable, Sendable {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    /// Another process, or this one, has the store open.
    public static let alreadyOpen = Code(rawValue: "alreadyOpen")
    /// There is nothing at the path.
    public static let notFound = Code(rawValue: "notFound")
    /// The file system refuses access.
    public static let permission = Code(rawValue: "permission")
    /// The store is open for reading only, or its file system is mounted read-only.
    public static let readOnlyStore = Code(rawValue: "readOnlyStore")
    /// A read, write or sync failed; after a write the store is poisoned.
    public static let io = Code(rawValue: "io")
    /// The disk or the store's map is full; the transaction was rolled back.
    public static let full = Code(rawValue: "full")
    /// A transaction touches more pages than the engine can hold.
    public static let transactionTooLarge = Code(rawValue: "transactionTooLarge")
    /// Data on the disk is damaged.
    public static let corrupt = Code(rawValue: "corrupt")
    /// An earlier write failed, so the store refuses writes until it is opened again.
    public static let poisoned = Code(rawValue: "poisoned")
    /// A write transaction was started inside a write transaction of the same store.
    public static let nestedWriteTransaction = Code(rawValue: "nestedWriteTransaction")
    /// The store is closed, or the transaction has ended.
    public static let closed = Code(rawValue: "closed")
    /// A newer release wrote the store.
    public static let unsupportedVersion = Code(rawValue: "unsupportedVersion")
    /// A collection's name is empty, too long, or reserved for the system.
    public static let invalidCollectionName = Code(rawValue: "invalidCollectionName")
    /// The document or the edit is not possible; ``StoreError/document`` gives the reason.
    public static let document = Code(rawValue: "document")
    /// A transaction removed and upserted the same document.
    public static let removedInTransaction = Code(rawValue: "removedInTransaction")
    /// A transaction wrote while one of its own reads was in progress.
    public static let writeInsideRead = Code(rawValue: "writeInsideRead")
    /// An asynchronous transaction was idle too long and was rolled back, or a snapshot was open too long.
    public static let deadline = Code(rawValue: "deadline")
    /// A blocking call on a thread that runs tasks waited one second for an asynchronous transaction.
    public static let wouldBlock = Code(rawValue: "wouldBlock")
    /// An option has a value that cannot be used.
    public static let argument = Code(rawValue: "argument")
    /// The process or the system has no more file descriptors.
    public static let tooManyFiles = Code(rawValue: "tooManyFiles")
    /// The process cannot have the address space or the memory that it needs.
    public static let noMemory = Code(rawValue: "noMemory")
    /// Something already exists where something new was to be created.
    public static let exists = Code(rawValue: "exists")
    /// The process is a fork of the one that opened the store.
    public static let forked = Code(rawValue: "forked")
    /// Too many read transactions are open.
    public static let tooManyReaders = Code(rawValue: "tooManyReaders")
    /// The collection already has an index of that name.
    public static let indexExists = Code(rawValue: "indexExists")
    /// There is no such index.
    public static let indexNotFound = Code(rawValue: "indexNotFound")
    /// An index is still being built.
    public static let indexNotReady = Code(rawValue: "indexNotReady")
    /// An index has no name or no fields, or fields that cannot be indexed.
    public static let invalidIndex = Code(rawValue: "invalidIndex")
    /// A key or value is larger than the store allows.
    public static let limit = Code(rawValue: "limit")
  }

  public let code: Code
  /// One sentence, in English, without a trailing full stop; never a document's contents.
  public let message: String
  /// The operation that failed, for example `"mdb_put"`.
  public let operation: String
  /// The C return code, if the error came from C.
  public let underlying: Int32?
  /// The refused document or edit, if ``code`` is `document`.
  public let document: DocumentError?
  /// The damaged page, if the error is damage to a page.
  package var damaged: DamagedPage?
  /// The table of the damaged page or entry.
  var damagedTable: StoreTable?

  public init(
    _ code: Code, _ message: String, operation: String, underlying: Int32? = nil,
    document: DocumentError? = nil
  ) {
    self.code = code
    self.message = message
    self.operation = operation
    self.underlying = underlying
    self.document = document
  }

  /// Whether the damage is in rows of an index.
  ///
  /// Such an index answers no more queries, so a repeated query is answered without it.
  package var isOfIndex: Bool { damagedTable == .rows }

  /// The operation of errors that are thrown because a read found damage.
  static let meeting = "read"

  /// An error for a page that cannot be traversed.
  init(_ damaged: DamagedPage, operation: String) {
    self.init(.corrupt, "\(damaged.message), in the table \(damaged.table)", operation: operation)
    self.damaged = damaged
    damagedTable = StoreTable(named: damaged.table)
  }

  /// An error for a damaged entry, which may be the missing one.
  static func damagedEntry(_ table: StoreTable) -> StoreError {
    let message = "An entry of the table \(table.name) is damaged"
    var error = StoreError(.corrupt, message, operation: "read")
    error.damagedTable = table
    return error
  }

  /// The error of a call that would write to a store that is open for reading only.
  static func readOnly(_ operation: String) -> StoreError {
    StoreError(
      .readOnlyStore, "The store is open for reading only, and nothing can be written to it",
      operation: operation)
  }

  /// Wraps a document's error.
  package init(_ error: DocumentError, operation: String) {
    self.init(.document, error.message, operation: operation, document: error)
  }
}

extension StoreError {
  // text: the names are literals of this package.
  package var context: [String: String] {
    var context = ["operation": operation]
    if let underlying { context["returned"] = "\(underlying)" }
    return context
  }
}

extension StoreError: CustomStringConvertible {
  public var description: String { "\(message) (\(code.rawValue))" }
}

extension StoreError.Code: CustomStringConvertible {
  public var description: String { rawValue }
}

extension StoreError {
  /// Throws unless `rc` is success.
  static func check(_ rc: Int32, _ operation: StaticString) throws(StoreError) {
    if rc != MDB_SUCCESS { throw StoreError(engine: rc, operation) }
  }

  /// Translates a return code of LMDB or of the system.
  ///
  /// - Parameters:
  ///   - rc: The code.
  ///   - operation: The function that returned it.
  ///   - path: The file concerned, for the message.
  init(engine rc: Int32, _ operation: StaticString, path: String? = nil) {
    let (code, message) = Self.meaning(of: rc)
    let sentence = path.map { "\(message): \(HeldDirectory.shown($0))" } ?? message
    self.init(code, sentence, operation: operation.description, underlying: rc)
  }

  private static func meaning(of rc: Int32) -> (Code, String) {
    switch rc {
    case MDB_MAP_FULL: (.full, "The store has reached its size limit")
    case ENOSPC, EDQUOT: (.full, "The disk is full")
    case EFBIG: (.full, "The store's file may not grow any more")
    case MDB_TXN_FULL: (.transactionTooLarge, "The transaction touches too many pages")
    case MDB_CORRUPTED, MDB_PAGE_NOTFOUND: (.corrupt, "The store's file is damaged")
    case MDB_INVALID: (.corrupt, "The file is not a store")
    case MDB_VERSION_MISMATCH:
      (.unsupportedVersion, "The file was written by another version of the storage engine")
    case MDB_READERS_FULL: (.tooManyReaders, "Too many read transactions are open")
    case MDB_BAD_VALSIZE: (.limit, "A key or value has a size that the store does not take")
    case EEXIST, ENOTEMPTY: (.exists, "There is something at the path already")
    case ENOENT: (.notFound, "There is nothing at the path")
    case EACCES, EPERM: (.permission, "The file system refuses access")
    case EROFS: (.readOnlyStore, "The file system is mounted read-only")
    case EMFILE: (.tooManyFiles, "The process has as many files open as it may have")
    case ENFILE: (.tooManyFiles, "The system has as many files open as it can have")
    case ENOMEM: (.noMemory, "The system gives the process no more memory or address space")
    case ENOTDIR: (.io, "There is something at the path that is no directory")
    case ENAMETOOLONG: (.notFound, "The path or a name in it is too long")
    case ELOOP: (.permission, "A store's file may be no symbolic link, nor its path lead through too many")
    case EWOULDBLOCK: (.alreadyOpen, "The store is open already")
    default: (.io, "Reading or writing the store failed: \(describe(rc))")
    }
  }

  private static func describe(_ rc: Int32) -> String {
    // SAFETY: mdb_strerror returns a static or thread-local C string for any code.
    unsafe mdb_strerror(rc).map { unsafe String(cString: $0) } ?? "error \(rc)"
  }
}
