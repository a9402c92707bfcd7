import CRDTCore
import DocStore
import TestKit

/// A fixed script of transactions that goes on as an application would when one fails.
struct FaultScript {
  let path: String
  let model: Model
  let transactions: Int
  let poisons: Bool
  let shim: Shim
  let fault: Fault
  /// Told of each acknowledged transaction and of what happened.
  let report: (String) -> Void

  private static let attempts = 3
  /// What is done after which transactions.
  private static let chores: [Int: Chores.Kind] = [
    4: .create, 9: .create, 14: .backup, 19: .compact, 24: .collect, 29: .drop, 34: .verify,
  ]

  /// Runs the script; the fault is armed.
  ///
  /// - Throws: When the store answers otherwise than it must.
  func run() throws {
    var store = try openDespiteFault()
    defer { store.close() }
    try insist(&store, "prepare", isApplied: Model.isPrepared, Model.prepare)
    var lane = model.lanes[0]
    for _ in 0..<transactions {
      let operations = lane.next()
      let count = lane.count
      try insist(&store, "transaction \(count)", isApplied: { try Self.progress($0) == count }) { store in
        try store.write { tx in
          for operation in operations { try tx.perform(operation) }
          try SideEntries.write(0, count, in: tx)
        }
      }
      report("a \(count)")
      if let kind = Self.chores[count] { try insist(&store, kind) }
    }
  }

  /// Opens the store; if that fails, opens it once more when the fault is gone.
  private func openDespiteFault() throws -> Store {
    do {
      return try open()
    } catch {
      report("e open \(error.code)")
      shim.disarm()
      return try open()
    }
  }

  private func open() throws(StoreError) -> Store {
    var options = StoreOptions.silent
    options.poisonsAfterFailure = poisons
    return try Store.open(at: path, options: options)
  }

  /// Repeats `work` until it is acknowledged, as an application can.
  ///
  /// It tries again first. Then it opens the store anew and checks whether the work was done although it was
  /// not acknowledged.
  private func insist(
    _ store: inout Store, _ what: String, isApplied: (Store) throws -> Bool, _ work: (Store) throws -> Void
  ) throws {
    var isPoisoned = false
    for attempt in 1...Self.attempts {
      do {
        try work(store)
        guard !isPoisoned else {
          throw Failure(.answer, "\(what) was acknowledged after a write had failed")
        }
        return
      } catch let error as StoreError {
        report("e \(what) \(error.code)")
        try checkReads(store, what)
        switch error.code {
        case .full where !isPoisoned && fault.isFullDisk: break
        case .io where !isPoisoned && attempt == 1: isPoisoned = true
        case .poisoned where isPoisoned: break
        case .io where attempt == 2 && fault.isFullDisk: isPoisoned = true
        default: throw Failure(.answer, "\(what), attempt \(attempt): \(error)")
        }
      }
    }
    shim.disarm()
    if isPoisoned {
      store.close()
      store = try open()
      report("e reopened ok")
      // It is in doubt whether what failed was stored; the application can see for itself.
      if try isApplied(store) { return }
    }
    try work(store)
  }

  /// Does a chore; where it fails it may have ended all writing, and must work when the fault is gone.
  private func insist(_ store: inout Store, _ kind: Chores.Kind) throws {
    func work(_ store: Store) throws {
      var chores = Chores(store: store, report: { _ in }, random: SeededGenerator(seed: 1))
      try chores.perform(kind)
    }
    var isFull = false
    do {
      return try work(store)
    } catch let error as StoreError {
      report("e \(kind) \(error.code)")
      try checkReads(store, kind.rawValue)
      isFull = error.code == .full
    }
    shim.disarm()
    do {
      // A full disk ends nothing.
      if isFull { return try work(store) }
    } catch let error as StoreError where error.code == .poisoned || error.code == .io {
      report("e \(kind) \(error.code)")
    }
    store.close()
    store = try open()
    try work(store)
  }

  /// Reading goes on whatever happened to a write.
  private func checkReads(_ store: Store, _ what: String) throws {
    do {
      _ = try Self.progress(store)
    } catch {
      report("e readsrefused")
    }
  }

  static func progress(_ store: Store) throws -> Int {
    let place = Lane.progressPlace(0)
    let value = try store.read { tx -> Value?? in
      guard let collection = try tx.collection(place.collection) else { return nil }
      return try tx.withRecord(collection, DocumentID(place.id)) { record, _ in
        try record.fields(collection.keys)["n"]
      }
    }
    guard case .int(let count)? = value ?? nil else { return 0 }
    return Int(count)
  }
}
