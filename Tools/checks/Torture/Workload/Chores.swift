import CRDTCore
import DocStore
import Glibc
import TestKit

/// What is done to a store beside the writing of documents.
struct Chores {
  enum Kind: String, CaseIterable {
    case create, drop, backup, compact, collect, verify
  }

  let store: Store
  /// Told what begins, with a capital X, and what has been done.
  let report: @Sendable (String) -> Void
  var random: SeededGenerator

  static let indexes = [
    IndexDefinition(name: "by-n", collection: "cars", fields: [IndexField(["n"], descending: true)]),
    IndexDefinition(
      name: "by-lane", collection: "boats", fields: [IndexField(["nested", "lane"]), IndexField(["n"])]),
    IndexDefinition(name: "by-text", collection: "peers", fields: [IndexField(["text"])]),
  ]

  static func backup(of path: String) -> String { path + "-backup" }

  /// Does one thing, if there is anything to do.
  mutating func perform(_ kind: Kind) throws {
    switch kind {
    case .create:
      let definition = Self.indexes[random.int(below: Self.indexes.count)]
      guard try !Self.names(store).contains(definition.name) else { return }
      try told("create \(definition.name)") { try store.createIndex(definition) }
    case .drop:
      let definition = Self.indexes[random.int(below: Self.indexes.count)]
      guard try Self.names(store).contains(definition.name) else { return }
      try told("drop \(definition.name)") {
        try store.dropIndex(definition.name, on: definition.collection)
      }
    case .backup:
      let path = Self.backup(of: store.path)
      guard access(path, F_OK) != 0 else { return }
      try told("backup") { try store.backup(to: path) }
    case .compact: try told("compact") { try store.compact() }
    case .collect:
      // Tombstones become certificates, and those are forgotten.
      let lifetimes = (store.tombstoneLifetime, store.certificateLifetime)
      defer { (store.tombstoneLifetime, store.certificateLifetime) = lifetimes }
      store.tombstoneLifetime = .zero
      if random.oneIn(2) { store.certificateLifetime = .zero }
      try told("collect") { try store.collect() }
    case .verify: try StoreCheck.verify(store)
    }
  }

  mutating func performAny() throws { try perform(Kind.allCases[random.int(below: Kind.allCases.count)]) }

  private func told(_ what: String, _ body: () throws -> Void) throws {
    report("X \(what)")
    try body()
    report("x \(what)")
  }

  /// The names of all indexes, also of those that are not ready.
  static func names(_ store: Store) throws -> Set<String> {
    try store.read { tx in
      var names: Set<String> = []
      for definition in indexes {
        guard let collection = try tx.collection(definition.collection) else { continue }
        names.formUnion(try tx.indexes(of: collection).map(\.definition.name))
      }
      return names
    }
  }
}

/// What is known of a store's indexes and of its backup from what was told of the chores.
struct ChoreLedger {
  /// Whether an index is there; one that is missing here may be or not.
  private var indexes: [String: Bool] = [:]
  private var backup = Backup.none

  private enum Backup {
    case none
    /// It may be there, with at least these transactions of each lane.
    case maybe([Int])
    case there([Int])

    var lanes: [Int] {
      switch self {
      case .none: []
      case .maybe(let lanes), .there(let lanes): lanes
      }
    }
  }

  init() { for index in Chores.indexes { indexes[index.name] = false } }

  /// Takes in a line of ``Chores/report``; `acknowledged` is each lane's last transaction at that time.
  mutating func note(_ words: [Substring], acknowledged: [Int]) {
    guard words.count > 1 else { return }
    let isDone = words[0] == "x"
    let name = words.count > 2 ? String(words[2]) : ""
    switch words[1] {
    case "create": indexes[name] = isDone ? true : nil
    case "drop": indexes[name] = isDone ? false : nil
    case "backup": backup = isDone ? .there(backup.lanes) : .maybe(acknowledged)
    case "leave": backup = isDone ? .none : .maybe(backup.lanes)
    default: break
    }
  }

  /// Looks whether what was done has lasted.
  func check(_ store: Store) throws {
    let names = try Chores.names(store)
    for (name, isThere) in indexes where names.contains(name) != isThere {
      throw Failure(.lost, "the index \(name) is \(isThere ? "gone" : "there again")")
    }
  }

  /// Opens the backup, if there is one: it must be whole, and as new as it was when it was begun.
  func checkBackup(of original: Store, _ fresh: Model) throws {
    let place = Chores.backup(of: original.path)
    guard access(place, F_OK) == 0 else {
      if case .there = backup { throw Failure(.lost, "the backup is gone") }
      return
    }
    // Nobody began one, or it was put away.
    guard !backup.lanes.isEmpty else { throw Failure(.torn, "there is a backup that nobody made") }
    var model = fresh
    let store = try Store.open(at: place, options: .silent)
    defer { store.close() }
    guard store.site != original.site else { throw Failure(.answer, "a backup takes itself for the store") }
    _ = try StoreCheck(store, &model, acknowledged: backup.lanes, isLatest: false)
  }

  /// Makes room for another backup, so that it is there or not whenever the process ends.
  static func leaveBackup(of path: String, _ report: (String) -> Void) {
    let place = Chores.backup(of: path)
    Files.removeTree(place + "-old")
    guard access(place, F_OK) == 0 else { return }
    report("X leave")
    rename(place, place + "-old")
    report("x leave")
    Files.removeTree(place + "-old")
  }
}
