import CRDTCore
import PeerControl
import SyncProtocol

/// Floods of documents that are legal one by one.
enum ManyDocuments {
  /// Tiny documents in deflated fragments, with no regard to what the receiver says that it has room for.
  static let beyondTheWindow = Row.raw(
    "beyond-the-window", "a million tiny documents in deflated fragments, none acknowledged", aims: .filling
  ) {
    let reading = ClockReading(milliseconds: RawDocument.now())
    let document = RawDocument.fresh(at: reading)
    return send(
      RawGroup.fragments(
        (0..<1_000_000).lazy.map { RawGroup.bytes([.init(RawGroup.id("t\($0)"), document)]) }))
  }

  static let keys = Row.raw("many-keys", "90 documents of 10,000 keys each, 9 MB") {
    let reading = ClockReading(milliseconds: RawDocument.now())
    let frames = (0..<90).flatMap { number in
      let names = (0..<Limits.keysPerMap).map { Array("k\(number)\(1_000_000 + $0)".utf8) }
      let document = RawDocument.fresh(at: reading, names.map { ($0, [0]) })
      return RawGroup.storedChunks(
        RawGroup.bytes([.init(RawGroup.id("keys\(number)"), document)]), transfer: number + 1)
    }
    return send(frames)
  }

  /// Sites stay for good, so opening the store again tells what they cost, too.
  static let sites = Row.raw(
    "many-sites", "400 documents by 2,000 sites each, 17 MB",
    check: { scene in
      let time = try await scene.reopen()
      if time > .milliseconds(500) { scene.fail("opening takes longer than 500 ms") }
    }
  ) {
    let reading = ClockReading(milliseconds: RawDocument.now())
    let frames = (0..<400).flatMap { number in
      let document = RawDocument.manySites(2_000, from: 1 + number * 2_000, at: reading)
      return RawGroup.storedChunks(
        RawGroup.bytes([.init(RawGroup.id("sites\(number)"), document)]), transfer: number + 1)
    }
    return send(frames)
  }

  static let tombstones = Row.raw("tombstones", "400,000 deleted documents", aims: .filling) {
    let document = RawDocument.tombstone(at: ClockReading(milliseconds: RawDocument.now()))
    return send(
      RawGroup.fragments(
        (0..<4_000).lazy.map { group in
          RawGroup.bytes((0..<100).map { .init(RawGroup.id("d\(group * 100 + $0)"), document) })
        }))
  }

  static let collections = Row.raw("collections", "a document in each of 50,000 collections") {
    let document = RawDocument.fresh(at: ClockReading(milliseconds: RawDocument.now()))
    return send(
      RawGroup.fragments(
        (0..<500).lazy.map { group in
          RawGroup.bytes(
            (0..<100).map { .init(RawGroup.id("a"), in: "things\(group * 100 + $0)", document) })
        }))
  }

  /// Names that the table of a collection's field names puts at one place, since its hash has no secret.
  static let sameHashKeys = Row.raw("same-hash-keys", "documents of 2,000 field names of one hash") {
    let mask: UInt64 = (1 << 13) - 1
    let names = (0...).lazy.map { "f\($0)" }.filter { HashLanes($0).first & mask == 0 }.prefix(2_000)
    let keys = names.map { Array($0.utf8) }.sorted { $0.lexicographicallyPrecedes($1) }
    let document = RawDocument.fresh(
      at: ClockReading(milliseconds: RawDocument.now()), keys.map { ($0, RawDocument.node(.int(1))) })
    return send(
      RawGroup.fragments((0..<2_000).map { RawGroup.bytes([.init(RawGroup.id("h\($0)"), document)]) }))
  }

  /// Stamps of later centuries: what is taken in must not drag the victim's clock along.
  static let farFuture = Row(
    "far-future", "documents of the years 2099, 2300 and 10,889, honest ones' ids among them"
  ) { _ in
    let years: [UInt64] = [4_070_908_800_000, 10_413_792_000_000, ClockReading.latestAccepted.milliseconds]
    let attack = send(
      RawGroup.fragments(
        (0..<30_000).map { number in
          let document = RawDocument.fresh(
            at: ClockReading(milliseconds: years[number % years.count]),
            [(Array("v".utf8), RawDocument.node(.null))])
          return RawGroup.bytes([
            .init(RawGroup.id("f\(number)"), in: number % 2 == 0 ? "beats" : "things", document)
          ])
        }))
    return { scene in
      await scene.hostile(attack)
      let lead = try await scene.victim.ask("clock").number("lead")
      if lead > 301_000 { scene.fail("the clock is \(lead / 1_000) s ahead") }
    }
  }

  /// Sends all of it, again where the victim hangs up.
  private static func send(_ frames: [[UInt8]]) -> @Sendable (Target) -> Void {
    { target in
      target.again(pause: .milliseconds(500)) { connection, _ in
        for frame in frames where connection.isOpen && !target.isOver { connection.send(frame) }
        connection.stay()
      }
    }
  }
}
