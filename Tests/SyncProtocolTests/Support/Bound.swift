import CRDTCore
import DocStore
import QueryEngine
import Testing

@testable import SyncProtocol

/// A bound of what a peer may send, and a peer that sends just so much, or some more.
struct Bound: Sendable, CustomTestStringConvertible {
  let testDescription: String
  var features: Features = []
  var configure: @Sendable (inout SessionConfiguration) -> Void = { _ in }
  /// What the peer says of itself.
  var greet: @Sendable (inout Hello, _ more: Int) -> Void = { _, _ in }
  /// Sends as much as the bound allows, and so much more.
  var send: @Sendable (RawPeer, _ more: Int) throws -> Void = { _, _ in }
  /// Whether what the bound allows was taken, and not passed over.
  let isTaken: @Sendable (RawPeer) throws -> Bool

  /// Has a subject meet the peer.
  func meet(sending more: Int) throws -> RawPeer {
    let raw = try RawPeer {
      $0.features = .supported
      configure(&$0)
    }
    try raw.peer.subscribe("SELECT * FROM things")
    raw.perform(raw.session.subscriptionsChanged(raw.peer.queries, now: raw.now))
    raw.start()
    raw.send(.hello) { out in
      var hello = RawPeer.hello
      hello.features = features
      greet(&hello, more)
      hello.encode(to: &out)
    }
    try send(raw, more)
    return raw
  }
}

// MARK: - What a peer says of itself and asks for

extension Bound {
  static let subscribing: [Bound] = [
    Bound("the name of a peer", greet: { $0.peerName = letters(SyncLimits.nameBytes + $1) }) {
      $0.session.peer?.name == letters(SyncLimits.nameBytes)
    },
    Bound(
      "the name of an application", configure: { $0.appID = letters(SyncLimits.nameBytes) },
      greet: { $0.appID = letters(SyncLimits.nameBytes + $1) }
    ) { $0.session.peer != nil },
    Bound("subscriptions in a frame") { raw, more in
      let query = try encoded("SELECT * FROM things")
      raw.sendInterest(Array(repeating: query, count: Limits.subscriptionsPerPeer + more))
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("subscriptions in several frames") { raw, more in
      let query = try encoded("SELECT * FROM things")
      raw.sendInterest(Array(repeating: query, count: 200), isLast: false)
      raw.sendInterest(
        Array(repeating: query, count: Limits.subscriptionsPerPeer - 200 + more), isFirst: false)
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("the bytes of a subscription") { raw, more in
      raw.sendInterest([try encoded("SELECT * FROM things", byteCount: SyncLimits.subscriptionBytes + more)])
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("the bytes of all subscriptions") { raw, more in
      // With what tells their lengths.
      let count = SyncLimits.interestBytes / (SyncLimits.subscriptionBytes + 3)
      let query = try encoded("SELECT * FROM things", byteCount: SyncLimits.subscriptionBytes)
      for index in 0..<count { raw.sendInterest([query], isFirst: index == 0, isLast: false) }
      let rest = SyncLimits.interestBytes - count * (SyncLimits.subscriptionBytes + 3) - 3
      raw.sendInterest([try encoded("SELECT * FROM things", byteCount: rest + more)], isFirst: false)
    } isTaken: {
      $0.answersQuestions()
    },
    Bound("questions in a frame") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(questions(SyncLimits.questions + more))
    } isTaken: {
      !$0.sent(.answer).isEmpty
    },
    Bound("questions in several frames") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(questions(SyncLimits.questions - 100) + questions(100 + more))
    } isTaken: {
      !$0.sent(.answer).isEmpty
    },
    Bound("the bounds of a range") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.send(.compare) { out in
        out.writeVarint(1)
        out.writeVarint(1)
        let from = [UInt8](repeating: 3, count: Limits.documentIDBytes + more)
        RangeQuestion.tell(1, KeyRange(collection: "things", from: from)).encode(to: &out)
      }
    } isTaken: {
      !$0.sent(.answer).isEmpty
    },
    Bound("documents that are wanted together") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      var left = SyncLimits.groupDocuments + more
      while left > 0 {
        raw.sendWants(min(left, 16_384), flags: 5)
        left -= 16_384
      }
    } isTaken: {
      $0.isAlive()
    },
    Bound("what is wanted, with its vectors") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(questions(1))
      try fillWants(of: raw, and: more > 0 ? frame(try wants(elements: more - 1)) : [])
    } isTaken: {
      $0.isAlive()
    },
    Bound("ranges of which all is wanted, beside documents") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      raw.receive(questions(1))
      let everything = FrameCodec.frame(.compare) { out in
        out.writeVarint(1)
        out.writeVarint(1)
        RangeQuestion.everything(2, KeyRange(collection: "things")).encode(to: &out)
      }
      try fillWants(of: raw, and: more > 0 ? everything : [])
    } isTaken: {
      $0.isAlive()
    },
    Bound("what is wanted together, with its vectors") { raw, more in
      try raw.sendInterest("SELECT * FROM things")
      let each = 4_096
      var list = try wants(elements: each - 1)
      (list.round, list.isGroup, list.goesOn) = (0, true, true)
      for _ in 1..<SyncLimits.wantedCost / each { try raw.session.supply.take(list) }
      raw.receive(frame(list))
      #expect(raw.closed == nil)
      guard more > 0 else { return }
      list.wants = try wants(elements: more - 1).wants
      raw.receive(frame(list))
    } isTaken: {
      $0.isAlive()
    },
    Bound("staged transfers", features: [.slices]) { raw, more in
      raw.send(.staged) { out in
        out.writeVarint(SyncLimits.stagedTransfers + more)
        for _ in 0..<SyncLimits.stagedTransfers + more {
          out.write(12)
          out.writeVarint(0)
          out.writeVarint(0)
          out.write([UInt8](repeating: 0, count: 6))
        }
      }
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a statement", features: [.remoteQueries]) { raw, more in
      raw.sendStatement(textBytes: QueryQuestion.textBytes + more, argumentBytes: 0)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a statement's arguments", features: [.remoteQueries]) { raw, more in
      raw.sendStatement(textBytes: 10, argumentBytes: QueryQuestion.argumentBytes + more)
    } isTaken: {
      $0.isAlive()
    },
  ]
}

// MARK: - What a peer sends

extension Bound {
  static let sending: [Bound] = [
    Bound("the name of a collection") { raw, more in
      raw.send(.filterWanted) { $0.writeString(letters(Limits.collectionNameBytes + more)) }
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a filter") { raw, more in
      raw.sendFilter(totalBytes: IDFilter.maximumBytes + more, partBytes: 1)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a filter's part") { raw, more in
      raw.sendFilter(totalBytes: IDFilter.maximumBytes, partBytes: FilterFrame.partBytes + more)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the parts of a range") { raw, more in
      raw.answerFirstQuestion { out in
        out.write(2)
        out.writeVarint(SyncLimits.splitParts + more)
        var previous: [UInt8] = []
        for index in 1...SyncLimits.splitParts + more {
          if index < SyncLimits.splitParts + more { out.writeRising([3, UInt8(index)], after: previous) }
          previous = [3, UInt8(index)]
          out.writeVarint(1)
          out.writeFixed(UInt64(index))
        }
      }
    } isTaken: {
      $0.sent(.compare).count > 1
    },
    Bound("the bytes of a fragment") { raw, more in
      // The beginning of one group, which takes three bytes to tell its length.
      raw.sendFragment(of: SyncLimits.smallGroupBytes, byteCount: Limits.fragmentBytes - 3 + more)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a dense piece", features: [.densePacking]) { raw, more in
      raw.sendDense(byteCount: SyncLimits.densePieceBytes + more)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a group in the stream") { raw, more in
      raw.sendFragment(of: SyncLimits.smallGroupBytes + more, byteCount: 10)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a piece of a large group") { raw, more in
      raw.sendChunk(of: 1 << 20, at: 0, [UInt8](repeating: 0, count: Limits.fragmentBytes + more))
    } isTaken: {
      $0.isAlive()
    },
    Bound("the bytes of a large group") { raw, more in
      raw.sendChunk(of: SyncLimits.groupBytes + more, at: 0, [0])
    } isTaken: {
      $0.isAlive()
    },
    Bound("the documents of a group") { raw, more in
      raw.sendGroup(emptyDocuments(SyncLimits.groupDocuments + more))
    } isTaken: {
      $0.session.statistics.groupsReceived == 1
    },
    Bound("what waits to be applied", configure: { $0.tuning.unappliedBytes = 200_000 }) { raw, more in
      for index in 0..<4 {
        raw.sendChunk(of: 1 << 20, at: index * 50_000, [UInt8](repeating: 0, count: 50_000))
      }
      if more > 0 { raw.sendChunk(of: 1 << 20, at: 200_000, [UInt8](repeating: 0, count: more)) }
    } isTaken: {
      $0.isAlive()
    },
    Bound("the code of an answer's end", features: [.remoteQueries]) { raw, more in
      raw.sendEnd(codeBytes: QueryEnd.codeBytes + more, messageBytes: 1)
    } isTaken: {
      $0.isAlive()
    },
    Bound("the message of an answer's end", features: [.remoteQueries]) { raw, more in
      raw.sendEnd(codeBytes: 1, messageBytes: QueryEnd.messageBytes + more)
    } isTaken: {
      $0.isAlive()
    },
  ]
}

// MARK: - What these are made of

extension Bound {
  fileprivate init(
    _ name: String, features: Features = [],
    configure: @escaping @Sendable (inout SessionConfiguration) -> Void = { _ in },
    _ send: @escaping @Sendable (RawPeer, Int) throws -> Void,
    isTaken: @escaping @Sendable (RawPeer) throws -> Bool
  ) {
    self.init(
      testDescription: name, features: features, configure: configure, send: send, isTaken: isTaken)
  }

  fileprivate init(
    _ name: String, configure: @escaping @Sendable (inout SessionConfiguration) -> Void = { _ in },
    greet: @escaping @Sendable (inout Hello, Int) -> Void,
    isTaken: @escaping @Sendable (RawPeer) throws -> Bool
  ) {
    self.init(testDescription: name, configure: configure, greet: greet, isTaken: isTaken)
  }

  fileprivate static func letters(_ count: Int) -> String { String(repeating: "a", count: count) }

  /// A subscription on the wire, as long as it is to be by an argument that its query does not use.
  fileprivate static func encoded(_ text: String, byteCount: Int? = nil) throws -> [UInt8] {
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
  fileprivate static func questions(_ count: Int) -> [UInt8] {
    FrameCodec.frame(.compare) { out in
      out.writeVarint(1)
      out.writeVarint(count)
      for index in 0..<count {
        RangeQuestion.tell(UInt64(index + 1), KeyRange(collection: "things")).encode(to: &out)
      }
    }
  }

  /// Wants as much as a peer may in the first reconciliation, and something else before any of it is answered.
  ///
  /// All but the last is handed over as it is read, which takes seconds of a debug build.
  static func fillWants(of raw: RawPeer, and more: [UInt8] = []) throws {
    let each = 4_096
    let list = try wants(elements: each - 1)
    for _ in 1..<SyncLimits.wantedCost / each { try raw.session.supply.take(list) }
    raw.receive(frame(list) + more)
  }

  fileprivate static func frame(_ list: WantList) -> [UInt8] {
    FrameCodec.frame(.want) { list.encode(to: &$0) }
  }

  /// A want of one document in the first reconciliation, quoting a vector of so many elements.
  fileprivate static func wants(elements: Int) throws -> WantList {
    let birth = ClockReading(rawValue: 1)
    let vector = VersionVector(
      (0..<elements).map { index in
        let writer = Writer(site: SiteID(high: 1, low: UInt64(index + 1)), birth: birth)
        return VersionVector.Element(writer: writer, reading: birth)
      })
    var out = ByteWriter()
    out.writeVarint(1)
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
  fileprivate static func emptyDocuments(_ count: Int) -> [UInt8] {
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

extension RawPeer {
  /// Whether the subject answers a ping, and so has taken what came before.
  fileprivate func isAlive() -> Bool {
    send(.ping) { $0.writeFixed(7 as UInt64) }
    return sent(.pong) == [[0, 0, 0, 0, 0, 0, 0, 7]]
  }

  /// Whether the subject serves an interest.
  fileprivate func answersQuestions() -> Bool {
    receive(Bound.questions(1))
    return sent(.answer).count == 1
  }

  fileprivate func sendInterest(_ queries: [[UInt8]], isFirst: Bool = true, isLast: Bool = true) {
    send(.interest) { out in
      out.writeVarint(1)
      out.write((isFirst ? 1 : 0) | (isLast ? 2 : 0) as UInt8)
      out.writeVarint(queries.count)
      for query in queries { out.writeBlob(query) }
    }
  }

  fileprivate func sendWants(_ count: Int, flags: UInt8) {
    send(.want) { out in
      out.writeVarint(0)
      out.write(flags)
      out.writeVarint(count)
      for index in 0..<count {
        out.writeString(index == 0 ? "things" : "")
        out.writeBlob([3, 97])
        out.write(0)
        out.writeVarint(0)
      }
    }
  }

  fileprivate func sendStatement(textBytes: Int, argumentBytes: Int) {
    send(.ask) { out in
      out.writeVarint(1)
      out.writeString(Bound.letters(textBytes))
      if argumentBytes == 0 {
        out.writeVarint(0)
      } else {
        out.writeVarint(1)
        out.writeString("z")
        // Beside the count, the name, the kind, and a length that takes three bytes.
        ValueCodec.write(.string(Bound.letters(argumentBytes - 7)), to: &out)
      }
      for _ in 0..<3 { out.writeVarint(1_000) }
    }
  }

  fileprivate func sendFilter(totalBytes: Int, partBytes: Int) {
    send(.filter) { out in
      out.writeVarint(1)
      out.writeString("things")
      out.writeVarint(totalBytes)
      out.writeVarint(0)
      out.writeBlob([UInt8](repeating: 0, count: partBytes))
    }
  }

  /// Answers what the subject asked first.
  fileprivate func answerFirstQuestion(_ body: (inout ByteWriter) -> Void) {
    send(.answer) { out in
      out.writeVarint(1)
      out.writeVarint(1)
      out.writeVarint(1)
      body(&out)
    }
  }

  /// Sends the beginning of a group of the stream of small ones.
  fileprivate func sendFragment(of groupBytes: Int, byteCount: Int) {
    var stream = ByteWriter()
    stream.writeVarint(groupBytes)
    stream.write([UInt8](repeating: 0, count: byteCount))
    send(.fragment) { out in
      out.write(1)
      out.writeVarint(stream.count)
      out.write(stream.bytes)
    }
  }

  /// Sends the beginning of such a group, packed by the model of contexts.
  fileprivate func sendDense(byteCount: Int) {
    var stream = ByteWriter()
    stream.writeVarint(SyncLimits.smallGroupBytes)
    stream.write([UInt8](repeating: 0, count: byteCount - stream.count))
    let packed = DenseCoder().pack(stream.bytes.span.bytes)
    send(.fragment) { out in
      out.write(4)
      out.writeVarint(byteCount)
      out.write(packed)
    }
  }

  fileprivate func sendChunk(of groupBytes: Int, at offset: Int, _ bytes: [UInt8]) {
    send(.chunk) { out in
      out.write(1)
      out.writeVarint(1)
      out.writeVarint(groupBytes)
      out.writeVarint(offset)
      out.writeVarint(bytes.count)
      out.write(bytes)
    }
  }

  /// Sends a group as a transfer of its own.
  fileprivate func sendGroup(_ bytes: [UInt8]) {
    for offset in stride(from: 0, to: bytes.count, by: Limits.fragmentBytes) {
      sendChunk(
        of: bytes.count, at: offset, Array(bytes[offset..<min(offset + Limits.fragmentBytes, bytes.count)]))
    }
  }

  fileprivate func sendEnd(codeBytes: Int, messageBytes: Int) {
    send(.answered) { out in
      out.writeVarint(1)
      out.writeString(Bound.letters(codeBytes))
      out.writeString(Bound.letters(messageBytes))
      out.writeVarint(0)
      out.writeVarint(0)
    }
  }
}
