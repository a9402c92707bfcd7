import CRDTCore
import Failpoints
import Synchronization

/// The values of a constant list, hashed once: to find one of them costs the same however many there are.
///
/// Equal are the values that ``SortOrder`` finds equal: numbers by value whatever their kind, texts by their bytes,
/// and NaN to itself.
final class ConstantList: Sendable {
  /// Shorter lists are gone through.
  static let leastCount = 8

  /// The list as it stands in the expression: as long as it is here, its memory is no other list's.
  let elements: [Value]
  let hasNull: Bool
  private let flags: Set<Bool>
  private let wholeNumbers: Set<Int64>
  /// The bits of numbers that are no `Int64`; all that are no numbers are one.
  private let fractions: Set<UInt64>
  private let texts: KeySet
  private let others: Set<ValueKey>
  /// What in the list compares with decimals; `nil` until the first of them is looked for.
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
    for element in elements.dropLast(QueryDefect.hashedListShort.isPlanted ? 1 : 0) {
      switch element {
      case .null: hasNull = !QueryDefect.hashedListForgetsNull.isPlanted
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
    case (.decimal(let number), .membership), (.decimal(let number), .equalElement): contains(number)
    // Such a function takes a decimal for its text.
    case (.decimal(let number), .containment): contains(.string(number.text))
    case (.decimal, .sameElement): false
    default: contains(value)
    }
  }

  /// Whether a number or the text of one in the list equals a decimal.
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

/// The constant lists of an expression that its tests look for values in, so that no row goes through them.
struct ConstantLists: Sendable {
  /// A list is known by where it lies in memory, which its ``ConstantList`` keeps from becoming another one's.
  private struct Key: Hashable, Sendable {
    let address: UInt
    let count: Int
    let rule: Collation
  }

  private var lists: [Key: ConstantList] = [:]

  init(_ expression: Expression) { add(expression) }

  private mutating func add(_ expression: Expression) {
    // A decimal in the list equals numbers and texts, which no hash of it does.
    if let test = ListTest(expression), test.elements.count >= ConstantList.leastCount,
      !test.elements.contains(where: \.holdsDecimal)
    {
      let key = Self.key(test.elements, test.rule)
      if lists[key] == nil { lists[key] = ConstantList(test.elements, by: test.rule) }
    }
    for child in expression.children { add(child) }
  }

  /// The list with these elements; `nil` where it is none of the expression's own, or a short one.
  func list(_ elements: [Value], by rule: Collation = .binary) -> ConstantList? {
    guard !lists.isEmpty, elements.count >= ConstantList.leastCount else { return nil }
    return lists[Self.key(elements, rule)]
  }

  /// The list that an expression is; `nil` as above.
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
