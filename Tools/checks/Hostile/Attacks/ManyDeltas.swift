import CRDTCore
import Foundation
import SyncProtocol

/// Many small changes of one large document at once: each has a few bytes and leads to a state of megabytes.
enum ManyDeltas {
  static let row = Row.raw(
    "small-deltas", "2,000 deltas of a document of 4.9 MB, in one go", aims: .large
  ) {
    let (document, deltas) = try documents(textBytes: 4_900_000, count: 2_000)
    let first = RawGroup.chunks(RawGroup.bytes([.init(RawGroup.id("large"), document)]))
    let rest = RawGroup.fragments(
      deltas.map { RawGroup.bytes([.init(RawGroup.id("large"), flags: 4, $0)]) })
    return { target in
      target.again { connection, _ in
        for frame in first { connection.send(frame) }
        connection.listen(for: .milliseconds(500))
        for frame in rest { connection.send(frame) }
        connection.stay()
      }
    }
  }

  /// A document with a long text, and the deltas that follow it.
  ///
  /// Made on a short twin of the document: a delta does not say what else there is.
  private static func documents(textBytes: Int, count: Int) throws -> (document: [UInt8], deltas: [[UInt8]]) {
    let start = RawDocument.now()
    var writer = Replica(site: RawDocument.site)
    var large = ReplicatedDocument()
    let text = String(repeating: "much ado about nothing; ", count: textBytes / 24)
    try writer.upsert(["n": .int(0), "text": .string(text)], into: &large, now: start)
    let document = try writer.encoding(of: large)
    var twin = Replica(site: RawDocument.site)
    var short = ReplicatedDocument()
    try twin.upsert(["n": .int(0), "text": .string("")], into: &short, now: start)
    var deltas: [[UInt8]] = []
    for number in 1...count {
      let before = try twin.vector(of: short)
      try twin.update([.set(["n"], .int(Int64(number)))], of: &short, now: start + UInt64(number))
      deltas.append(try twin.delta(of: short, since: before))
    }
    return (document, deltas)
  }
}
