import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// Copies and backups of a store's files, however they are made, become sites of their own.
@Suite struct InstanceTests {
  private let directory: TemporaryDirectory
  private let path: String

  init() throws {
    directory = try TemporaryDirectory()
    path = directory.file("db")
  }

  private func open(_ path: String? = nil) throws -> Store {
    try Store.open(at: path ?? self.path, options: StoreOptions(log: { _, _ in }))
  }

  /// Opens the store, hands it to `body`, and closes it.
  @discardableResult
  private func session<R>(at path: String? = nil, _ body: (Store) throws -> R) throws -> R {
    let store = try open(path)
    defer { store.close() }
    return try body(store)
  }

  private func site() throws -> SiteID { try session { $0.site } }

  private func contents(_ name: String) throws -> Data {
    try Data(contentsOf: URL(fileURLWithPath: path + "/" + name))
  }

  /// Writes over a file in place: it stays the file it is.
  private func overwrite(_ name: String, _ data: Data) throws {
    let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path + "/" + name))
    try handle.truncate(atOffset: 0)
    try handle.write(contentsOf: data)
    try handle.close()
  }

  @Test func `a store that is left alone stays the site it is, through sessions that write and that read`()
    throws
  {
    let first = try session { store in
      #expect(store.identityChange == nil)
      return (store.site, store.epoch)
    }
    for round in 0..<6 {
      try session { store in
        expectEqual(store.site, first.0)
        expectEqual(store.epoch, first.1)
        expect(store.identityChange == nil)
        if round % 2 == 0 { try store.put("\(round)", ["n": .int(1)]) }
      }
    }
  }

  @Test func `a session that only reads changes no file`() throws {
    try session { try $0.put("a", [:]) }
    let before = (try contents("data.mdb"), try contents("instance"))
    let count = try session { try $0.count(in: "cars") }
    #expect(count == 1)
    #expect(try contents("data.mdb") == before.0)
    #expect(try contents("instance") == before.1)
  }

  @Test func `moving the directory changes nothing`() throws {
    let before = try session {
      try $0.put("a", [:]); return $0.site
    }
    let elsewhere = directory.file("moved")
    try FileManager.default.moveItem(atPath: path, toPath: elsewhere)
    try session(at: elsewhere) { store in
      #expect(store.site == before)
      #expect(store.identityChange == nil)
    }
  }

  @Test func `a copied directory is a new site with a new log, and the original stays what it was`() throws {
    let (site, epoch) = try session { store in
      try store.put("a", ["n": .int(1)])
      return (store.site, store.epoch)
    }
    let copy = directory.file("copy")
    try FileManager.default.copyItem(atPath: path, toPath: copy)
    let log = LogLines()
    let options = StoreOptions(log: { log.append($0, $1) })
    let clone = try Store.open(at: copy, options: options)
    #expect(clone.site != site)
    #expect(clone.epoch != epoch)
    #expect(clone.identityChange == IdentityChange(reason: .copied, previousSite: site))
    #expect(log.all.contains { $0.0 == .warning && $0.1.contains("\(site)") })
    #expect(try clone.fields("a", in: "cars") == ["n": .int(1)])
    let newSite = clone.site
    clone.close()
    try session(at: copy) { store in
      #expect(store.site == newSite)
      #expect(store.identityChange == nil)
    }
    #expect(try self.site() == site)
  }

  @Test func `data put back from an earlier session is a new site, also when it is written over in place`()
    throws
  {
    let first = try session {
      try $0.put("a", ["n": .int(1)]); return $0.site
    }
    let backup = try contents("data.mdb")
    try session { try $0.put("a", ["n": .int(2)]) }
    try overwrite("data.mdb", backup)
    try session { store throws in
      #expect(store.site != first)
      #expect(store.identityChange?.reason == .restored)
      #expect(try store.fields("a", in: "cars") == ["n": .int(1)])
    }
  }

  @Test func `data put back from before the last commits of the same session is a new site`() throws {
    let store = try open()
    try store.put("a", ["n": .int(1)])
    // Nothing is written meanwhile, so the file can be copied whole.
    let backup = try contents("data.mdb")
    try store.put("a", ["n": .int(2)])
    let first = store.site
    store.close()
    try overwrite("data.mdb", backup)
    try session { store in
      #expect(store.site != first)
      #expect(store.identityChange?.reason == .restored)
    }
  }

  @Test func `data and side file put back together, in place, are a new site`() throws {
    let first = try session {
      try $0.put("a", ["n": .int(1)]); return $0.site
    }
    let backup = (try contents("data.mdb"), try contents("instance"))
    try session { try $0.put("a", ["n": .int(2)]) }
    try overwrite("data.mdb", backup.0)
    try overwrite("instance", backup.1)
    try session { store in
      #expect(store.site != first)
      #expect(store.identityChange != nil)
    }
  }

  @Test(arguments: ["gone", "empty", "torn", "flipped", "longer", "link"])
  func `a side file that is missing or damaged means a new site, once`(how: String) throws {
    let first = try session {
      try $0.put("a", [:]); return $0.site
    }
    let file = path + "/instance"
    let whole = try contents("instance")
    switch how {
    case "gone": try FileManager.default.removeItem(atPath: file)
    case "empty": try overwrite("instance", Data())
    case "torn": try overwrite("instance", whole.prefix(60))
    case "longer": try overwrite("instance", whole + Data([0]))
    case "link":
      try FileManager.default.moveItem(atPath: file, toPath: path + "/other")
      try FileManager.default.createSymbolicLink(atPath: file, withDestinationPath: path + "/other")
    default:
      var flipped = whole
      flipped[20] ^= 4
      try overwrite("instance", flipped)
    }
    let second = try session { store in
      #expect(store.identityChange == IdentityChange(reason: .sideFileMissing, previousSite: first))
      return store.site
    }
    #expect(second != first)
    #expect(try site() == second)
  }

  @Test func `a new site goes on with the clock and the sequence, and old entries keep their site`() throws {
    let (old, receipt) = try session { store in (store.site, try store.put("a", ["n": .int(1)])) }
    try FileManager.default.removeItem(atPath: path + "/instance")
    try session { store in
      #expect(try store.read { ($0.sequence, $0.commitID) } == (receipt.sequence, receipt.id))
      #expect(try store.put("b", [:]).sequence == receipt.sequence + 1)
      try store.read { tx in
        let cars = try #require(try tx.collection("cars"))
        let sites = tx.sites
        let writers = try ["a", "b"].map { id in
          try tx.withRecord(cars, DocumentID(id)) { record, _ in
            try record.vector(sites: sites).elements.map(\.writer.site)
          }
        }
        #expect(writers == [[old], [store.site]])
      }
    }
  }
}
