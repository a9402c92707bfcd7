import CRDTCore
import DocStore
import QueryEngine
import Testing

@testable import SyncProtocol

/// A bound of what a peer may send, and a peer that sends just so much, or some more.
struct Bound: Sendable, CustomTestStringConvertible {
  let testDescription: String
  var configure: @Sendable (inout SessionConfiguration) -> Void = { _ in }
  /// What the peer says of itself.
  var greet: @Sendable (inout Hello, _ more: Int) -> Void = { _, _ in }
  /// Sends as much as the bound allows, and so much more.
  var send: @Sendable (RawPeer, _ more: Int) throws -> Void = { _, _ in }
  /// Whether what the bound allows was taken, and not passed over.
  let isTaken: @Sendable (RawPeer) throws -> Bool

  /// Has a subject meet the peer.
  func meet(sending more: Int) throws -> RawPeer {
    let raw = try RawPeer(configure)
    try raw.peer.subscribe("SELECT * FROM things")
    raw.perform(raw.session.subscriptionsChanged(raw.peer.queries, now: raw.now))
    raw.start()
    raw.send(.hello) { out in
      var hello = RawPeer.hello
      greet(&hello, more)
      hello.encode(to: &out)
    }
    try send(raw, more)
    return raw
  }
}

extension Bound {
  init(
    _ name: String, configure: @escaping @Sendable (inout SessionConfiguration) -> Void = { _ in },
    _ send: @escaping @Sendable (RawPeer, Int) throws -> Void,
    isTaken: @escaping @Sendable (RawPeer) throws -> Bool
  ) {
    self.init(testDescription: name, configure: configure, send: send, isTaken: isTaken)
  }

  init(
    _ name: String, configure: @escaping @Sendable (inout SessionConfiguration) -> Void = { _ in },
    greet: @escaping @Sendable (inout Hello, Int) -> Void,
    isTaken: @escaping @Sendable (RawPeer) throws -> Bool
  ) {
    self.init(testDescription: name, configure: configure, greet: greet, isTaken: isTaken)
  }

  static func letters(_ count: Int) -> String { String(repeating: "a", count: count) }

  /// A subscription on the wire, as long as it is to be by an argument that its query does not use.
  static func encoded(_ text: String, byteCount: Int? = nil) throws -> [UInt8] {
    var out = ByteWriter()
    try SubscriptionQuery(dql: text).encode(to: &out)
    guard let byteCount else { return out.bytes }
    // In place of the count of no arguments.
    out.bytes.removeLast()
    out.writeVarint(1)
    out.writeString("z")
    // The value's kind, and a length that takes three bytes.
    let filler = letters(byteCount - out.count - 4)
    ValueCodec.write(.string(filler), to: &out)
    try #require(out.count == byteCount)
    return out.bytes
  }

  /// A frame of questions about a collection of which there is nothing.
  static func questions(_ count: Int) -> [UInt8] {
    FrameCodec.frame(.compare) { out in
      out.writeVarint(1)
      out.writeVarint(count)
      for index in 0..<count {
        RangeQuestion.send(UInt64(index + 1), KeyRange(collection: "things"), isSecret: true).encode(to: &out)
      }
    }
  }

  /// Sends as many wants as a peer may in the first reconciliation, and then `more`, before any is answered.
  ///
  /// All wants but the last are passed to the pusher in decoded form, since decoding takes seconds in a debug
  /// build.
  static func fillWants(of raw: RawPeer, and more: [UInt8] = []) throws {
    let each = 2_048 * 32
    let list = try wants(elements: each / 32 - 5)
    for _ in 1..<SyncLimits.wantedBytes / each { try raw.session.pusher.receive(list) }
    raw.receive(frames: frame(list) + more)
  }

  static func frame(_ list: WantList) -> [UInt8] {
    FrameCodec.frame(.want) { list.encode(to: &$0) }
  }

  /// A want of one document in the first reconciliation, quoting a vector of so many elements.
  static func wants(elements: Int) throws -> WantList {
    let birth = ClockReading(rawValue: 1)
    let vector = VersionVector(
      (0..<elements).map { index in
        let writer = Writer(site: SiteID(high: 1, low: UInt64(index + 1)), birth: birth)
        return VersionVector.Element(writer: writer, reading: birth)
      })
    var out = ByteWriter()
    out.writeVarint(1)
    out.writeVarint(0)
    out.write(0)
    out.writeVarint(1)
    out.writeString("things")
    out.writeBlob([3, 97])
    out.write(0)
    vector.encode(to: &out)
    let bytes = out.bytes
    var reader = ByteReader(bytes.span.bytes)
    return try WantList(from: &reader)
  }

  /// A group of documents that nobody has asked for, so that none of them is looked at closely.
  static func emptyDocuments(_ count: Int) -> [UInt8] {
    var out = ByteWriter()
    out.writeVarint(count)
    for index in 0..<count {
      out.writeString(index == 0 ? "others" : "")
      out.writeBlob([3, UInt8(97 + index & 15), UInt8(97 + index >> 4 & 15)])
      out.write(0)
      out.writeVarint(0)
    }
    return out.bytes
  }
}
