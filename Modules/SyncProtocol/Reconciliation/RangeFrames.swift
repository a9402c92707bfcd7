package import CRDTCore

/// A receiver's question about one range of ids.
package struct RangeQuestion: Hashable, Sendable {
  package enum Mode: Hashable, Sendable {
    /// Compare your fingerprint with mine, which covers what I hold under my interest.
    case compare(Fingerprint)
    /// List what you hold that my interest does not match.
    case rest
    /// Send what you hold that my interest matches: I compare it, and do not disclose what I hold.
    ///
    /// If `isSecret` is true, I do not disclose it later either.
    case send(isSecret: Bool)
  }

  package var request: UInt64
  package var range: KeyRange
  package var mode: Mode

  /// Makes a question that discloses a fingerprint of what the policy allows.
  package init(_ cleared: consuming Cleared, request: UInt64, range: KeyRange, holding: Fingerprint) {
    var range = range
    range.collection = cleared.collection
    self.init(request: request, range: range, mode: .compare(holding))
  }

  private init(request: UInt64, range: KeyRange, mode: Mode) {
    self.request = request
    self.range = range
    self.mode = mode
  }

  /// Makes a question for a range in which the receiver holds nothing.
  package static func everything(_ request: UInt64, _ range: KeyRange) -> RangeQuestion {
    RangeQuestion(request: request, range: range, mode: .compare(Fingerprint()))
  }

  /// Makes a question for a listing of what does not match.
  package static func rest(_ request: UInt64, _ range: KeyRange) -> RangeQuestion {
    RangeQuestion(request: request, range: range, mode: .rest)
  }

  /// Makes a question for what matches, without disclosing what the receiver holds.
  package static func send(_ request: UInt64, _ range: KeyRange, isSecret: Bool) -> RangeQuestion {
    RangeQuestion(request: request, range: range, mode: .send(isSecret: isSecret))
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(request)
    switch mode {
    case .compare: out.write(0 as UInt8)
    case .rest: out.write(1 as UInt8)
    case .send(isSecret: false): out.write(2 as UInt8)
    case .send(isSecret: true): out.write(3 as UInt8)
    }
    out.writeString(range.collection)
    out.writeBlob(range.from)
    out.writeBlob(range.to)
    if case .compare(let fingerprint) = mode {
      out.writeVarint(fingerprint.count)
      out.writeFixed(fingerprint.sum)
    }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    request = try reader.readVarint()
    let mode = try reader.readByte()
    var previous: String?
    let collection = try reader.readCollection(after: &previous)
    let from = try reader.readBytesArray(limit: Limits.documentIDBytes)
    let to = try reader.readBytesArray(limit: Limits.documentIDBytes)
    range = KeyRange(collection: collection, from: from, to: to)
    switch mode {
    case 0: self.mode = .compare(Fingerprint(count: try reader.readVarint(), sum: try reader.readFixed()))
    case 1: self.mode = .rest
    case 2, 3: self.mode = .send(isSecret: mode == 3)
    default: throw reader.failure(.malformed, "a question is of an unknown kind")
    }
  }
}

/// A document's id and the hash of its state.
package struct DocumentHash: Hashable, Sendable {
  package var id: DocumentID
  package var hash: UInt64

  package init(id: DocumentID, hash: UInt64) {
    self.id = id
    self.hash = hash
  }
}

/// Counts of what a sender holds and does not send, of which the receiver may hold copies under its interest.
package struct OtherDocuments: Hashable, Sendable {
  /// The number of documents in the range that do not match.
  package var count: UInt64
  /// The number of compacted tombstones in the collection, which cannot be listed.
  package var certificates: UInt64
  /// An upper bound on the number of documents in the whole collection that do not match.
  package var total: UInt64

  package init(count: UInt64, certificates: UInt64 = 0, total: UInt64) {
    self.count = count
    self.certificates = certificates
    self.total = total
  }

  package static let none = OtherDocuments(count: 0, total: 0)

  package var isEmpty: Bool { count == 0 && certificates == 0 }

  func encode(to out: inout ByteWriter) {
    out.writeVarint(count)
    out.writeVarint(certificates)
    if !isEmpty { out.writeVarint(total) }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    count = try reader.readVarint()
    certificates = try reader.readVarint()
    total = 0
    if !isEmpty { total = try reader.readVarint() }
  }
}

/// A sender's answer about one range.
package struct RangeAnswer: Hashable, Sendable {
  package struct Subrange: Hashable, Sendable {
    /// The exclusive upper bound; empty in the last subrange.
    package var to: [UInt8]
    package var fingerprint: Fingerprint

    package init(to: [UInt8], fingerprint: Fingerprint) {
      self.to = to
      self.fingerprint = fingerprint
    }
  }

  package enum Body: Hashable, Sendable {
    case equal
    /// All matches in the range, and counts of what does not match.
    case items([DocumentHash], others: OtherDocuments)
    case split([Subrange])
    /// The documents of the range follow, because the receiver holds none.
    case stream
    /// Some documents that do not match; `isLast` marks the last list.
    case rest([DocumentHash], isLast: Bool)
  }

  package var request: UInt64
  package var body: Body

  /// Makes an answer with ids or counts that the policy allows.
  package init(_ cleared: consuming Cleared, request: UInt64, body: Body) {
    self.init(request: request, body: body)
  }

  private init(request: UInt64, body: Body) {
    self.request = request
    self.body = body
  }

  /// Makes an answer that the range is equal at both ends.
  package static func equal(_ request: UInt64) -> RangeAnswer { RangeAnswer(request: request, body: .equal) }

  /// Makes an answer that the documents of the range follow.
  package static func stream(_ request: UInt64) -> RangeAnswer {
    RangeAnswer(request: request, body: .stream)
  }

  /// Makes an answer that the sender has nothing that the peer may see.
  package static func nothing(for question: RangeQuestion) -> RangeAnswer {
    switch question.mode {
    case .compare, .send: RangeAnswer(request: question.request, body: .items([], others: .none))
    case .rest: RangeAnswer(request: question.request, body: .rest([], isLast: true))
    }
  }

  package func encode(to out: inout ByteWriter) {
    out.writeVarint(request)
    switch body {
    case .equal: out.write(0 as UInt8)
    case .items(let items, let others):
      out.write(1 as UInt8)
      others.encode(to: &out)
      Self.encode(items, to: &out)
    case .split(let subranges):
      out.write(2 as UInt8)
      out.writeVarint(subranges.count)
      var previous: [UInt8] = []
      for (index, subrange) in subranges.enumerated() {
        if index < subranges.count - 1 { out.writeRising(subrange.to, after: previous) }
        previous = subrange.to
        out.writeVarint(subrange.fingerprint.count)
        out.writeFixed(subrange.fingerprint.sum)
      }
    case .stream: out.write(3 as UInt8)
    case .rest(let items, let isLast):
      out.write(4 as UInt8)
      out.write(isLast ? 1 as UInt8 : 0)
      Self.encode(items, to: &out)
    }
  }

  private static func encode(_ items: [DocumentHash], to out: inout ByteWriter) {
    out.writeVarint(items.count)
    var previous: [UInt8] = []
    for item in items {
      out.writeRising(item.id.bytes, after: previous)
      previous = item.id.bytes
      out.writeFixed(item.hash)
    }
  }

  package init(from reader: inout ByteReader) throws(CodecError) {
    request = try reader.readVarint()
    switch try reader.readByte() {
    case 0: body = .equal
    case 1:
      let others = try OtherDocuments(from: &reader)
      body = .items(try Self.items(&reader), others: others)
    case 2: body = .split(try Self.subranges(&reader))
    case 3: body = .stream
    case 4:
      let isLast = try reader.readFlag()
      body = .rest(try Self.items(&reader), isLast: isLast)
    default: throw reader.failure(.malformed, "an answer is of an unknown kind")
    }
  }

  private static func items(_ reader: inout ByteReader) throws(CodecError) -> [DocumentHash] {
    var items: [DocumentHash] = []
    var bytes: [UInt8] = []
    for _ in 0..<(try reader.readCount(minimumBytes: 11)) {
      items.append(DocumentHash(id: try reader.readRisingID(&bytes), hash: try reader.readFixed()))
    }
    return items
  }

  private static func subranges(_ reader: inout ByteReader) throws(CodecError) -> [Subrange] {
    let count = try reader.readCount(minimumBytes: 9)
    guard count >= 1, count <= SyncLimits.splitRanges else {
      throw reader.failure(.limit, "a range is split into \(count) parts")
    }
    var subranges: [Subrange] = []
    var to: [UInt8] = []
    for index in 0..<count {
      if index < count - 1 { try reader.readRising(&to) } else { to = [] }
      subranges.append(
        Subrange(
          to: to, fingerprint: Fingerprint(count: try reader.readVarint(), sum: try reader.readFixed())))
    }
    return subranges
  }
}
