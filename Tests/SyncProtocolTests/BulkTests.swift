import CRDTCore
import DocStore
import SyncProtocol
import TestKit
import Testing

/// Of several peers that have the missing data, one sends it, and another one takes over if that one fails.
@Suite struct BulkTests {
  /// Peers that hold the same, and one that holds nothing.
  private struct Setting {
    let timed: TimedNetwork
    let full: [TestPeer]
    let empty: TestPeer
    let count: Int

    init(seed: UInt64, peers: Int = 5, count: Int = 1_200, slow: Bool = false) throws {
      timed = TimedNetwork(seed: seed)
      if slow { timed.network.configure = { $0.initialWindowBytes = 8 << 10 } }
      full = try (0..<peers).map { [timed] in try timed.network.addPeer("full\($0)") }
      empty = try timed.network.addPeer("empty")
      self.count = count
      var random = SeededGenerator(seed: seed)
      for start in stride(from: 0, to: count, by: 3) {
        try full[0].write { transaction in
          for index in start..<min(start + 3, count) {
            let letters = (0..<120).map { _ in Character(UnicodeScalar(UInt8(97 + random.int(below: 26)))) }
            try transaction.upsert(
              ["text": .string(String(letters))], id: try DocumentID("d\(index)"), into: "things")
          }
        }
      }
      for peer in full { try peer.subscribe("SELECT * FROM things") }
      for peer in full.dropFirst() {
        let link = try timed.connect(full[0], peer, roundTrip: .milliseconds(1))
        try timed.run(for: .seconds(2))
        try #require(try peer.documents().count == count)
        timed.cut(link)
      }
      try empty.subscribe("SELECT * FROM things")
    }

    /// The ends at the empty peer.
    func connectAll(_ random: inout SeededGenerator) throws -> [Endpoint] {
      try full.map {
        try timed.connect(empty, $0, roundTrip: .milliseconds(1 + random.int(below: 50)))
      }
    }

    func received(_ ends: [Endpoint]) -> (documents: Int, known: Int, groups: Int) {
      let figures = ends.map(\.session.statistics)
      return (
        figures.reduce(0) { $0 + Int($1.documentsReceived) },
        figures.reduce(0) { $0 + Int($1.transactionsKnown) },
        figures.reduce(0) { $0 + Int($1.transactionsReceived) }
      )
    }
  }

  @Test(arguments: 1...3 as ClosedRange<UInt64>)
  func `a first sync from five peers comes once`(seed: UInt64) throws {
    let setting = try Setting(seed: seed)
    var random = SeededGenerator(seed: seed)
    let ends = try setting.connectAll(&random)
    try setting.timed.run(for: .seconds(20))
    #expect(try setting.empty.documents().count == setting.count)
    #expect(ends.allSatisfy { $0.closed == nil && $0.caughtUp != nil })
    let (documents, known, groups) = setting.received(ends)
    #expect(documents * 20 <= setting.count * 21, "\(documents) of \(setting.count)")
    #expect(known * 20 <= groups, "\(known) of \(groups)")
    #expect(try setting.timed.network.debts().map(\.description) == [])
  }

  @Test(arguments: [false, true])
  func `another peer takes over from one that goes, or goes silent`(isSilent: Bool) throws {
    let setting = try Setting(seed: 7, slow: true)
    var random = SeededGenerator(seed: 7)
    let ends = try setting.connectAll(&random)
    // Until one of them has brought a part.
    for _ in 0..<2_000 {
      if try setting.empty.documents().count > setting.count / 10 { break }
      try setting.timed.run(for: .milliseconds(2))
    }
    let part = try setting.empty.documents().count
    #expect(part > 0 && part < setting.count, "\(part)")
    let chosen = try #require(
      ends.max { $0.session.statistics.documentsReceived < $1.session.statistics.documentsReceived })
    if isSilent {
      try #require(chosen.other).bytesUntilCut = 0
    } else {
      setting.timed.cut(chosen)
    }
    try setting.timed.run(for: isSilent ? .seconds(12) : .seconds(3))
    #expect(try setting.empty.documents().count == setting.count)
    let rest = ends.filter { $0 !== chosen }
    #expect(rest.allSatisfy { $0.closed == nil && $0.caughtUp != nil })
    let (documents, _, _) = setting.received(ends)
    #expect(documents * 4 <= setting.count * 5, "\(documents) of \(setting.count)")
  }

  @Test func `peers that agree, and those that differ in little, wait for nobody`() throws {
    let setting = try Setting(seed: 9)
    var random = SeededGenerator(seed: 9)
    for end in try setting.connectAll(&random) {
      try setting.timed.run(for: .seconds(4))
      setting.timed.cut(end)
    }
    #expect(try setting.empty.documents().count == setting.count)
    for (index, peer) in setting.full.enumerated() {
      try peer.put("new\(index)", ["n": .int(Int64(index))])
    }
    let ends = try setting.connectAll(&random)
    try setting.timed.run(for: .milliseconds(1_500))
    #expect(try setting.empty.documents().count == setting.count + setting.full.count)
    #expect(ends.allSatisfy { $0.caughtUp != nil })
  }
}
