import CRDTCore
import PeerControl

/// What an observer's diffs come to, by the ids of the documents; they must add up to what is there.
///
/// Of the documents that were there at first only the number is told.
struct ObservedSet {
  private var initial: Int?
  /// Documents that came since, and those of the first ones that went.
  private var present: Set<String> = []
  private var gone: Set<String> = []
  private(set) var faults: [String] = []
  private(set) var diffs = 0

  /// Takes the next of an observer's events.
  mutating func take(_ event: [TextKey: Value]) {
    if case .int(let count)? = event["initial"] {
      if initial != nil { faults.append("an observer began twice") }
      initial = Int(count)
      return
    }
    if initial == nil { faults.append("an observer told of a change before what there was") }
    diffs += 1
    for id in event.ids("deletions") where present.remove(id) == nil && !gone.insert(id).inserted {
      faults.append("an observer saw \(id) go twice")
    }
    for id in event.ids("insertions") where gone.remove(id) == nil && !present.insert(id).inserted {
      faults.append("an observer saw \(id) come twice")
    }
    for id in event.ids("updates") where gone.contains(id) {
      faults.append("an observer saw \(id) change after it went")
    }
  }

  /// Whether all diffs together lead to just these documents.
  func leads(to ids: Set<String>) -> Bool {
    present.isSubset(of: ids) && gone.isDisjoint(with: ids)
      && (initial ?? 0) + present.count - gone.count == ids.count
  }
}

extension [TextKey: Value] {
  fileprivate func ids(_ key: String) -> [String] {
    guard case .array(let values)? = self[key] else { return [] }
    return values.compactMap { if case .string(let id) = $0 { id } else { nil } }
  }
}
