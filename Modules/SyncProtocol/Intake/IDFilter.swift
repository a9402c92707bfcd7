import CRDTCore

/// A set of document ids that never denies a member and takes ten bits for each.
///
/// Source: Bloom, "Space/Time Trade-offs in Hash Coding with Allowable Errors", CACM 1970; the positions by
/// double hashing after Kirsch and Mitzenmacher, "Less Hashing, Same Performance", 2006.
struct IDFilter: Hashable {
  static let bitsPerID = 10
  static let probes = 7
  /// Bytes of the largest filter: about three million ids.
  static let maximumBytes = 4 << 20
  private(set) var bytes: [UInt8]

  /// Makes an empty filter for about `count` ids.
  init(count: UInt64) {
    let wanted = (count.multipliedReportingOverflow(by: UInt64(Self.bitsPerID)).partialValue / 8) + 1
    bytes = Array(repeating: 0, count: Int(min(wanted, UInt64(Self.maximumBytes))))
  }

  init(bytes: [UInt8]) { self.bytes = bytes }

  /// The filter that contains every id.
  static let everything = IDFilter(bytes: [0xFF])

  mutating func insert(_ id: RawSpan) {
    for position in positions(id) { bytes[position >> 3] |= 1 << UInt8(position & 7) }
  }

  func contains(_ id: RawSpan) -> Bool {
    positions(id).allSatisfy { bytes[$0 >> 3] & (1 << UInt8($0 & 7)) != 0 }
  }

  private func positions(_ id: RawSpan) -> [Int] {
    let lanes = HashLanes(id)
    let count = UInt64(bytes.count * 8)
    return (0..<UInt64(Self.probes)).map { Int((lanes.first &+ $0 &* (lanes.second | 1)) % count) }
  }
}

/// A piece of a filter on its way.
struct FilterFrame {
  static let partBytes = 64 << 10

  var generation: UInt64
  @TextKey var collection: String
  var totalBytes: Int
  var offset: Int
  var bytes: [UInt8]

  /// Makes the frames of a filter of what is held here.
  static func frames(
    _ cleared: consuming Cleared, generation: UInt64, _ filter: IDFilter
  ) -> [[UInt8]] {
    frames(generation: generation, cleared.collection, filter)
  }

  /// Makes the frame of a filter that says nothing.
  static func everything(generation: UInt64, _ collection: String) -> [[UInt8]] {
    frames(generation: generation, collection, .everything)
  }

  private static func frames(
    generation: UInt64, _ collection: String, _ filter: IDFilter
  ) -> [[UInt8]] {
    stride(from: 0, to: filter.bytes.count, by: partBytes).map { offset in
      FrameCodec.frame(.filter, payloadBytes: partBytes + 64) { out in
        out.writeVarint(generation)
        out.writeString(collection)
        out.writeVarint(filter.bytes.count)
        out.writeVarint(offset)
        out.writeBlob(filter.bytes[offset..<min(offset + partBytes, filter.bytes.count)])
      }
    }
  }

  init(from reader: inout ByteReader) throws(CodecError) {
    generation = try reader.readVarint()
    var previous: String?
    collection = try reader.readCollection(after: &previous)
    let total = try reader.readVarint()
    let offset = try reader.readVarint()
    bytes = try reader.readBytesArray(limit: Self.partBytes)
    guard total >= 1, total <= UInt64(IDFilter.maximumBytes), offset < total, !bytes.isEmpty,
      UInt64(bytes.count) <= total - offset
    else { throw reader.failure(.limit, "a filter's part lies outside it") }
    totalBytes = Int(total)
    self.offset = Int(offset)
  }
}
