import CRDTCore
import DocStore
import DunlinControl
import DunlinFeed
import Facade
import Foundation
import PeerControl
import SyncProtocol

/// How a command reaches a store: it opens it, or asks the peer that has it open.
enum StoreAccess {
  case own(Store)
  case peer(RunningPeer)

  /// How often a peer is looked for that has the store open and does not answer yet.
  private static let attempts = 20
  private static let attemptInterval = 0.1

  /// Reaches the store in a directory, which must be there.
  ///
  /// - Throws: `ToolError` if there is no store, or if the process that has it open does not answer; what
  ///   opening throws.
  static func open(_ path: String, application: String? = nil) throws -> StoreAccess {
    if let peer = try RunningPeer.of(store: path, application: application) { return .peer(peer) }
    guard application == nil else { throw ToolError("\(path): no server answers in this directory") }
    for attempt in 1... {
      do {
        return .own(try Store.open(reading: path))
      } catch let error as StoreError where error.code == .alreadyOpen {
        // It may have begun, or have come to its end, this moment.
        if let peer = try RunningPeer.of(store: path) { return .peer(peer) }
        guard attempt < attempts else {
          throw ToolError(
            "\(path): the store is open in another process, which answers no commands: 'dunlin serve' does, and an application that calls openControlSocket()"
          )
        }
        Thread.sleep(forTimeInterval: attemptInterval)
      }
    }
    throw ToolError("\(path): the store is open")
  }

  /// Lets go of the store.
  func close() {
    if case .own(let store) = self { store.close() }
  }

  /// The peer that runs.
  ///
  /// - Throws: `ToolError` when there is none, since the command is about one.
  static func peer(of path: String, application: String? = nil) throws -> RunningPeer {
    if let peer = try RunningPeer.of(store: path, application: application) { return peer }
    guard FileManager.default.fileExists(atPath: path + "/data.mdb") else {
      throw ToolError("\(path): there is no store")
    }
    throw ToolError(
      "\(path): no peer answers for this store: 'dunlin serve' does, and an application that calls openControlSocket()"
    )
  }

  // MARK: - What commands ask for

  func statistics() throws -> [TextKey: Value] {
    switch self {
    case .own(let store): try StoreReport.statistics(of: store)
    case .peer(let peer): try peer.ask("statistics")
    }
  }

  /// How far the clock is ahead of the wall clock, which may be declared right.
  func clock(isTrusted: Bool) throws -> [TextKey: Value] {
    switch self {
    case .own(let store): try StoreReport.clock(of: store, isTrusted: isTrusted)
    case .peer(let peer): try peer.ask("clock", ["trust": .bool(isTrusted)])
    }
  }

  func inspect(_ collection: String?, _ document: String?) throws -> [TextKey: Value] {
    switch self {
    case .own(let store): try StoreReport.inspect(store, collection, document)
    case .peer(let peer):
      try peer.ask(
        "inspect",
        [
          "collection": collection.map { .string($0) } ?? .null,
          "document": document.map { .string($0) } ?? .null,
        ])
    }
  }

  /// Removes a document from this store alone.
  func evict(_ document: String, in collection: String) throws {
    switch self {
    case .own(let store):
      let id = try DocumentID(written: document)
      guard try store.write({ try $0.evict(id, in: collection) }).0 else {
        throw try store.read { StoreReport.absence(of: document, in: collection, $0) }
      }
    case .peer(let peer):
      try peer.ask("evict", ["collection": .string(collection), "document": .string(document)])
    }
  }

  /// Adds the store's present state to a series of backups.
  ///
  /// - Returns: The new point, as reports show it.
  func addBackup(
    to series: String, asBase: Bool, progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws -> [TextKey: Value] {
    switch self {
    case .own(let store):
      return try store.backup(
        toSeries: series, asBase: asBase, carrying: Dunlin.carriedFiles, progress: progress
      ).values
    case .peer(let peer):
      // The other process may be in another directory.
      let path = series.isEmpty ? "" : URL(fileURLWithPath: series).path
      return try peer.ask("addBackup", ["series": .string(path), "asBase": .bool(asBase)]) {
        try $0.passProgress { try progress(MaintenanceProgress(done: $0, total: $1)) }
      }
    }
  }

  /// Erases documents here and at every peer.
  ///
  /// - Returns: How many were `found`, and of how many nothing is known here.
  func erase(_ documents: [String], in collection: String) throws -> [TextKey: Value] {
    switch self {
    case .own(let store):
      let ids = try store.read { try StoreReport.erasable(documents, in: collection, $0) }
      // It removes their versions from the history, where the store keeps one.
      let history = try HistoryKeeper(store: store)
      // It removes what is staged of them.
      let sync = SessionShared()
      sync.attach(to: store)
      defer { withExtendedLifetime((history, sync)) {} }
      return try store.write { try StoreReport.erase(ids, in: collection, $0) }.0
    case .peer(let peer):
      return try peer.ask(
        "erase", ["collection": .string(collection), "ids": .array(documents.map { .string($0) })])
    }
  }

  /// Copies the store.
  ///
  /// - Returns: How many documents it has.
  func backup(
    to target: String, progress: @escaping (MaintenanceProgress) throws -> Void
  ) throws -> Int {
    switch self {
    case .own(let store):
      try store.backup(to: target, carrying: Dunlin.carriedFiles, progress: progress)
      return try store.statistics().documentCount
    case .peer(let peer):
      // The other process may be in another directory.
      let path = target.isEmpty ? "" : URL(fileURLWithPath: target).path
      let result = try peer.ask("backup", ["target": .string(path)]) {
        try $0.passProgress { try progress(MaintenanceProgress(done: $0, total: $1)) }
      }
      return result.integer("documents") ?? 0
    }
  }
}
