import CRDTCore
import DocStore

/// A run: live writes of one site at one time to the same fields of many documents in one collection.
struct OutgoingRun {
  /// The minimum number of changes that is worth a run's head.
  static let minimum = 8

  /// One document: its id, and its operation delta with the values.
  private struct Member {
    let id: DocumentID
    let operationDelta: WireOperationDelta
  }

  let collection: String
  let flags: UInt8
  let head: RunHead
  private var members: [Member] = []
  private var check = RunCheck()
  /// The ranges of each member's values in its operation delta, as many per member as the head says.
  private var values: [Range<Int>] = []

  var count: Int { members.count }
  /// Whether the peer may read all of its documents, as they are after the change.
  private(set) var areReadable = true
  /// The ids of its documents.
  var ids: some Sequence<DocumentID> { members.lazy.map(\.id) }

  private init(collection: String, flags: UInt8, head: RunHead, capacity: Int) {
    self.collection = collection
    self.flags = flags
    self.head = head
    members.reserveCapacity(capacity)
    values.reserveCapacity(capacity * head.valueCount)
  }

  private struct Key: Hashable {
    let collection: UInt32
    let flags: UInt8
    let head: RunHead
  }

  /// Extracts runs from documents with operation deltas, in the order of their first members.
  ///
  /// `flags` returns the flags that are sent with each document.
  ///
  /// - Returns: The runs, and the documents that are in no run, in order.
  static func gather(
    _ documents: [LiveDocument], flags: (borrowing LiveDocument) -> UInt8,
    isEligible: (borrowing LiveDocument) -> Bool,
    isReadable: (borrowing LiveDocument) -> Bool
  ) throws(CodecError) -> (runs: [OutgoingRun], rest: [LiveDocument]) {
    var places: [Key: Int] = [:]
    var latest: (key: Key, place: Int)?
    var runs: [OutgoingRun] = []
    // The index of each document's run; -1 for none.
    var chosen: [Int] = []
    chosen.reserveCapacity(documents.count)
    var values: [Range<Int>] = []
    // Access the elements in place: a copy would retain much.
    let span = documents.spanOfValues
    for index in span.indices {
      values.removeAll(keepingCapacity: true)
      guard isEligible(span[index]), let operationDelta = span[index].operationDelta,
        let member = try RunMember(operationDelta, like: latest?.key.head, values: &values)
      else {
        chosen.append(-1)
        continue
      }
      let change = span[index].change
      let flags = flags(span[index])
      let place: Int
      if let latest, member.isAlike, latest.key.collection == change.key.collection, latest.key.flags == flags
      {
        place = latest.place
      } else {
        let key = Key(collection: change.key.collection, flags: flags, head: member.head)
        place = places[key] ?? runs.count
        (places[key], latest) = (place, (key, place))
        if place == runs.count {
          runs.append(
            OutgoingRun(
              collection: change.collection.name, flags: flags, head: member.head,
              capacity: documents.count - index))
        }
      }
      runs[place].members.append(Member(id: change.id, operationDelta: operationDelta))
      if !isReadable(span[index]) { runs[place].areReadable = false }
      runs[place].check.add(member.step)
      runs[place].values.append(contentsOf: values)
      chosen.append(place)
    }
    let rest = documents.indices.filter { chosen[$0] < 0 || runs[chosen[$0]].members.count < minimum }
    return (runs.filter { $0.members.count >= minimum }, rest.map { documents[$0] })
  }

  /// Appends everything except the collection and the flags.
  ///
  /// The order is: head, checks, ids, then the values column by column.
  func write(to out: inout ByteWriter) {
    let order = order
    head.write(to: &out)
    check.write(to: &out)
    out.writeVarint(members.count)
    var previous: [UInt8] = []
    for place in order {
      let id = members[place].id.bytes
      out.writeRising(id, after: previous)
      previous = id
    }
    let width = head.valueCount
    for column in 0..<width {
      let places = stride(from: column, to: values.count, by: width)
      out.writeVarint(places.reduce(0) { $0 + values[$1].count })
      for place in order {
        out.write(members[place].operationDelta.bytes[values[place * width + column]])
      }
    }
  }

  /// The indices of the members in ascending order of their ids.
  private var order: [Int] {
    // Most ids differ in their first bytes, which are compared as one number; members are expensive to move.
    var order = members.indices.map { (head: members[$0].id.bytes.firstWord, place: $0) }
    order.sort { first, second in
      if first.head != second.head { return first.head < second.head }
      let (first, second) = (members[first.place].id.bytes, members[second.place].id.bytes)
      return first.span.bytes.compare(second.span.bytes) < 0
    }
    return order.map(\.place)
  }
}

extension [UInt8] {
  /// The first eight bytes as a number with the same order; missing bytes count as zeros.
  fileprivate var firstWord: UInt64 {
    let bytes = span.bytes
    if bytes.byteCount >= 8 {
      return UInt64(bigEndian: unsafe bytes.unsafeLoadUnaligned(fromByteOffset: 0, as: UInt64.self))
    }
    var word: UInt64 = 0
    for index in 0..<8 { word = word << 8 | (index < count ? UInt64(self[index]) : 0) }
    return word
  }
}
