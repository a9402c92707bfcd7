package import CRDTCore

/// A value as a key of sets and groups: keys are equal where queries find the values equal.
///
/// This includes null and MISSING. Numbers are equal by value whatever their kind, strings by their bytes,
/// and NaN is equal to itself.
package struct ValueKey: Hashable, Sendable {
  package let value: Value?

  package init(_ value: Value?) { self.value = value }

  package static func == (left: ValueKey, right: ValueKey) -> Bool {
    SortOrder.compare(left.value, right.value) == 0
  }

  package func hash(into hasher: inout Hasher) { Self.hash(value, into: &hasher) }

  private static func hash(_ value: Value?, into hasher: inout Hasher) {
    switch value {
    case .int(let number), .counter(let number): hasher.combine(number)
    case .double(let number):
      if let whole = Int64(exactly: number) {
        hasher.combine(whole)
      } else {
        hasher.combine(number.isNaN ? 0 : number.bitPattern)
      }
    case .string(let text):
      var text = text
      text.withUTF8 { unsafe hasher.combine(bytes: UnsafeRawBufferPointer($0)) }
    case .array(let elements):
      hasher.combine(elements.count)
      for element in elements { hash(element, into: &hasher) }
    case .map(let members):
      // The order of the members is not fixed, so the hashes of the members are added.
      var sum = 0
      for (key, value) in members {
        var member = Hasher()
        member.combine(key)
        hash(value, into: &member)
        sum &+= member.finalize()
      }
      hasher.combine(sum)
    case .null, .bool, .bytes, .attachment, .decimal, nil: hasher.combine(value)
    }
  }
}

extension Value {
  /// About the bytes of memory that the value uses.
  package var memoryBytes: Int {
    switch self {
    case .null, .bool, .int, .double, .counter: 32
    case .string(let text): 32 + text.utf8.count
    case .bytes(let bytes): 64 + bytes.count
    case .decimal: 96
    case .attachment: 160
    case .array(let elements): elements.reduce(64) { $0 + $1.memoryBytes }
    case .map(let members): members.reduce(96) { $0 + $1.key.utf8.count + 32 + $1.value.memoryBytes }
    }
  }
}
