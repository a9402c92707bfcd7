import CRDTCore
import DocStore

extension Intake {
  /// Starts to make the filter of the ids held in a collection, which the sender asked for.
  ///
  /// Once a generation of the interest is enough.
  func makeFilter(_ collection: String) {
    guard interest.covers(collection), filtered.insert(collection).inserted else { return }
    guard mayTell(collection) else { return sendFilter(nil, collection) }
    tasks.append(.filter(RangeScan(KeyRange(collection: collection)), nil, cursor: []))
  }

  /// Sends a filter, or, where there is none or it may not be told any more, one that says nothing.
  private func sendFilter(_ filter: IDFilter?, _ collection: String) {
    let frames: [[UInt8]]
    if let filter, let cleared = context.gatekeeper?.clear(collection) {
      frames = FilterFrame.frames(cleared, generation: generation, filter)
    } else {
      frames = FilterFrame.everything(generation: generation, collection)
    }
    for frame in frames { context.send(frame) }
  }

  func runFilter(
    _ scan: RangeScan, _ filter: IDFilter?, from cursor: [UInt8], budget: inout Int
  ) throws(SyncError) {
    var scan = scan
    guard var filter else {
      try context.advance(&scan, &interest, budget: &budget)
      let filter = scan.isDone ? IDFilter(count: scan.digest.whole.count) : nil
      return tasks.prepend(.filter(scan, filter, cursor: []))
    }
    var interest = interest
    var left = budget
    var next: [UInt8]?
    let name = scan.range.collection
    try context.read { transaction in
      guard let collection = try transaction.collection(name), let matcher = interest.matcher(for: collection)
      else { return }
      try transaction.forEachIntactRecord(in: collection, from: cursor, damaged: context.tellDamaged) {
        _, id, _, record in
        guard left > 0 else {
          next = id.copied
          return false
        }
        left -= 1
        if matcher.matches(id, record) { filter.insert(id) }
        return true
      }
    }
    budget = left
    self.interest = interest
    if let next { tasks.prepend(.filter(scan, filter, cursor: next)) } else { sendFilter(filter, name) }
  }
}
