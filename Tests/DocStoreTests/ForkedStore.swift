import CRDTCore
import CRDTModel
@testable import DocStore
import Foundation
import Synchronization
import TestKit

/// A store in a directory that is copied bit by bit, file numbers included, so that nothing reveals a copy.
struct ForkedStore: ForkedReplica {
  /// What outlives a store's process and is in no image of its disk.
  private final class Machine: Sendable {
    let witness: TemporaryDirectory

    init() throws { witness = try TemporaryDirectory() }
  }

  private final class Disk: Sendable {
    let directory: TemporaryDirectory
    let store = Mutex<Store?>(nil)
    let now = Mutex<UInt64>(0)

    init() throws { directory = try TemporaryDirectory() }

    deinit { store.withLock { $0?.close() } }
  }

  private struct NotOpen: Error {}
  private struct Noticed: Error {
    let change: IdentityChange
  }

  private static let collection = "cars"

  private let machine: Machine
  private let disk: Disk
  private let namesOpenings: Bool
  private let id: DocumentID

  /// Opens the store of a device; unless it `namesOpenings`, all of them write under the names of the first.
  init(_ number: Int, now: UInt64, namesOpenings: Bool) throws {
    machine = try Machine()
    disk = try Disk()
    self.namesOpenings = namesOpenings
    id = try DocumentID("a")
    try open(random: UInt64(number) &* 0xD6E8_FEB8_6659_FD93, now: now)
  }

  private init(_ machine: Machine, _ disk: Disk, namesOpenings: Bool) throws {
    self.machine = machine
    self.disk = disk
    self.namesOpenings = namesOpenings
    id = try DocumentID("a")
  }

  private var store: Store {
    get throws {
      guard let store = disk.store.withLock({ $0 }) else { throw NotOpen() }
      return store
    }
  }

  // MARK: - Openings and images

  /// Opens the store: one that is open ends first, in an orderly way or as its process ends.
  func open(random: UInt64, now: UInt64) throws {
    disk.store.withLock {
      if random & 1 == 0 { $0?.close() } else { $0?.crash() }
      $0 = nil
    }
    disk.now.withLock { $0 = now }
    let generator = Mutex(SeededGenerator(seed: random))
    var options = StoreOptions(
      mapBytes: 1 << 30, now: { [disk] in disk.now.withLock { $0 } },
      random: { generator.withLock { $0.next() } }, log: { _, _ in })
    options.drive = .manual
    options.witnessDirectory = machine.witness.path
    options.namesOpenings = namesOpenings
    let store = try Store.open(at: disk.directory.file("db"), options: options)
    disk.store.withLock { $0 = store }
    // Else it is not about what nothing notices.
    if let change = store.identityChange { throw Noticed(change: change) }
  }

  func copied(elsewhere: Bool) throws -> ForkedStore {
    let copy = try ForkedStore(
      elsewhere ? Machine() : machine, Disk(), namesOpenings: namesOpenings)
    let path = copy.disk.directory.file("db")
    try FileManager.default.copyItem(atPath: disk.directory.file("db"), toPath: path)
    try Self.renumber(path)
    return copy
  }

  /// Makes the file beside the data name the files of the copy.
  ///
  /// This simulates a copy whose files have the same numbers as those of the original.
  private static func renumber(_ path: String) throws {
    let files = StoreFiles(in: try HeldDirectory(path))
    guard case .copy(var file) = try InstanceFile.read(files.instance) else { return }
    file.data = try FileMark(path: files.data)
    try file.replace(files)
  }

  // MARK: - The document

  var site: SiteID { (try? store.site) ?? .zero }

  var fields: [TextKey: Value]? { get throws { try store.fields("a", in: Self.collection) } }

  var vector: VersionVector {
    get throws {
      try withRecord { record, _, tables in try record.vector(sites: tables.sites) } ?? VersionVector()
    }
  }

  var summary: Summary? { get throws { try withRecord { _, summary, _ in summary } } }

  var decodedSummary: Summary? {
    get throws {
      let site = site
      return try withRecord { record, _, tables in
        try DocumentState(record, own: site, tables: tables).summary
      }
    }
  }

  func make(now: UInt64) throws { try write(now) { try $0.upsert([:], id: id, into: Self.collection) } }

  @discardableResult
  func update(_ edits: [Edit], now: UInt64) throws -> Bool {
    try write(now) { try $0.update(id, in: Self.collection, edits) }
  }

  func evict() throws {
    let store = try store
    try store.write {
      if try $0.collection(Self.collection) != nil { try $0.evict(id, in: Self.collection) }
    }
  }

  func wire(lacking base: VersionVector) throws -> [UInt8] {
    try withRecord { record, _, tables in
      var out = ByteWriter()
      try WireDocument.append(record, lacking: base, tables: tables, to: &out)
      return out.bytes
    } ?? []
  }

  func take(_ wire: [UInt8], now: UInt64) throws {
    disk.now.withLock { $0 = now }
    _ = try store.write(origin: .remote(1)) {
      try $0.merge(wire: wire.span.bytes, id: id, in: Self.collection)
    }
  }

  @discardableResult
  private func write<R>(_ now: UInt64, _ body: (WriteTransaction) throws -> R) throws -> R {
    disk.now.withLock { $0 = now }
    return try store.write(body).0
  }

  private func withRecord<R>(
    _ body: (borrowing RecordView, Summary, RecordTables) throws -> R
  ) throws -> R? {
    try store.read { transaction in
      guard let cars = try transaction.collection(Self.collection) else { return nil }
      let tables = RecordTables(keys: cars.keys, sites: transaction.sites)
      return try transaction.withRecord(cars, id) { record, summary in try body(record, summary, tables) }
    }
  }
}
