import CRDTCore
import DocStore
import Foundation

extension SimPeer {
  /// Forgets deletions as if their time had come.
  func collect() throws {
    guard isRunning, let store else { return }
    let lifetime = store.tombstoneLifetime
    defer { store.tombstoneLifetime = lifetime }
    store.tombstoneLifetime = .zero
    try store.collect()
    world.reach(.forgotten)
    try distribute()
    forgotten.formUnion(try world.oracles.collected(self, store))
  }

  func makeIndex(_ collection: Int) throws {
    guard isRunning, let store else { return }
    do {
      world.reach(.indexed)
      try store.createIndex(
        IndexDefinition(name: "i\(collection)", collection: "c\(collection)", fields: [IndexField(["n"])]))
    } catch let error as StoreError where error.code == .indexExists {
    } catch let error as StoreError where error.code == .corrupt && !rotten.isEmpty {
    }
    try distribute()
  }

  /// Changes a letter in each record of a collection, beneath the store.
  func rot(_ collection: Int) throws {
    guard isRunning else { return }
    let handle = try FileHandle(forUpdating: URL(fileURLWithPath: "\(files)/data.mdb"))
    defer { try? handle.close() }
    let data = try Data(contentsOf: URL(fileURLWithPath: "\(files)/data.mdb"))
    var place = data.startIndex
    while let found = data.range(of: Data("~by\(collection)~".utf8), in: place..<data.endIndex) {
      try handle.seek(toOffset: UInt64(found.lowerBound + 2))
      try handle.write(contentsOf: Data("Y".utf8))
      place = found.upperBound
    }
    rotten.insert(collection)
    stopObserving()
    world.reach(.rotted)
  }

  /// Puts a copy of the files aside.
  func backUp() throws {
    guard isRunning else { return }
    try? FileManager.default.removeItem(atPath: backup)
    try FileManager.default.copyItem(atPath: files, toPath: backup)
    backedUpAt = world.ledger.firstOpen(of: number)
  }

  /// Ends the process and starts it again with the files that were put aside.
  func restore(inPlace: Bool, unnoticed: Bool) throws {
    guard let site = store?.site, let place = backedUpAt else { return }
    try die()
    let manager = FileManager.default
    if inPlace {
      // With its side file put back, too, a store has no way to tell; nor have those who meet it.
      for name in try manager.contentsOfDirectory(atPath: backup).sorted() where name != "instance" {
        let old = try Data(contentsOf: URL(fileURLWithPath: "\(backup)/\(name)"))
        try old.write(to: URL(fileURLWithPath: "\(files)/\(name)"))
      }
    } else {
      try manager.removeItem(atPath: files)
      try manager.copyItem(atPath: backup, toPath: files)
    }
    world.reach(.restored)
    world.ledger.doubt(number, since: place)
    world.oracles.replaced(self)
    trustsCopies = unnoticed
    world.oracles.areCopiesUnnoticed = world.oracles.areCopiesUnnoticed || unnoticed
    try start()
    // Files of a process that was killed, put back to a moment of its own life, are like those it left.
    if store?.site == site { world.oracles.areCopiesUnnoticed = true }
  }

  /// Takes a new site, since another store writes as the same one.
  func renewSite() throws {
    guard isRunning, let store else { return }
    try store.renewSite(.cloned)
    world.narrate("\(name) goes on as \(store.site)")
    for driver in drivers { driver.close() }
    try distribute()
  }

  /// Starts as a copy of another peer's files, as they are.
  func start(asCopyOf source: SimPeer, unnoticed: Bool) throws {
    guard store == nil, starts == 0, source.starts > 0 else { return }
    try FileManager.default.createDirectory(
      atPath: URL(fileURLWithPath: files).deletingLastPathComponent().path, withIntermediateDirectories: true)
    try FileManager.default.copyItem(atPath: source.files, toPath: files)
    trustsCopies = unnoticed
    world.oracles.areCopiesUnnoticed = world.oracles.areCopiesUnnoticed || unnoticed
    try start()
    world.reach(.copied)
    for link in world.links where link.a === self || link.b === self { link.dialSoon() }
  }
}
