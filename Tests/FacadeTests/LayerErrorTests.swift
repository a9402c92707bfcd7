import CRDTCore
import DocStore
import Facade
import Platform
import QueryEngine
import ScopePolicy
import SyncProtocol
import TestKit
import Testing
import Transports

/// Every code of every layer, and the public error that it becomes.
@Suite struct LayerErrorTests {
  /// Checks the public error for an error of a layer.
  private func expect(
    _ error: any Error, _ code: String, _ context: [String: String] = [:], message: String = "m"
  ) throws {
    let translated = try #require(DunlinError.translating(error) as? DunlinError, "\(error)")
    expectEqual(translated.code.rawValue, code, "\(error)")
    expectEqual(translated.context, context, "\(error)")
    expectEqual(translated.message, message, "\(error)")
    expectEqual(translated.underlying.map { "\($0)" }, "\(error)", "\(error)")
    expectEqual("\(DunlinError(any: error))", "\(translated)", "\(error)")
  }

  @Test func `a code of the store keeps its name`() throws {
    let codes: [StoreError.Code] = [
      .alreadyOpen, .notFound, .permission, .readOnlyStore, .io, .full, .transactionTooLarge, .corrupt,
      .poisoned,
      .nestedWriteTransaction, .closed, .unsupportedVersion, .invalidCollectionName, .document,
      .removedInTransaction, .writeInsideRead, .deadline, .wouldBlock, .argument, .tooManyFiles, .noMemory,
      .exists, .forked, .tooManyReaders, .indexExists, .indexNotFound, .indexNotReady, .invalidIndex, .limit,
      StoreError.Code(rawValue: "of a later release"),
    ]
    for code in codes {
      try expect(StoreError(code, "m", operation: "o"), code.rawValue, ["operation": "o"])
    }
    try expect(
      StoreError(.io, "m", operation: "o", underlying: 5), "io", ["operation": "o", "returned": "5"])
  }

  private static let documentCodes: [(DocumentError.Code, String)] = [
    (.invalidID, "invalidDocumentID"), (.depth, "limit"), (.size, "limit"), (.invalidPath, "invalidPath"),
    (.notACounter, "notACounter"), (.isACounter, "isACounter"), (.notFound, "notFound"),
    (.corrupt, "corrupt"), (.tooManySites, "tooManySites"), (.tooManyKeys, "tooManyKeys"),
    (.tooLarge, "limit"),
  ]

  @Test(arguments: documentCodes)
  func `an error of a document names the path`(code: DocumentError.Code, expected: String) throws {
    try expect(DocumentError(code, "m"), expected)
    try expect(DocumentError(code, "m", path: ["a", "b"]), expected, ["path": "a.b"])
  }

  @Test(arguments: documentCodes)
  func `an error of a document that the store passes on is one of the document`(
    code: DocumentError.Code, expected: String
  ) throws {
    let document = DocumentError(code, "m", path: ["a"])
    let error = StoreError(.document, "other", operation: "o", underlying: 5, document: document)
    let translated = try #require(DunlinError.translating(error) as? DunlinError)
    #expect(translated.code.rawValue == expected)
    #expect(translated.message == "m")
    #expect(translated.context == ["operation": "o", "path": "a"])
    #expect(translated.underlying as? DocumentError == document)
  }

  @Test func `a code of a query keeps its name, and its place is in the message`() throws {
    let codes: [QueryError.Code] = [
      .syntax, .unsupported, .unknownFunction, .unknownParameter, .argument, .limit, .conflict, .timeout,
      .cancelled, .runtime, QueryError.Code(rawValue: "of a later release"),
    ]
    for code in codes { try expect(QueryError(code, "m"), code.rawValue) }
    let position = QueryError.Position(offset: 9, line: 2, column: 4)
    try expect(
      QueryError(.syntax, "m", position: position, found: "x", expected: ["a", "b"], excerpt: "x\n^"),
      "syntax", ["line": "2", "column": "4", "expected": "a, b", "excerpt": "x\n^"],
      message: "m (line 2, column 4)")
  }

  @Test(
    arguments: [
      (.truncated, "corrupt"), (.malformed, "corrupt"), (.checksum, "corrupt"), (.unknownName, "corrupt"),
      (.unsupportedVersion, "unsupportedVersion"), (.limit, "limit"),
    ] as [(CodecError.Code, String)])
  func `an error of a format names the byte`(code: CodecError.Code, expected: String) throws {
    try expect(CodecError(code, "m", at: 7), expected, ["byte": "7"])
    try expect(CodecError(code, "m"), expected, ["byte": "0"])
  }

  @Test func `a failed session has the code for what a user can do`() throws {
    let codes: [(SyncError.Code, String)] = [
      (.truncated, "malformed"), (.malformed, "malformed"), (.checksum, "malformed"),
      (.outOfOrder, "malformed"), (.limit, "limit"), (.versionMismatch, "incompatiblePeer"),
      (.appMismatch, "incompatiblePeer"), (.kindMismatch, "identity"),
      (.siteClash, "incompatiblePeer"), (.cloned, "incompatiblePeer"),
      (.keyClash, "incompatiblePeer"), (.full, "other"), (.denied, "other"), (.timeout, "timeout"),
      (.peerClosed, "closed"), (.storage, "io"), (.closed, "closed"),
      (SyncError.Code(rawValue: "of a later release"), "other"),
    ]
    for (code, expected) in codes { try expect(SyncError(code, "m", offset: 3), expected) }
  }

  @Test func `a code of another peer's answer keeps its name`() throws {
    let codes: [RemoteQueryError.Code] = [
      .denied, .limit, .timeout, .unsupported, .cancelled, .storage, .closed,
      RemoteQueryError.Code(rawValue: "of a later release"),
    ]
    for code in codes { try expect(RemoteQueryError(code, "m"), code.rawValue) }
    try expect(RemoteQueryError(.storage, "m"), "io")
  }

  @Test func `an error of scopes names the collection`() throws {
    try expect(
      ScopeError(.collectionName, "m", collection: "c"), "invalidCollectionName", ["collection": "c"])
    try expect(ScopeError(.unknownScope, "m"), "argument")
    try expect(ScopeError(.malformed, "m"), "argument")
  }

  @Test func `an error of access rules names the place and the line`() throws {
    for code in RulesError.Code.allCases {
      let expected: [RulesError.Code: String] = [.collectionName: "invalidCollectionName", .limit: "limit"]
      try expect(RulesError(code, "m"), expected[code] ?? "argument")
    }
    try expect(
      RulesError(.malformed, "m", at: "read.all", line: 3, collection: "c"), "argument",
      ["path": "read.all", "line": "3", "collection": "c"], message: "read.all: m")
  }

  @Test func `a failed link has the code for what a user can do`() throws {
    let codes: [(LinkError.Code, String)] = [
      (.closed, "closed"), (.cancelled, "cancelled"), (.disconnected, "closed"), (.refused, "unreachable"),
      (.unreachable, "unreachable"), (.timedOut, "timeout"), (.portInUse, "portInUse"),
      (.permissionDenied, "permission"), (.untrusted, "identity"), (.malformed, "malformed"),
      (.expired, "identity"), (.revoked, "identity"), (.credentials, "identity"), (.limit, "limit"),
      (.system, "io"),
    ]
    for (code, expected) in codes { try expect(LinkError(code, "m"), expected) }
    try expect(LinkError(.system, "m", underlying: EMFILE), "tooManyFiles")
    try expect(LinkError(.system, "m", underlying: ENFILE), "tooManyFiles")
    try expect(LinkError(.system, "m", underlying: EROFS), "readOnlyStore")
    try expect(LinkError(.system, "m", underlying: EIO), "io")
    try expect(LinkError(.refused, "m", underlying: EMFILE), "unreachable")
  }

  #if TLS
    @Test(
      arguments: [
        (.argument, "argument"), (.refused, "authentication"), (.unreachable, "unreachable"),
        (.timedOut, "timeout"), (.unavailable, "unavailable"), (.untrusted, "identity"),
        (.answer, "identity"), (.certificate, "identity"), (.cancelled, "cancelled"),
      ] as [(LoginError.Code, String)])
    func `a failed login says how long to wait`(code: LoginError.Code, expected: String) throws {
      try expect(LoginError(code, "m"), expected)
      try expect(LoginError(code, "m", retryAfter: .seconds(90)), expected, ["retryAfter": "90"])
    }
  #endif

  @Test func `errors of nobody's layer stay as they are`() throws {
    struct Stop: Error {}
    #expect(DunlinError.translating(Stop()) is Stop)
    #expect(DunlinError.translating(CancellationError()) is CancellationError)
    let json = JSONError(.syntax, "m", at: 1)
    #expect(DunlinError.translating(json) as? JSONError == json)
    let known = try #require(DunlinError.translating(DunlinError(.full, "m")) as? DunlinError)
    #expect(known.code == .full && known.message == "m" && known.underlying == nil)
    #expect(DunlinError(any: Stop()).code == .other)
    #expect(DunlinError(any: Stop()).message == "an error of the type Stop")
    #expect(DunlinError(any: CancellationError()).code == .cancelled)
    #expect(DunlinError(any: CancellationError()).message == "the task was cancelled")
  }
}
