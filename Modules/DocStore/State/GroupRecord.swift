import CRDTCore

/// The documents of one commit that are to become visible together, and when they were written.
struct GroupRecord {
  /// Documents of a collection with numbers that follow each other.
  struct Run {
    let collection: UInt32
    let numbers: ClosedRange<UInt64>
  }

  /// The lived time of the commit.
  let time: UInt64
  let runs: [Run]

  /// The greatest number among the members.
  ///
  /// Who goes through them compares it first with the greatest that the store has given: a damaged record
  /// could name more numbers than anybody can go through.
  var lastNumber: DocumentNumber { DocumentNumber(runs.reduce(0) { max($0, $1.numbers.upperBound) }) }

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
    return encode(runs(of: places), time: time)
  }

  private static func isBefore(_ a: DocumentPlace, _ b: DocumentPlace) -> Bool {
    a.collection != b.collection ? a.collection < b.collection : a.number < b.number
  }

  private static func runs(of places: [DocumentPlace]) -> [Run] {
    var runs: [Run] = []
    for place in places {
      let number = place.number.rawValue
      if let last = runs.last, last.collection == place.collection, last.numbers.upperBound + 1 == number {
        runs[runs.count - 1] = Run(
          collection: last.collection, numbers: last.numbers.lowerBound...number)
      } else {
        runs.append(Run(collection: place.collection, numbers: number...number))
      }
    }
    return runs
  }

  private static func encode(_ runs: [Run], time: UInt64) -> [UInt8] {
    var writer = ByteWriter(capacity: 24 + runs.count * 3)
    writer.writeFixed(time)
    var start = 0
    while start < runs.count {
      let collection = runs[start].collection
      let end = runs[start...].firstIndex { $0.collection != collection } ?? runs.count
      writer.writeVarint(UInt64(collection))
      writer.writeVarint(end - start)
      var last: UInt64 = 0
      for run in runs[start..<end] {
        let more = run.numbers.upperBound - run.numbers.lowerBound
        writer.writeVarint((run.numbers.lowerBound - last) << 1 | (more > 0 ? 1 : 0))
        if more > 0 { writer.writeVarint(more) }
        last = run.numbers.upperBound
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
    var runs: [Run] = []
    var isFirst = true
    while reader.remaining > 0 {
      guard let collection = UInt32(exactly: try reader.readVarint()),
        isFirst || collection > runs.last?.collection ?? .max
      else {
        throw reader.failure(.malformed, "the numbers of a group's collections do not rise")
      }
      isFirst = false
      let count = try reader.readCount()
      guard count > 0 else { throw reader.failure(.malformed, "a group names a collection for nothing") }
      runs.reserveCapacity(runs.count + count)
      var last: UInt64 = 0
      for _ in 0..<count {
        let numbers = try Self.run(&reader, after: last)
        last = numbers.upperBound
        runs.append(Run(collection: collection, numbers: numbers))
      }
    }
    self.runs = runs
  }

  private static func run(_ reader: inout ByteReader, after last: UInt64) throws(CodecError) -> ClosedRange<
    UInt64
  > {
    let head = try reader.readVarint()
    let more = head & 1 == 1 ? try reader.readVarint() : 0
    let maximum = DocumentNumber.maximum.rawValue
    // Runs that touch are one; the first number is above none.
    let isApart = head >> 1 > (last == 0 ? 0 : 1)
    guard isApart, head >> 1 <= maximum - last, head & 1 == 0 || more > 0,
      more <= maximum - last - head >> 1
    else {
      throw reader.failure(.malformed, "the numbers of a group's documents do not rise")
    }
    let first = last + head >> 1
    return first...first + more
  }
}
