import CRDTCore
import DocStore
import Synchronization
import TestKit
import Testing

/// Side tables that have a table of the engine's to themselves.
@Suite struct WorkingTableTests {
  private let table = SideTable(working: "staging")
  private let other = SideTable(working: "leaving")

  private func entries(_ table: SideTable, in store: Store) throws -> [[UInt8]: [UInt8]] {
    try store.read { tx in
      var found: [[UInt8]: [UInt8]] = [:]
      try tx.forEachSideEntry(table) { key, value in
        found[key] = value
        return true
      }
      return found
    }
  }

  @Test func `its entries stand alone, under their own keys`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      try tx.setSideValue([1, 2], table, key: [7])
      try tx.setSideValue([3], other, key: [7])
      try tx.setSideValue([4], SideTable("staging"), key: [7])
    }
    #expect(try entries(table, in: fixture.store) == [[7]: [1, 2]])
    #expect(try entries(other, in: fixture.store) == [[7]: [3]])
    let stored = try fixture.store.entries(of: "staging")
    #expect(stored.map(\.key) == [[7]])
    #expect(stored.map { Array($0.value.dropLast(4)) } == [[1, 2]])
    #expect(table.description == "staging")
  }

  @Test func `an empty key is refused, with nothing done, and nothing stands there`() throws {
    let fixture = try StoreFixture()
    let message = try fixture.store.write { tx in
      try tx.setSideValue([1], table, key: [0])
      let error = #expect(throws: StoreError.self) { try tx.setSideValue([1], table, key: []) }
      #expect(error?.code == .limit)
      let value = try tx.sideValue(table, key: [])
      #expect(value == nil)
      return error?.message
    }.0
    #expect(message?.contains("the side table staging is empty") == true)
    #expect(try fixture.store.read { try $0.sideValue(table, key: []) } == nil)
    #expect(try entries(table, in: fixture.store) == [[0]: [1]])
  }

  @Test func `its entries are counted, as those of every side table are`() throws {
    let fixture = try StoreFixture()
    let shared = SideTable("shared")
    #expect(try fixture.store.read { try $0.sideEntryCount(shared) } == 0)
    try fixture.store.write { tx in
      for n in 0..<40 as Range<UInt8> {
        try tx.setSideValue([n], table, key: [n])
        try tx.setSideValue([n], shared, key: [n])
      }
      try tx.setSideValue(nil, table, key: [3])
      try tx.setSideValue(nil, shared, key: [3])
      #expect(try tx.sideEntryCount(table) == 39)
      #expect(try tx.sideEntryCount(shared) == 39)
    }
    #expect(try fixture.store.read { try $0.sideEntryCount(table) } == 39)
    #expect(try fixture.store.read { try $0.sideEntryCount(shared) } == 39)
    #expect(try fixture.store.read { try $0.sideEntryCount(other) } == 0)
  }

  @Test(arguments: [SideTable("shared"), SideTable(working: "staging")])
  func `entries go from one key to another, both included`(_ table: SideTable) throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      try tx.removeSideEntries(table, from: [], through: [255])
      for key in [[1], [2], [2, 0], [2, 9], [3], [3, 0]] as [[UInt8]] {
        try tx.setSideValue(key, table, key: key)
        try tx.setSideValue([0], SideTable("sharee"), key: key)
        try tx.setSideValue([0], other, key: key)
      }
      try tx.removeSideEntries(table, from: [2], through: [3])
    }
    #expect(try entries(table, in: fixture.store) == [[1]: [1], [3, 0]: [3, 0]])
    #expect(try entries(SideTable("sharee"), in: fixture.store).count == 6)
    #expect(try entries(other, in: fixture.store).count == 6)
    try fixture.store.write { tx in
      try tx.removeSideEntries(table, from: [4], through: [3])
      try tx.removeSideEntries(table, from: [], through: [1])
    }
    #expect(try entries(table, in: fixture.store) == [[3, 0]: [3, 0]])
    let long = [UInt8](repeating: 1, count: SideTable.keyBytes + 1)
    #expect(
      code { try fixture.store.write { try $0.removeSideEntries(table, from: [], through: long) } } == .limit)
    #expect(
      code { try fixture.store.write { try $0.removeSideEntries(table, from: long, through: []) } } == .limit)
  }

  @Test(arguments: [SideTable("shared"), SideTable(working: "staging")])
  func `the first bytes of values can be had, and of short ones all`(_ table: SideTable) throws {
    let fixture = try StoreFixture()
    let long = [UInt8](0..<200)
    try fixture.store.write { tx in
      try tx.setSideValue([], table, key: [1])
      try tx.setSideValue([7, 8], table, key: [2])
      try tx.setSideValue(long, table, key: [3])
      try tx.setSideValue([UInt8](repeating: 5, count: 100_000), table, key: [4])
    }
    try fixture.store.read { tx in
      var heads: [[UInt8]] = []
      try tx.forEachSideHead(table, from: [], bytes: 3) { key, head in
        heads.append(key + head)
        return true
      }
      #expect(heads == [[1], [2, 7, 8], [3, 0, 1, 2], [4, 5, 5, 5]])
      heads = []
      try tx.forEachSideHead(table, from: [2], bytes: 1) { key, head in
        heads.append(key + head)
        return key == [2]
      }
      #expect(heads == [[2, 7], [3, 0]])
    }
  }

  @Test func `it may take as many bytes as the options say, and a tenth of what is free`() throws {
    let free = Mutex(1 << 30)
    let fixture = try StoreFixture {
      $0.workingBytes = 200_000
      $0.freeDiskBytes = { free.withLock { $0 } }
    }
    try fixture.store.write { tx in
      #expect(try tx.hasRoom(for: 200_000, in: table))
      #expect(try !tx.hasRoom(for: 200_001, in: table))
      try tx.setSideValue([UInt8](repeating: 1, count: 150_000), table, key: [1])
      #expect(try !tx.hasRoom(for: 50_000, in: table))
      #expect(try tx.hasRoom(for: 30_000, in: table))
      // Another table's pages are its own.
      #expect(try tx.hasRoom(for: 200_000, in: other))
    }
    free.withLock { $0 = 1_000_000 }
    #expect(try fixture.store.write { try $0.hasRoom(for: 100_000, in: other) }.0)
    #expect(try !fixture.store.write { try $0.hasRoom(for: 100_001, in: other) }.0)
  }

  @Test func `backups and compaction take it along, and a rescue leaves it out`() throws {
    let fixture = try StoreFixture()
    try fixture.store.put("a", ["n": .int(1)])
    try fixture.store.write { tx in
      for n in 0..<200 as Range<UInt8> { try tx.setSideValue([n], table, key: [n]) }
    }
    let before = try entries(table, in: fixture.store)
    try fixture.store.compact()
    #expect(try entries(table, in: fixture.store) == before)
    let path = fixture.directory.file("backup")
    try fixture.store.backup(to: path)
    let copy = try Store.open(at: path)
    #expect(try entries(table, in: copy) == before)
    copy.close()
    fixture.store.close()
    let target = fixture.directory.file("rescued")
    let report = try Store.rescue(from: fixture.path, to: target)
    #expect(report.damage.damages == [])
    #expect(report.sideEntryCount == 0)
    let rescued = try Store.open(at: target)
    defer { rescued.close() }
    #expect(try entries(table, in: rescued) == [:])
    #expect(try rescued.count(in: "cars") == 1)
  }

  @Test func `damage is told with the table's name, or counts as nothing where that is asked for`() throws {
    let fixture = try StoreFixture()
    try fixture.store.write { tx in
      try tx.setSideValue(Array("what is damaged".utf8), table, key: [1])
      try tx.setSideValue(Array("what is whole".utf8), table, key: [2])
    }
    try fixture.reopen {
      try FileDamage.replace(
        Array("is damaged".utf8), by: Array("is dam\u{7}ged".utf8), at: fixture.dataPath)
    }
    let store = fixture.store
    let error = #expect(throws: StoreError.self) { try store.read { try $0.sideValue(table, key: [1]) } }
    #expect(error?.code == .corrupt && error?.message.contains("staging") == true)
    #expect(try store.read { try $0.sideValue(table, key: [1], ignoringDamage: true) } == nil)
    #expect(
      try store.read { try $0.sideValue(table, key: [2], ignoringDamage: true) }
        == Array("what is whole".utf8))
    let report = try store.verify()
    #expect(report.damages.map(\.kind) == [.entry])
    #expect(report.damages.first?.message.contains("table staging") == true)
    try store.write { try $0.setSideValue(nil, table, key: [1]) }
    #expect(try store.verify().damages == [])
  }

  @Test func `in the table whose keys are sites, another key is found by verification`() throws {
    let fixture = try StoreFixture()
    let sites = SideTable(working: "cursors")
    try fixture.store.write { tx in
      try tx.setSideValue([], sites, key: [UInt8](repeating: 1, count: 16))
      try tx.setSideValue([], table, key: [1])
    }
    #expect(try fixture.store.verify().damages == [])
    try fixture.store.write { try $0.setSideValue([], sites, key: [1]) }
    let report = try fixture.store.verify()
    #expect(report.damages.map(\.kind) == [.entry])
    #expect(report.damages.first?.message.contains("table cursors") == true)
    try fixture.store.write { tx in
      try tx.setSideValue(nil, sites, key: [1])
      try tx.setSideValue([], sites, key: [UInt8](repeating: 1, count: 17))
    }
    #expect(try fixture.store.verify().damages.count == 1)
  }

  @Test func `a name that the format does not have is no working table`() async {
    await #expect(processExitsWith: .failure) { _ = SideTable(working: "side") }
  }
}
