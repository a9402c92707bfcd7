import DocStore
import DunlinKit
import Facade
import TestKit
import Testing

/// Values beside the documents, in transactions of applications' kind.
@Suite struct SideValueTests {
  private struct Stop: Error {}

  private let peer: Peer
  private var store: DunlinStore { peer.store }
  private let keys = SideTable("http.keys")

  init() throws { peer = try Peer() }

  private func value(_ key: [UInt8]) throws -> [UInt8]? {
    try store.read { try $0.sideValue(keys, key: key) }
  }

  @Test func `a statement and a value beside the documents take effect together, or neither does`() throws {
    try store.write { tx in
      try tx.execute(query: "INSERT INTO cars DOCUMENTS ({'_id': 'a'})")
      try tx.setSideValue([1], keys, key: [1])
      #expect(try tx.sideValue(keys, key: [1]) == [1])
    }
    #expect(try value([1]) == [1])
    #expect(throws: Stop.self) {
      try store.write { tx in
        try tx.execute(query: "INSERT INTO cars DOCUMENTS ({'_id': 'b'})")
        try tx.setSideValue([2], keys, key: [1])
        throw Stop()
      }
    }
    #expect(try value([1]) == [1])
    #expect(try store["cars"].findAll().count() == 1)
    var found: [[UInt8]] = []
    try store.write { tx in
      try tx.forEachSideEntry(keys) { key, value in
        found += [key, value]
        return true
      }
      try tx.setSideValue(nil, keys, key: [1])
    }
    #expect(found == [[1], [1]])
    try store.read { tx in
      try tx.forEachSideEntry(keys) { _, _ in
        Issue.record("There is an entry")
        return true
      }
    }
  }

  @Test func `a key that is too long is refused by name`() throws {
    let error = #expect(throws: DunlinError.self) {
      try store.write { try $0.setSideValue([], keys, key: Array(repeating: 0, count: 500)) }
    }
    #expect(error?.code == .limit)
    #expect(error?.message.contains("http.keys") == true)
  }
}
