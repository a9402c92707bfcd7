import Dispatch
import DunlinKit
import Foundation
import Logging
import Synchronization
import TestKit
import Testing

/// One peer on a directory of its own, quiet in the log.
struct Peer {
  let dunlin: Dunlin
  private let directory: TemporaryDirectory

  init(_ name: String = "tablet", kind: DunlinPeerKind = .small) throws {
    directory = try TemporaryDirectory()
    dunlin = try Dunlin(
      path: directory.file("db"), identity: .unsafeDevelopment(appID: "guides"),
      configuration: DunlinConfiguration(peerKind: kind, peerName: name, logger: .quiet))
  }

  /// Listens on a free port and lets `other` connect to it, with sync started at both.
  func connect(to other: Peer) throws {
    try other.dunlin.listen()
    try other.dunlin.startSync()
    let port = try #require(other.dunlin.listeningPorts.first)
    dunlin.connect(host: "127.0.0.1", port: port)
    try dunlin.startSync()
  }

  /// Waits until the documents of a collection satisfy `condition`, and returns their ids.
  @discardableResult
  func wait(
    for collection: String, until condition: ([DunlinQueryResultItem]) -> Bool
  ) async throws -> [DunlinDocumentID] {
    for await diff in try dunlin.store.changes(of: "SELECT * FROM \(collection)") where condition(diff.items)
    {
      return diff.items.compactMap(\.id)
    }
    return []
  }
}

extension Logger {
  /// A logger that says nothing.
  static var quiet: Logger { Logger(label: "test") { _ in SwiftLogNoOpLogHandler() } }
}

/// What stood in a handler's arguments, as values that can leave it.
struct Seen: Sendable, Equatable {
  var ids: [DunlinDocumentID]
  var isInitial: Bool
  var insertions: [Int] = []
  var deletions: [Int] = []
  var updates: [Int] = []

  init(_ docs: [DunlinDocument], _ event: DunlinLiveQueryEvent) {
    ids = docs.map(\.id)
    isInitial = event.isInitial
    if case .update(let update) = event {
      insertions = update.insertions
      deletions = update.deletions
      updates = update.updates
    }
  }

  init(_ ids: [DunlinDocumentID], initial: Bool = false) {
    self.ids = ids
    isInitial = initial
  }
}
