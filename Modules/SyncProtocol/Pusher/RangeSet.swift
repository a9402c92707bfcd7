import CRDTCore

/// Ranges that do not overlap, for looking up ids.
struct RangeSet {
  private var ranges: [TextKey: [KeyRange]] = [:]

  mutating func insert(_ range: KeyRange) {
    var known = ranges.removeValue(forKey: range.collection) ?? []
    // A peer may request very many ranges: a linear search for each would be quadratic.
    var (low, high) = (0, known.count)
    while low < high {
      let middle = (low + high) / 2
      if range.from.lexicographicallyPrecedes(known[middle].from) { high = middle } else { low = middle + 1 }
    }
    known.insert(range, at: low)
    ranges[range.collection] = known
  }

  var isEmpty: Bool { ranges.isEmpty }

  /// Returns the part of a collection that the ranges cover.
  func coverage(of collection: String) -> Coverage {
    guard let ranges = ranges[collection] else { return .nothing }
    if let first = ranges.first, ranges.count == 1, first.from.isEmpty, first.to.isEmpty { return .all }
    return .ranges(ranges)
  }

  /// The part of one collection that the ranges cover.
  enum Coverage {
    case nothing
    case all
    case ranges([KeyRange])

    func contains(_ id: RawSpan) -> Bool {
      switch self {
      case .nothing: return false
      case .all: return true
      case .ranges(let ranges):
        var low = 0
        var high = ranges.count
        while low < high {
          let middle = (low + high) / 2
          let from = ranges[middle].from
          if id.compare(from.span.bytes) < 0 { high = middle } else { low = middle + 1 }
        }
        guard low > 0 else { return false }
        let end = ranges[low - 1].to
        return end.isEmpty || id.compare(end.span.bytes) < 0
      }
    }
  }
}
