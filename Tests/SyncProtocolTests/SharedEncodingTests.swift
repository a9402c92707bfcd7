import CRDTCore
import DocStore
import SyncProtocol
import Testing

@Suite struct SharedEncodingTests {
  private static func change(_ id: String, sequence: UInt64) throws -> Change {
    Change(
      collection: Collection(id: 1, name: "things", keys: KeyTable()), id: try DocumentID(id), kind: .write,
      sequence: sequence, before: nil, after: nil, beforeSummary: nil, afterSummary: nil, sites: SiteTable(),
      group: 0, oversize: false)
  }

  /// How often one of `sessions` had to make the form of a change itself.
  private static func timesMade(_ encoding: SharedEncoding, _ change: Change, form: [UInt8]?) throws -> Int {
    var count = 0
    for _ in 0..<3 {
      let found = try encoding.form(of: change) {
        count += 1
        return form.map { WireSuccessor(bytes: $0, base: VersionVector(), vector: VersionVector()) }
      }
      #expect(found?.bytes == form)
    }
    return count
  }

  @Test func `the form of a change is made once for all sessions, and each time for one alone`() throws {
    let encoding = SharedEncoding()
    let change = try Self.change("x", sequence: 7)
    encoding.join(1)
    #expect(try Self.timesMade(encoding, change, form: [1, 2]) == 3)
    encoding.join(2)
    #expect(try Self.timesMade(encoding, change, form: [1, 2]) == 1)
    // A later change of the same document, and another document of the same group.
    #expect(try Self.timesMade(encoding, Self.change("x", sequence: 8), form: [3]) == 1)
    #expect(try Self.timesMade(encoding, Self.change("y", sequence: 7), form: nil) == 1)
    encoding.leave(2)
    #expect(try Self.timesMade(encoding, change, form: [1, 2]) == 3)
  }

  @Test func `long forms, and those of long ago, are made again`() throws {
    let encoding = SharedEncoding()
    encoding.join(1)
    encoding.join(2)
    let long = [UInt8](repeating: 1, count: 2_000)
    #expect(try Self.timesMade(encoding, Self.change("long", sequence: 1), form: long) == 3)
    let first = try Self.change("x", sequence: 2)
    #expect(try Self.timesMade(encoding, first, form: [1]) == 1)
    for sequence in 3...10_000 as ClosedRange<UInt64> {
      _ = try encoding.form(of: Self.change("x", sequence: sequence)) { nil }
    }
    #expect(try Self.timesMade(encoding, first, form: [1]) == 1)
  }
}
