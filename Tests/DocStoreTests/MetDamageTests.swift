import CRDTCore
import DocStore
import Foundation
import TestKit
import Testing

/// Damage to pages that are met while a store is in use.
@Suite struct MetDamageTests {
  /// A store with more leaf pages than are looked at when it is opened.
  private final class LargeStore {
    let fixture: StoreFixture
    let whole: [UInt8]
    let sum: Int64
    static let count = 9_600

    init() throws {
      fixture = try StoreFixture()
      let text = Value.string(String(repeating: "some text ", count: 180))
      var sum: Int64 = 0
      try fixture.store.createIndex(.cars("byN", "n"))
      for start in stride(from: 0, to: Self.count, by: 1_200) {
        try fixture.store.write { tx in
          for n in start..<start + 1_200 {
            try tx.upsert(["n": .int(Int64(n)), "text": text], id: DocumentID("car \(n)"), into: "cars")
          }
        }
      }
      for n in 0..<Self.count { sum += Int64(n) }
      self.sum = sum
      fixture.store.close()
      whole = Array(try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath)))
    }

    /// The pages of leaves, whatever they hold.
    var leaves: [Int] {
      (2..<whole.count / 4_096).filter { whole[$0 * 4_096 + 10] == 2 && whole[$0 * 4_096] == UInt8($0 & 255) }
    }

    func put(_ byte: UInt8, at offset: Int) throws {
      try FileDamage.put(byte, at: offset, in: fixture.dataPath)
    }

    func restore() throws { try Data(whole).write(to: URL(fileURLWithPath: fixture.dataPath)) }
  }

  private enum Answer: Equatable { case right, wrong(String), corrupt }

  private func ask(_ body: () throws -> String?) -> Answer {
    do {
      if let wrong = try body() { return .wrong(wrong) }
      return .right
    } catch let error as StoreError where error.code == .corrupt {
      return .corrupt
    } catch {
      return .wrong("\(error)")
    }
  }

  private func sum(_ store: Store, _ large: LargeStore) -> Answer {
    ask {
      try store.read { tx in
        let cars = try #require(try tx.collection("cars"))
        var (count, sum) = (0, Int64(0))
        var path = ResolvedPath([.key("n")])
        path.resolve(in: cars.keys)
        try tx.forEachStoredRecord(in: cars) { _, _, _, record in
          if case .int(let n)? = try record.value(at: path)?.materialize(cars.keys) { sum += n }
          count += 1
          return true
        }
        return count == LargeStore.count && sum == large.sum ? nil : "\(count) documents, sum \(sum)"
      }
    }
  }

  private func rows(_ store: Store) -> Answer {
    ask {
      try store.read { tx in
        let cars = try #require(try tx.collection("cars"))
        // One of which damage was met is no longer offered.
        guard let index = try tx.readyIndexes(of: cars).first else {
          throw StoreError(.corrupt, "There is no index to ask", operation: "read")
        }
        let count = try tx.countRows(in: index, limit: .max)
        return count == LargeStore.count ? nil : "\(count) rows"
      }
    }
  }

  private func document(_ n: Int, _ store: Store) -> Answer {
    ask {
      let fields = try store.fields("car \(n)", in: "cars")
      return fields?["n"] == .int(Int64(n)) ? nil : "\(n) is \(fields == nil ? "gone" : "another")"
    }
  }

  private func update(_ n: Int, _ store: Store) -> Answer {
    ask {
      try store.write { tx in
        try tx.update(DocumentID("car \(n)"), in: "cars", [.set(["seen"], .bool(true))])
      }.0 ? nil : "\(n) was not updated"
    }
  }

  @Test(arguments: [false, true])
  func `whatever page is damaged, answers are right or an error`(isOpen: Bool) throws {
    let large = try LargeStore()
    let leaves = large.leaves
    #expect(leaves.count > 4_200)
    var generator = SeededGenerator(seed: isOpen ? 7 : 8)
    var noticed = 0
    for round in 0..<24 {
      let page = leaves[Int.random(in: 0..<leaves.count, using: &generator)]
      let place =
        round % 3 == 0
        ? Int.random(in: 0..<40, using: &generator) : Int.random(in: 0..<4_096, using: &generator)
      let offset = page * 4_096 + place
      let bit = UInt8(1) << UInt8.random(in: 0..<8, using: &generator)
      if isOpen { try large.fixture.reopen() }
      try large.put(large.whole[offset] ^ bit, at: offset)
      if !isOpen {
        // Within what is looked at when it is opened.
        do { try large.fixture.reopen() } catch let error as StoreError where error.code == .corrupt {
          noticed += 1
          try large.restore()
          continue
        }
      }
      let store = large.fixture.store
      var answers = [sum(store, large), rows(store)]
      for _ in 0..<20 {
        answers.append(document(Int.random(in: 0..<LargeStore.count, using: &generator), store))
      }
      for _ in 0..<4 {
        answers.append(update(Int.random(in: 0..<LargeStore.count, using: &generator), store))
      }
      answers.append(sum(store, large))
      for answer in answers {
        if case .wrong(let what) = answer { Issue.record("page \(page), byte \(place), bit \(bit): \(what)") }
      }
      if answers.contains(.corrupt) { noticed += 1 }
      store.close()
      try large.restore()
    }
    #expect(noticed >= 12)
  }

  @Test func `what is intact stays usable beside a page that is not, and the scrub finds it`() throws {
    let large = try LargeStore()
    try large.fixture.reopen()
    let letters = Set("some text ".utf8)
    let page = try #require(
      large.leaves.dropFirst(2_000).first { page in
        large.whole[page * 4_096 + 3_000..<page * 4_096 + 3_064].allSatisfy(letters.contains)
      })
    try large.put(0xFF, at: page * 4_096 + 12)
    let store = large.fixture.store
    #expect(try store.statistics().damages == [])
    while try !store.scrub() {}
    let damages = try store.statistics().damages
    #expect(damages.count == 1 && damages[0].contains("Page \(page) "))
    let answers = stride(from: 0, to: LargeStore.count, by: 7).map { document($0, store) }
    #expect(!answers.contains { if case .wrong = $0 { true } else { false } })
    #expect(answers.count { $0 == .right } > answers.count * 9 / 10)
    // A transaction that meets the damage fails alone.
    let lost = try #require((0..<LargeStore.count).first { document($0, store) == .corrupt })
    #expect(update(lost, store) == .corrupt)
    try store.put("new", ["n": .int(1)])
    #expect(try store.fields("new", in: "cars") != nil)
    #expect(sum(store, large) == .corrupt || rows(store) == .corrupt)
  }

  @Test(arguments: [false, true])
  func `damage is not forgotten when the entries beside it are written`(isMetFirst: Bool) throws {
    let fixture = try StoreFixture()
    let name = { (n: Int) in String(1_000 + n) }
    try fixture.store.createIndex(.cars("byN", "n"))
    try fixture.store.write { tx in
      for n in 0..<600 {
        try tx.upsert(
          ["n": .int(0), "text": .string("text \(name(n))")], id: DocumentID(name(n)), into: "cars")
      }
    }
    fixture.store.close()
    #expect(
      try FileDamage.replace(Array("text 1300".utf8), by: Array("teXt 1300".utf8), at: fixture.dataPath) > 0)
    try fixture.reopen()
    let store = fixture.store
    if isMetFirst { #expect(code { try store.fields("1300", in: "cars") } == .corrupt) }
    // Each of these commits writes the page of the damaged entry.
    for round in 1...20 {
      let beside = 290 + round % 20
      guard beside != 300 else { continue }
      try store.write { tx in
        try tx.update(DocumentID(name(beside)), in: "cars", [.set(["n"], .int(Int64(round)))])
      }
      expectEqual(try store.fields(name(beside), in: "cars")?["n"], .int(Int64(round)))
    }
    #expect(code { try store.fields("1300", in: "cars") } == .corrupt)
    #expect(
      code { try store.write { tx in try tx.update(DocumentID("1300"), in: "cars", [.set(["n"], .int(1))]) } }
        == .corrupt
    )
    #expect(try !store.verify().isIntact)
    let intact = try (0..<600).count { try $0 != 300 && store.fields(name($0), in: "cars") != nil }
    #expect(intact == 599)
  }

  @Test(arguments: [0.1, 0.5, 0.8])
  func `a damaged page of new ids keeps no other document from being written`(place: Double) throws {
    let fixture = try StoreFixture {
      $0.recentIDs = 3_000
      $0.numberCapacity = 0
    }
    let name = { (n: Int) in "car \(100_000 + n)" }
    for start in stride(from: 0, to: 3_000, by: 300) {
      try fixture.store.write { tx in
        for n in start..<start + 300 { try tx.upsert(["n": .int(1)], id: DocumentID(name(n)), into: "cars") }
      }
    }
    let pages = TreePages(bytes: Array(try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))))
    let leaves = try #require(pages.levels(of: "recent").last)
    #expect(leaves.count > 8)
    let page = leaves[Int(place * Double(leaves.count - 1))]
    let lost = try Set(
      pages.keys(on: page).map { key in
        let id = Array(key.dropFirst())
        return try DocumentID(validating: id.span.bytes)
      })
    try FileDamage.put(0xFF, at: page * 4_096 + 12, in: fixture.dataPath)
    let store = fixture.store
    // The store wrote the page itself.
    try store.forgetVerifiedPages()
    // From here on ids are moved, in each transaction and all around the table.
    for round in 0..<40 {
      try store.write { tx in
        for n in 0..<100 { try tx.upsert(["n": .int(3)], id: DocumentID("bus \(round) \(n)"), into: "buses") }
      }
    }
    for n in 0..<3_000 {
      if try lost.contains(DocumentID(name(n))) {
        expectEqual(code { try store.fields(name(n), in: "cars") }, .corrupt)
      } else {
        try expect(store.fields(name(n), in: "cars") != nil)
      }
    }
    for round in 0..<40 { try expect(store.fields("bus \(round) \(round)", in: "buses") != nil) }
    // All others were moved, around the damaged page.
    let left = TreePages(bytes: Array(try Data(contentsOf: URL(fileURLWithPath: fixture.dataPath))))
    let others = left.levels(of: "recent").suffix(1).joined().filter { $0 != page }
    let stay = others.flatMap { left.keys(on: $0) }.filter { $0[0] == 1 }
    #expect(stay.count < 500, "\(stay.count)")
  }
}
