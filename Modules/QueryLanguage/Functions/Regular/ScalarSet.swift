/// The Unicode scalars that one step of a regular expression accepts.
struct ScalarSet: Hashable, Sendable {
  /// Inclusive, sorted and disjoint.
  private(set) var ranges: [ClosedRange<UInt32>] = []

  static let last: UInt32 = 0x10_FFFF
  static let all = ScalarSet([0...last])
  static let digits = ScalarSet([0x30...0x39])
  static let letters = ScalarSet([0x41...0x5A, 0x61...0x7A])
  static let words = ScalarSet([0x30...0x39, 0x41...0x5A, 0x5F...0x5F, 0x61...0x7A])
  static let spaces = ScalarSet([0x09...0x0D, 0x20...0x20])
  static let newline = ScalarSet([0x0A...0x0A])

  init(_ ranges: [ClosedRange<UInt32>] = []) {
    for range in ranges.sorted(by: { $0.lowerBound < $1.lowerBound }) {
      if let last = self.ranges.last, range.lowerBound <= last.upperBound &+ 1 {
        self.ranges[self.ranges.count - 1] = last.lowerBound...max(last.upperBound, range.upperBound)
      } else {
        self.ranges.append(range)
      }
    }
  }

  init(_ scalar: UInt32) { ranges = [scalar...scalar] }

  /// Every scalar that is not in the set.
  var complement: ScalarSet {
    var result: [ClosedRange<UInt32>] = []
    var next: UInt32 = 0
    for range in ranges {
      if range.lowerBound > next { result.append(next...range.lowerBound - 1) }
      next = range.upperBound &+ 1
    }
    if next <= Self.last { result.append(next...Self.last) }
    return ScalarSet(result)
  }

  func union(_ other: ScalarSet) -> ScalarSet { ScalarSet(ranges + other.ranges) }

  func subtracting(_ other: ScalarSet) -> ScalarSet { complement.union(other).complement }

  /// - Complexity: O(log *n*) in the ranges.
  func contains(_ scalar: UInt32) -> Bool {
    var low = 0
    var high = ranges.count
    while low < high {
      let middle = (low + high) / 2
      if ranges[middle].contains(scalar) { return true }
      if ranges[middle].lowerBound > scalar { high = middle } else { low = middle + 1 }
    }
    return false
  }
}

/// A set in the form that a step tests; it is decided beforehand whether case counts.
struct ScalarTest: Hashable, Sendable {
  /// The set's only range, which needs no further memory.
  private let sole: ClosedRange<UInt32>?
  /// The set, if it has several ranges or none.
  private let set: ScalarSet
  private let ignoresCase: Bool
  private let isNegated: Bool
  /// The first and the second half of ASCII, one bit for each scalar.
  private var low: UInt64 = 0
  private var high: UInt64 = 0

  /// - Parameters:
  ///   - set: The scalars to accept.
  ///   - ignoresCase: Whether a scalar is accepted when its counterpart in the other case is.
  ///   - isNegated: Whether all other scalars are accepted instead.
  init(_ set: ScalarSet, ignoresCase: Bool, isNegated: Bool) {
    sole = set.ranges.count == 1 ? set.ranges[0] : nil
    self.set = sole == nil ? set : ScalarSet()
    self.ignoresCase = ignoresCase
    self.isNegated = isNegated
    for scalar in UInt32(0)..<128 where asks(scalar) {
      if scalar < 64 { low |= 1 << scalar } else { high |= 1 << (scalar - 64) }
    }
  }

  func accepts(_ scalar: UInt32) -> Bool {
    if scalar < 64 { return low >> scalar & 1 == 1 }
    if scalar < 128 { return high >> (scalar - 64) & 1 == 1 }
    return asks(scalar)
  }

  /// The bytes of memory of its ranges.
  var rangeBytes: Int {
    self.set.ranges.isEmpty ? 0 : 32 + self.set.ranges.count * MemoryLayout<ClosedRange<UInt32>>.stride
  }

  private func contains(_ scalar: UInt32) -> Bool { sole?.contains(scalar) ?? set.contains(scalar) }

  private func asks(_ scalar: UInt32) -> Bool {
    var found = contains(scalar)
    if !found, ignoresCase, scalar < 128 {
      found = ScalarSet.letters.contains(scalar) && contains(scalar ^ 0x20)
    } else if !found, ignoresCase, let properties = Unicode.Scalar(scalar)?.properties {
      for mapping in [properties.lowercaseMapping, properties.uppercaseMapping]
      where mapping.unicodeScalars.count == 1 {
        found = found || mapping.unicodeScalars.contains { contains($0.value) }
      }
    }
    return found != isNegated
  }
}
