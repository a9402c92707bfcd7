import CRDTCore

/// The documents of one commit that are to become visible together, and when they were written.
struct GroupRecord {
  /// The lived time of the commit.
  let time: UInt64
  let members: [DocumentPlace]

  /// The record of the documents of a group that receivers may learn of; `nil` when they are less than two.
  static func encode(_ drafts: ArraySlice<ChangeDraft>, time: UInt64) -> [UInt8]? {
    var places: [DocumentPlace] = []
    places.reserveCapacity(drafts.count)
    var isSorted = true
    for draft in drafts where draft.kind == .write {
      let place = DocumentPlace(draft.key.collection, draft.number)
      if let last = places.last, !isBefore(last, place) { isSorted = false }
      places.append(place)
    }
    guard places.count >= 2 else { return nil }
    if !isSorted { places.sort(by: isBefore) }
    return encode(places, time: time)
  }

  private static func isBefore(_ a: DocumentPlace, _ b: DocumentPlace) -> Bool {
    a.collection != b.collection ? a.collection < b.collection : a.number < b.number
  }

  private static func encode(_ places: [DocumentPlace], time: UInt64) -> [UInt8] {
    var writer = ByteWriter(capacity: 24 + places.count * 2)
    writer.writeFixed(time)
    var start = 0
    while start < places.count {
      let collection = places[start].collection
      let end = places[start...].firstIndex { $0.collection != collection } ?? places.count
      writer.writeVarint(UInt64(collection))
      writer.writeVarint(end - start)
      var last: UInt64 = 0
      for place in places[start..<end] {
        writer.writeVarint(place.number.rawValue - last)
        last = place.number.rawValue
      }
      start = end
    }
    return writer.bytes
  }

  /// The time of a stored record; `nil` when it is damaged.
  static func time(_ stored: RawSpan, at key: RawSpan) -> UInt64? {
    guard let value = try? SmallRecord.open(stored, at: key, table: "groups") else { return nil }
    var reader = ByteReader(value.rawBytes)
    return try? reader.readFixed(as: UInt64.self)
  }

  init(_ bytes: RawSpan) throws(CodecError) {
    var reader = ByteReader(bytes)
    time = try reader.readFixed()
    var members: [DocumentPlace] = []
    while reader.remaining > 0 {
      guard let collection = UInt32(exactly: try reader.readVarint()) else {
        throw reader.failure(.malformed, "a collection's number is too large")
      }
      let count = try reader.readCount()
      members.reserveCapacity(members.count + count)
      var number: UInt64 = 0
      for _ in 0..<count {
        let (next, overflow) = number.addingReportingOverflow(try reader.readVarint())
        guard !overflow, next > number, next <= DocumentNumber.maximum.rawValue else {
          throw reader.failure(.malformed, "the numbers of a group's documents do not rise")
        }
        number = next
        members.append(DocumentPlace(collection, DocumentNumber(number)))
      }
    }
    self.members = members
  }
}
