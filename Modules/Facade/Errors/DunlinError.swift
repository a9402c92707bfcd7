public import CRDTCore
public import Foundation
import Links

/// Why the database has refused or failed an operation; the state from before is kept.
public struct DunlinError: CodedError {
  /// The kind of failure, on which callers can branch.
  public struct Code: RawRepresentable, Hashable, Sendable, CustomStringConvertible {
    public let rawValue: String

    public init(rawValue: String) { self.rawValue = rawValue }

    public var description: String { rawValue }
  }

  public let code: Code
  /// One sentence, in English, without a trailing full stop; never a document's contents.
  public let message: String
  /// Where it happened, by name.
  ///
  /// The names are `database`, `collection`, `document`, `type`, `path`, `row`, `line`, `column`, `expected`,
  /// `excerpt` and `operation`.
  public let context: [String: String]
  /// The error of the layer below, if it caused this one.
  public let underlying: (any Error)?

  /// Makes an error.
  ///
  /// - Parameters:
  ///   - code: The kind of failure.
  ///   - message: One sentence without a full stop and without a document's contents.
  ///   - context: Where it happened.
  ///   - underlying: The error that caused this one.
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
    // The name of the failed call helps those who examine the error, but not readers of a log. The excerpt
    // has two lines, and an error is one line.
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
  /// Nothing exists at the path.
  public static let notFound = Self(rawValue: "notFound")
  /// The file system refuses access.
  public static let permission = Self(rawValue: "permission")
  /// A newer release wrote the database.
  public static let unsupportedVersion = Self(rawValue: "unsupportedVersion")
  /// The data on the disk is damaged.
  public static let corrupt = Self(rawValue: "corrupt")
  /// Reading or writing the disk failed.
  public static let io = Self(rawValue: "io")
  /// The disk, or the address space reserved for the database, is full.
  public static let full = Self(rawValue: "full")
  /// An earlier write failed, so the database refuses writes until it is opened again.
  public static let poisoned = Self(rawValue: "poisoned")
  /// The database, the transaction or the connection is closed.
  public static let closed = Self(rawValue: "closed")
  /// The process is a fork of the one that opened the database.
  public static let forked = Self(rawValue: "forked")
  /// Something exists already where something new was to be created.
  public static let exists = Self(rawValue: "exists")
  /// The process or the system has reached its limit of open files, sockets and the like.
  public static let tooManyFiles = Self(rawValue: "tooManyFiles")
  /// The process cannot get the memory, the address space or the threads that it needs.
  public static let noMemory = Self(rawValue: "noMemory")
  /// Too many read transactions are open.
  public static let tooManyReaders = Self(rawValue: "tooManyReaders")

  // MARK: Transactions

  /// A write was started inside a write transaction or an update closure of the same database.
  public static let nestedWriteTransaction = Self(rawValue: "nestedWriteTransaction")
  /// A blocking write in a task waited one second for an asynchronous transaction, and gave up.
  ///
  /// This lets the transaction's task continue. The message names the form of the call that can be awaited
  /// instead.
  public static let wouldBlock = Self(rawValue: "wouldBlock")
  /// A statement or a call tried to write in a read-only transaction.
  public static let readOnlyTransaction = Self(rawValue: "readOnlyTransaction")
  /// One document was removed and upserted in one transaction.
  public static let removedInTransaction = Self(rawValue: "removedInTransaction")
  /// A transaction wrote while one of its own reads was in progress.
  public static let writeInsideRead = Self(rawValue: "writeInsideRead")
  /// One transaction touches more than the store can hold.
  public static let transactionTooLarge = Self(rawValue: "transactionTooLarge")
  /// An idle asynchronous transaction was rolled back, or a snapshot was read for too long.
  public static let deadline = Self(rawValue: "deadline")

  // MARK: Documents and values

  /// A collection's name is empty, too long, or reserved for the system.
  public static let invalidCollectionName = Self(rawValue: "invalidCollectionName")
  /// An id is null, a floating-point number, or too long, or a write tried to change it.
  public static let invalidDocumentID = Self(rawValue: "invalidDocumentID")
  /// A value has a type that documents cannot hold.
  public static let unsupportedValue = Self(rawValue: "unsupportedValue")
  /// A document cannot be decoded as the requested type.
  public static let decoding = Self(rawValue: "decoding")
  /// A write was addressed to a path that cannot be written to.
  public static let invalidPath = Self(rawValue: "invalidPath")
  /// An increment was addressed to a value other than a counter.
  public static let notACounter = Self(rawValue: "notACounter")
  /// A plain number was written over a counter: restart the counter, or replace it.
  public static let isACounter = Self(rawValue: "isACounter")
  /// As many sites as allowed have written the document, and this site is not among them.
  public static let tooManySites = Self(rawValue: "tooManySites")
  /// A map of a document would get more than 10,000 keys.
  public static let tooManyKeys = Self(rawValue: "tooManyKeys")
  /// A document is larger or nested more deeply than the store allows, or a query needs too much.
  public static let limit = Self(rawValue: "limit")

  // MARK: Queries

  /// The text is not a valid statement of its query language.
  public static let syntax = Self(rawValue: "syntax")
  /// The query uses a feature that this engine does not have.
  public static let unsupported = Self(rawValue: "unsupported")
  /// No function has this name.
  public static let unknownFunction = Self(rawValue: "unknownFunction")
  /// No system parameter has this name.
  public static let unknownParameter = Self(rawValue: "unknownParameter")
  /// An argument is missing, or its value does not fit where it is used.
  public static let argument = Self(rawValue: "argument")
  /// A document with this id exists, and the statement declares that a failure.
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

  /// A key or a certificate is invalid, has expired, or does not prove what it must.
  public static let identity = Self(rawValue: "identity")
  /// Sync is not started.
  public static let notSyncing = Self(rawValue: "notSyncing")
  /// The login service refuses the token: the application has to get another one.
  public static let authentication = Self(rawValue: "authentication")
  /// A service reports that it cannot work now; the same call may succeed later.
  public static let unavailable = Self(rawValue: "unavailable")
  /// Another socket listens on the port already.
  public static let portInUse = Self(rawValue: "portInUse")
  /// An address does not name a host, there is no route to it, or nothing listens there.
  public static let unreachable = Self(rawValue: "unreachable")
  /// The other peer has not answered in time, or an awaited event has not happened in time.
  public static let timeout = Self(rawValue: "timeout")
  /// The two peers share no protocol version, belong to different applications, or are copies.
  public static let incompatiblePeer = Self(rawValue: "incompatiblePeer")
  /// The other peer does not run statements for other peers.
  public static let denied = Self(rawValue: "denied")
  /// A peer has sent something that the protocol does not allow.
  public static let malformed = Self(rawValue: "malformed")
  /// The task was cancelled, or the subscription that it waited for.
  public static let cancelled = Self(rawValue: "cancelled")
  /// A failure that has no code of its own.
  public static let other = Self(rawValue: "other")
}
