public import Foundation
import Transports

/// Why the database did not do what it was asked; the state before is kept.
public struct DunlinError: Error, Sendable {
  /// What went wrong, to branch on.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
  }

  public let code: Code
  /// One sentence, in English, without a trailing full stop; never a document's contents.
  public let message: String
  /// Where it happened, by name: `database`, `collection`, `path`, `line`, `column`, `expected`, `excerpt`, `operation`.
  public let context: [String: String]
  /// The error of the layer below, where it came from there.
  public let underlying: (any Error)?

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: What went wrong.
  ///   - message: One sentence without a full stop and without a document's contents.
  ///   - context: Where it happened.
  ///   - underlying: What it came from.
  public init(
    _ code: Code, _ message: String, context: [String: String] = [:], underlying: (any Error)? = nil
  ) {
    self.code = code
    self.message = message
    self.context = context
    self.underlying = underlying
  }
}

extension DunlinError: CustomStringConvertible, LocalizedError {
  public var description: String {
    // The call that failed is for those who look into the error; to readers of a log it says nothing. The excerpt has two
    // lines, and an error is one.
    let place = context.filter { !["operation", "returned", "excerpt"].contains($0.key) }
      .sorted { $0.key < $1.key }.map { "\($0.key): \($0.value)" }.joined(separator: ", ")
    return PlainText.of(place.isEmpty ? "\(message) (\(code))" : "\(message) (\(code); \(place))")
  }

  public var errorDescription: String? { message }
}

extension DunlinError.Code {
  // MARK: Opening and the store

  /// Another process, or this one, has the database open.
  public static let alreadyOpen = Self(rawValue: "alreadyOpen")
  /// There is nothing at the path.
  public static let notFound = Self(rawValue: "notFound")
  /// The file system refuses access.
  public static let permission = Self(rawValue: "permission")
  /// A newer release wrote the database.
  public static let unsupportedVersion = Self(rawValue: "unsupportedVersion")
  /// What is on disk is damaged.
  public static let corrupt = Self(rawValue: "corrupt")
  /// Reading or writing the disk failed.
  public static let io = Self(rawValue: "io")
  /// The disk, or the address space reserved for the database, is full.
  public static let full = Self(rawValue: "full")
  /// An earlier write failed, so no write is taken until the database is opened anew.
  public static let poisoned = Self(rawValue: "poisoned")
  /// The database, the transaction or the connection is closed.
  public static let closed = Self(rawValue: "closed")
  /// The process is a fork of the one that opened the database.
  public static let forked = Self(rawValue: "forked")
  /// There is something already where something new was to be made.
  public static let exists = Self(rawValue: "exists")
  /// The process or the system has as many files, sockets and the like open as it may have.
  public static let tooManyFiles = Self(rawValue: "tooManyFiles")
  /// The process cannot have the memory, the address space or the threads that it needs.
  public static let noMemory = Self(rawValue: "noMemory")
  /// Too many read transactions are open.
  public static let tooManyReaders = Self(rawValue: "tooManyReaders")

  // MARK: Transactions

  /// A write was started inside a write transaction or an update closure of the same database.
  public static let nestedWriteTransaction = Self(rawValue: "nestedWriteTransaction")
  /// A blocking write in a task waited a second for an asynchronous transaction to end, and gave up so that the
  /// transaction's task can go on; the message names the form that is awaited instead.
  public static let wouldBlock = Self(rawValue: "wouldBlock")
  /// A statement or a call in a read-only transaction writes.
  public static let readOnlyTransaction = Self(rawValue: "readOnlyTransaction")
  /// One document was removed and upserted in one transaction.
  public static let removedInTransaction = Self(rawValue: "removedInTransaction")
  /// A transaction wrote while one of its own reads was under way.
  public static let writeInsideRead = Self(rawValue: "writeInsideRead")
  /// One transaction touches more than the store can hold.
  public static let transactionTooLarge = Self(rawValue: "transactionTooLarge")
  /// An asynchronous transaction was idle for too long and was rolled back, or a snapshot was read for too long.
  public static let deadline = Self(rawValue: "deadline")

  // MARK: Documents and values

  /// A collection's name is empty, too long, or reserved for the system.
  public static let invalidCollectionName = Self(rawValue: "invalidCollectionName")
  /// An id that is null, a floating-point number, too long, or to be changed.
  public static let invalidDocumentID = Self(rawValue: "invalidDocumentID")
  /// A value of a type that documents do not hold.
  public static let unsupportedValue = Self(rawValue: "unsupportedValue")
  /// A document cannot be turned into the type asked for.
  public static let decoding = Self(rawValue: "decoding")
  /// A path that cannot be written to.
  public static let invalidPath = Self(rawValue: "invalidPath")
  /// What was to be incremented is no counter.
  public static let notACounter = Self(rawValue: "notACounter")
  /// A plain number was to be set where a counter stands: restart the counter, or replace it.
  public static let isACounter = Self(rawValue: "isACounter")
  /// The document has been written by as many sites as there may be, and this one would be one more.
  public static let tooManySites = Self(rawValue: "tooManySites")
  /// A map of a document would have more than 10,000 keys.
  public static let tooManyKeys = Self(rawValue: "tooManyKeys")
  /// A document is larger or nested deeper than the store takes, or a query asks for too much.
  public static let limit = Self(rawValue: "limit")

  // MARK: Queries

  /// The text is not a query of its language.
  public static let syntax = Self(rawValue: "syntax")
  /// The query asks for what this engine does not do.
  public static let unsupported = Self(rawValue: "unsupported")
  /// No function has this name.
  public static let unknownFunction = Self(rawValue: "unknownFunction")
  /// No system parameter has this name.
  public static let unknownParameter = Self(rawValue: "unknownParameter")
  /// An argument is missing, or its value does not fit where it is used.
  public static let argument = Self(rawValue: "argument")
  /// A document with this id exists, and the statement says that this is a failure.
  public static let conflict = Self(rawValue: "conflict")
  /// The query failed while it ran.
  public static let runtime = Self(rawValue: "runtime")

  // MARK: Indexes

  /// The collection has an index of that name already.
  public static let indexExists = Self(rawValue: "indexExists")
  /// There is no such index.
  public static let indexNotFound = Self(rawValue: "indexNotFound")
  /// An index is still being built.
  public static let indexNotReady = Self(rawValue: "indexNotReady")
  /// An index has no name or no fields, or fields that cannot be indexed.
  public static let invalidIndex = Self(rawValue: "invalidIndex")

  // MARK: Sync

  /// A key or a certificate is not right, has ended, or does not prove what it must.
  public static let identity = Self(rawValue: "identity")
  /// Sync is not started.
  public static let notSyncing = Self(rawValue: "notSyncing")
  /// The login service refuses the token: the application has to get another one.
  public static let authentication = Self(rawValue: "authentication")
  /// A service says that it cannot do its work now; the same call may well succeed later.
  public static let unavailable = Self(rawValue: "unavailable")
  /// Something else listens on the port already.
  public static let portInUse = Self(rawValue: "portInUse")
  /// An address does not name a host, there is no way to it, or nobody listens there.
  public static let unreachable = Self(rawValue: "unreachable")
  /// The other peer said nothing in time, or what was waited for has not come in time.
  public static let timeout = Self(rawValue: "timeout")
  /// The two peers have no protocol version in common, belong to different applications, or are copies.
  public static let incompatiblePeer = Self(rawValue: "incompatiblePeer")
  /// The other peer runs no statements for others.
  public static let denied = Self(rawValue: "denied")
  /// What a peer sent is not allowed by the protocol.
  public static let malformed = Self(rawValue: "malformed")
  /// The task, or the subscription that is waited for, was cancelled.
  public static let cancelled = Self(rawValue: "cancelled")
  /// A failure that has no code of its own.
  public static let other = Self(rawValue: "other")
}
