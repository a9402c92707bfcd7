import CRDTCore
import Failpoints
import Synchronization

/// The values of a constant list, hashed once: the time to find one does not depend on their number.
///
/// Two values are equal if ``SortOrder`` finds them equal: numbers by value whatever their kind, texts by
/// their bytes, and NaN to itself.
final class ConstantList: Sendable {
  /// Shorter lists are searched element by element.
  static let leastCount = 8

  /// The list of the expression; while it is kept here, no other list can have its memory.
  let elements: [Value]
  let hasNull: Bool
  private let flags: Set<Bool>
  private let wholeNumbers: Set<Int64>
  /// The bits of numbers that are not an `Int64`; all NaN have the same entry.
  private let fractions: Set<UInt64>
  private let texts: KeySet
  private let others: Set<ValueKey>
  /// The decimals of the list's numbers and texts; `nil` until the first search for a decimal.
  private let decimals = Mutex<Set<ExactDecimal>?>(nil)

  /// - Parameters:
  ///   - elements: The list.
  ///   - rule: How its texts are compared.
  init(_ elements: [Value], by rule: Collation) {
    self.elements = elements
    var hasNull = false
    var flags: Set<Bool> = []
    var wholeNumbers: Set<Int64> = []
    var fractions: Set<UInt64> = []
    var texts = KeySet()
    var others: Set<ValueKey> = []
    for element in elements.dropLast(LanguageDefect.hashedListShort.isPlanted ? 1 : 0) {
      switch element {
      case .null: hasNull = !LanguageDefect.hashedListForgetsNull.isPlanted
      case .bool(let flag): flags.insert(flag)
      case .int(let number), .counter(let number): wholeNumbers.insert(number)
      case .double(let number):
        if let whole = Int64(exactly: number) {
          wholeNumbers.insert(whole)
        } else {
          fractions.insert(Self.bits(number))
        }
      case .string(let text):
        _ = texts.insert(Array((rule == .caseInsensitive ? Collation.folded(text) : text).utf8))
      case .bytes, .array, .map, .attachment, .decimal: others.insert(ValueKey(element))
      }
    }
    self.hasNull = hasNull
    self.flags = flags
    self.wholeNumbers = wholeNumbers
    self.fractions = fractions
    self.texts = texts
    self.others = others
  }

  private static func bits(_ number: Double) -> UInt64 { number.isNaN ? 0 : number.bitPattern }

  /// Whether a test finds a value in the list.
  func contains(_ value: Value, for kind: ListTest.Kind) -> Bool {
    switch (value, kind) {
    case (.decimal(let number), .membership), (.decimal(let number), .equalElement),
      (.decimal(let number), .sameElement):
      contains(number)
    // Such a function receives a decimal as its text.
    case (.decimal(let number), .containment): contains(.string(number.text))
    default: contains(value)
    }
  }

  /// Whether a number, or the text of a number, in the list equals a decimal.
  private func contains(_ number: ExactDecimal) -> Bool {
    decimals.withLock { decimals in
      let known = decimals ?? Set(elements.compactMap(\.comparedDecimal))
      decimals = known
      return known.contains(number)
    }
  }

  func contains(_ value: Value) -> Bool {
    switch value {
    case .null: hasNull
    case .bool(let flag): contains(flag)
    case .int(let number), .counter(let number): contains(number)
    case .double(let number): contains(number)
    case .string(let text): text.withUTF8Bytes { contains(text: $0) }
    case .bytes, .array, .map, .attachment, .decimal: others.contains(ValueKey(value))
    }
  }

  func contains(_ flag: Bool) -> Bool { flags.contains(flag) }

  func contains(_ number: Int64) -> Bool { wholeNumbers.contains(number) }

  func contains(_ number: Double) -> Bool {
    if let whole = Int64(exactly: number) { return wholeNumbers.contains(whole) }
    return fractions.contains(Self.bits(number))
  }

  /// Whether a text with these bytes is in the list.
  func contains(text: RawSpan) -> Bool { texts.contains(text) }
}

/// The constant lists of an expression in which its tests search, so that no row searches them one by one.
struct ConstantLists: Sendable {
  /// The address of a list in memory.
  ///
  /// Its ``ConstantList`` prevents that another list gets the same memory.
  private struct Key: Hashable, Sendable {
    let address: UInt
    let count: Int
    let rule: Collation
  }

  private var lists: [Key: ConstantList] = [:]

  init(_ expression: Expression) { add(expression) }

  private mutating func add(_ expression: Expression) {
    // A decimal in the list equals numbers and texts; a hash cannot show that.
    if let test = ListTest(expression), test.elements.count >= ConstantList.leastCount,
      !test.elements.contains(where: \.holdsDecimal)
    {
      let key = Self.key(test.elements, test.rule)
      if lists[key] == nil { lists[key] = ConstantList(test.elements, by: test.rule) }
    }
    for child in expression.children { add(child) }
  }

  /// The list with these elements; `nil` if it is not one of the expression's own, and if it is short.
  func list(_ elements: [Value], by rule: Collation = .binary) -> ConstantList? {
    guard !lists.isEmpty, elements.count >= ConstantList.leastCount else { return nil }
    return lists[Self.key(elements, rule)]
  }

  /// The list for an expression that is a list; `nil` as above.
  func list(_ expression: Expression, by rule: Collation = .binary) -> ConstantList? {
    guard case .literal(.array(let elements)) = expression else { return nil }
    return list(elements, by: rule)
  }

  private static func key(_ elements: [Value], _ rule: Collation) -> Key {
    // SAFETY: the address is compared and never followed.
    let address = unsafe elements.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
    return Key(address: address, count: elements.count, rule: rule)
  }
}
