import CRDTCore
import DocStore

/// Live changes that are alike: one writer's writes of one time to the same fields of documents of one collection.
struct OutgoingRun {
  /// Fewer are not worth a run's head.
  static let minimum = 8

  struct Member {
    let id: [UInt8]
    /// Holds the values.
    let successor: [UInt8]
    let part: RunPart
  }

  let collection: String
  let flags: UInt8
  let head: RunHead
  var members: [Member] = []

  /// Takes runs out of documents that have successors, in the order of their first members; `flags` is what the
  /// receiver is told of each.
  ///
  /// - Returns: The runs, and the documents that are in none, in their order.
  static func gather(
    _ documents: [LiveDocument], flags: (LiveDocument) -> UInt8, isEligible: (LiveDocument) -> Bool
  ) throws(CodecError) -> (runs: [OutgoingRun], rest: [LiveDocument]) {
    struct Key: Hashable {
      let collection: UInt32
      let flags: UInt8
      let head: RunHead
    }
    var places: [Key: Int] = [:]
    var latest: (key: Key, place: Int)?
    var runs: [OutgoingRun] = []
    var chosen: [Int?] = []
    chosen.reserveCapacity(documents.count)
    for document in documents {
      guard isEligible(document), let successor = document.successor, let part = try RunPart(successor) else {
        chosen.append(nil)
        continue
      }
      let key = Key(collection: document.collection.id, flags: flags(document), head: part.head)
      let place: Int
      if let latest, latest.key == key {
        place = latest.place
      } else {
        place = places[key] ?? runs.count
        (places[key], latest) = (place, (key, place))
      }
      if place == runs.count {
        runs.append(
          OutgoingRun(collection: document.collection.name, flags: key.flags, head: part.head))
        runs[place].members.reserveCapacity(documents.count - chosen.count)
      }
      runs[place].members.append(Member(id: document.id.bytes, successor: successor.bytes, part: part))
      chosen.append(place)
    }
    let rest = documents.indices.filter { index in
      chosen[index].map { runs[$0].members.count < minimum } ?? true
    }
    return (runs.filter { $0.members.count >= minimum }, rest.map { documents[$0] })
  }

  /// Appends all but the collection and the flags: head, checks, ids, then the values column by column.
  func write(to out: inout ByteWriter) {
    let order = order
    head.write(to: &out)
    var check = RunCheck()
    for member in members { check.add(member.part.step) }
    check.write(to: &out)
    out.writeVarint(members.count)
    var previous: [UInt8] = []
    for place in order {
      let id = members[place].id
      out.writeRising(id, after: previous)
      previous = id
    }
    for column in 0..<head.valueCount {
      out.writeVarint(members.reduce(0) { $0 + $1.part.values[column].count })
      for place in order { out.write(members[place].successor[members[place].part.values[column]]) }
    }
  }

  /// Places of the members by ascending ids; members themselves are much to move about.
  private var order: [Int] {
    members.indices.sorted { first, second in
      let (first, second) = (members[first].id, members[second].id)
      return first.span.bytes.compare(second.span.bytes) < 0
    }
  }
}
