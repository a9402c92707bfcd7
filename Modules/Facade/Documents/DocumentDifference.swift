import CRDTCore

/// The writes that turn a stored document into the one that an application saves, and no others.
///
/// It compares three states: the saved one, the original that its author began with, and the stored one.
/// Where the saved and the original state are equal, the author has changed nothing, and the stored value
/// stays. An application that gives no original means to change everything that differs from the stored
/// document. The stored document is then also the original.
struct DocumentDifference {
  private(set) var edits: [Edit] = []
  private(set) var results: [DunlinUpdateResult] = []
  private let id: DunlinDocumentID
  /// The counts since counters were read; `nil` where the original has the sum that each counter had.
  private let counted: [[TextKey]: Int64]?
  private let leavesOutNil: Bool

  /// Compares the saved state with the stored one.
  ///
  /// - Parameters:
  ///   - saved: The state that the author wants.
  ///   - original: The state that the author began with; `nil` for the stored one.
  ///   - standing: The fields of the stored document.
  ///   - id: The document.
  /// - Complexity: O(*n*) in the fields of the three states, and in the elements of equal arrays.
  init(
    _ saved: SavedFields, from original: SavedFields?, over standing: [TextKey: Value], id: DunlinDocumentID
  ) {
    self.id = id
    counted = original == nil ? saved.counted : nil
    leavesOutNil = saved.leavesOutNil
    compare(saved.fields, original?.fields ?? standing, standing, at: [])
  }

  // MARK: - Maps

  private mutating func compare(
    _ wanted: [TextKey: Value], _ original: [TextKey: Value], _ standing: [TextKey: Value], at path: [TextKey]
  ) {
    let gone = original.keys.filter { wanted[$0] == nil }
    // Two keys may be one text to Swift. A reader of a map with Swift's strings as keys sees only one of
    // them.
    let spellings = gone.isEmpty ? [] : Set(wanted.keys.map(\.text))
    let removed = gone.filter { !spellings.contains($0.text) }
    for key in (Array(wanted.keys) + removed).sorted() where !(path.isEmpty && key == "_id") {
      compare(wanted[key], original[key], standing[key], at: path + [key])
    }
  }

  private mutating func compare(
    _ wanted: Value?, _ original: Value?, _ standing: Value?, at path: [TextKey]
  ) {
    switch wanted {
    case nil: remove(original, standing, at: path)
    case .map(let wanted)?: compareMap(wanted, original, standing, at: path)
    case let wanted?:
      guard !isUnchanged(wanted, original, at: path) else { return }
      if case .counter(let sum)? = standing {
        count(wanted, original, onto: sum, at: path)
      } else if case .counter(let sum) = wanted {
        makeCounter(sum, original, standing, at: path)
      } else if !wanted.isSame(as: standing), !wanted.isUnreadable(standing) {
        set(wanted, at: path)
      }
    }
  }

  private mutating func compareMap(
    _ wanted: [TextKey: Value], _ original: Value?, _ standing: Value?, at path: [TextKey]
  ) {
    let former: [TextKey: Value]? = if case .map(let fields)? = original { fields } else { nil }
    if case .map(let fields)? = standing {
      compare(wanted, former ?? [:], fields, at: path)
    } else if let former {
      // The stored map is gone. What its author has changed is written again, and nothing more.
      compare(wanted, former, [:], at: path)
    } else if standing != nil {
      edits.append(.replace(path, Value.map(wanted).starting(counted ?? [:], at: path)))
      results.append(.set(docID: id, path: path.dotted))
    } else if Value.map(wanted).hasCounter {
      compare(wanted, [:], [:], at: path)
    } else {
      set(.map(wanted), at: path)
    }
  }

  /// Returns whether the author has left the value unchanged.
  private func isUnchanged(_ wanted: Value, _ original: Value?, at path: [TextKey]) -> Bool {
    // The author may have counted although the sum equals the stored one.
    if counted?[path] != nil { return false }
    return wanted.isSame(as: original) && wanted.isCounter == original?.isCounter
  }

  private mutating func remove(_ original: Value?, _ standing: Value?, at path: [TextKey]) {
    guard original != nil, standing != nil else { return }
    // The author's type has left out a field that it had read as `nil`.
    if leavesOutNil, original?.any == nil { return }
    edits.append(.remove(path))
    results.append(.removed(docID: id, path: path.dotted))
  }

  private mutating func set(_ value: Value, at path: [TextKey]) {
    edits.append(.set(path, value))
    results.append(.set(docID: id, path: path.dotted))
  }

  // MARK: - Counters

  /// A whole number over a stored counter adds the difference; any other value replaces the counter.
  private mutating func count(
    _ wanted: Value, _ original: Value?, onto standing: Int64, at path: [TextKey]
  ) {
    guard let number = wanted.wholeNumber else {
      // A fraction cannot be counted: the store refuses it.
      if case .double = wanted { return set(wanted, at: path) }
      edits.append(.replace(path, wanted))
      results.append(.set(docID: id, path: path.dotted))
      return
    }
    increment(by: amount(number, original, standing, at: path), at: path)
  }

  /// How much the author has added to the counter.
  private func amount(_ number: Int64, _ original: Value?, _ standing: Int64, at path: [TextKey]) -> Int64 {
    if let own = counted?[path] { return own }
    return number.minusSaturating(original?.wholeNumber ?? standing)
  }

  private mutating func increment(by amount: Int64, at path: [TextKey]) {
    guard amount != 0 else { return }
    edits.append(.increment(path, amount))
    results.append(.incremented(docID: id, path: path.dotted, amount: Int(amount)))
  }

  /// Makes a counter where there is none.
  private mutating func makeCounter(
    _ sum: Int64, _ original: Value?, _ standing: Value?, at path: [TextKey]
  ) {
    switch standing {
    case nil:
      // As with an upsert: increments add up when several peers create the counter independently.
      edits.append(.increment(path, amount(sum, original, 0, at: path)))
      results.append(.set(docID: id, path: path.dotted))
    case .int(let number)?:
      edits.append(.increment(path, amount(sum, original, number, at: path)))
      results.append(.replacedWithCounter(docID: id, path: path.dotted))
    default:
      edits.append(.replace(path, .counter(counted?[path] ?? sum)))
      results.append(.replacedWithCounter(docID: id, path: path.dotted))
    }
  }
}

extension Value {
  fileprivate var isCounter: Bool { if case .counter = self { true } else { false } }

  /// The value as an integer, if it is a number without a fraction.
  fileprivate var wholeNumber: Int64? {
    switch self {
    case .int(let number), .counter(let number): number
    case .double(let number): Int64(exactly: number)
    default: nil
    }
  }

  fileprivate var hasCounter: Bool {
    switch self {
    case .counter: true
    case .map(let members): members.values.contains(where: \.hasCounter)
    default: false
    }
  }

  /// Returns whether both values look the same to a reader.
  ///
  /// Equal numbers do, whether they are stored as integers or not.
  fileprivate func isSame(as other: Value?) -> Bool {
    switch (self, other) {
    case (.array(let a), .array(let b)?):
      a.count == b.count && zip(a, b).allSatisfy { $0.isSame(as: $1) }
    case (.map(let a), .map(let b)?):
      a.count == b.count && a.allSatisfy { key, value in b[key].map { value.isSame(as: $0) } ?? false }
    case (.int(let a), .double(let b)?), (.double(let b), .int(let a)?): Int64(exactly: b) == a
    case (.int(let a), .counter(let b)?), (.counter(let a), .int(let b)?): a == b
    default: self == other
    }
  }

  /// Returns whether this is null, and the stored value, though it is not null, is read as null.
  fileprivate func isUnreadable(_ standing: Value?) -> Bool {
    guard self == .null, let standing else { return false }
    return standing.any == nil
  }

  /// The value, in which counters that were read have what they have counted since.
  fileprivate func starting(_ counted: [[TextKey]: Int64], at path: [TextKey]) -> Value {
    switch self {
    case .counter(let sum): return .counter(counted[path] ?? sum)
    case .map(let members):
      var started = members
      for (key, value) in members { started[key] = value.starting(counted, at: path + [key]) }
      return .map(started)
    default: return self
    }
  }
}

extension Int64 {
  /// The difference, clamped to 64 bits.
  fileprivate func minusSaturating(_ other: Int64) -> Int64 {
    let (difference, isCut) = subtractingReportingOverflow(other)
    return isCut ? (other > 0 ? .min : .max) : difference
  }
}

extension [TextKey] {
  fileprivate var dotted: String { map(\.text).joined(separator: ".") }
}
