package import CRDTCore

/// The value of one aggregate over the rows of one group; rows are added and, where wanted, removed.
///
/// The result never depends on the order of the rows. Without rows that count it is MISSING, but 0 for COUNT.
package struct Accumulator: Sendable {
  private enum State: Sendable {
    case count(Int)
    case sum(ExactSum)
    /// The least and the greatest so far.
    case bounds(least: Value?, greatest: Value?)
    case values(OrderedValues)
    /// For values that may be removed; the sum is over the distinct ones.
    case counted(CountedValues, distinctSum: ExactSum)
  }

  private let aggregate: Aggregate
  private let distinct: Bool
  private let countsRows: Bool
  private var state: State
  /// The most values that were kept at one time.
  private var mostKept = 0

  /// - Parameters:
  ///   - aggregate: The aggregate to compute.
  ///   - distinct: Whether equal values count once.
  ///   - countsRows: COUNT(*): every row counts, whatever its value.
  ///   - subtractable: Whether rows may be removed, for which some aggregates keep all values.
  package init(
    _ aggregate: Aggregate, distinct: Bool = false, countsRows: Bool = false, subtractable: Bool = false
  ) {
    self.aggregate = aggregate
    self.distinct = distinct
    self.countsRows = countsRows
    let kept: State =
      subtractable ? .counted(CountedValues(), distinctSum: ExactSum()) : .values(OrderedValues())
    switch aggregate {
    case .count: state = distinct && !countsRows ? kept : .count(0)
    case .sum, .avg: state = distinct ? kept : .sum(ExactSum())
    case .min, .max, .mid: state = subtractable ? kept : .bounds(least: nil, greatest: nil)
    case .median: state = kept
    }
  }

  /// Adds the value of the aggregate's operand in a row.
  ///
  /// - Returns: Whether more values are kept now than ever before.
  @discardableResult
  package mutating func add(_ value: Value?) -> Bool {
    change(value, by: 1)
    guard case .values(let values) = state, values.keptCount > mostKept else { return false }
    mostKept = values.keptCount
    return true
  }

  /// Removes a row that was added; only allowed if the accumulator was made with `subtractable`.
  package mutating func remove(_ value: Value?) { change(value, by: -1) }

  private mutating func change(_ value: Value?, by sign: Int) {
    guard countsRows || counts(value) else { return }
    switch state {
    case .count(let count): state = .count(count + sign)
    case .sum(var sum):
      guard let value else { return }
      // The old state must not share the sum's memory, or each change would copy it.
      state = .count(0)
      if sign > 0 { sum.add(value) } else { sum.remove(value) }
      state = .sum(sum)
    case .bounds(let least, let greatest):
      precondition(sign > 0, "rows are taken from an accumulator that was not made for it")
      guard let value = value?.withoutCounter else { return }
      state = .bounds(
        least: least.map { OrderedValues.compare($0, value) <= 0 ? $0 : value } ?? value,
        // Of an equal integer and double the integer is the result, as for the least value.
        greatest: greatest.map { SortOrder.compare($0, value) > 0 || Self.precedes($0, value) ? $0 : value }
          ?? value)
    case .values(var values):
      precondition(sign > 0, "rows are taken from an accumulator that was not made for it")
      guard let value else { return }
      state = .count(0)
      values.insert(value)
      state = .values(values)
    case .counted(var values, var sum):
      guard let value = value?.withoutCounter else { return }
      state = .count(0)
      let effect = sign > 0 ? values.insert(value) : values.remove(value)
      if aggregate == .sum || aggregate == .avg {
        if let left = effect.left { sum.remove(left) }
        if let entered = effect.entered { sum.add(entered) }
      }
      state = .counted(values, distinctSum: sum)
    }
  }

  /// Whether the left value is equal to the right one and is the one to show.
  private static func precedes(_ left: Value, _ right: Value) -> Bool {
    SortOrder.compare(left, right) == 0 && OrderedValues.compare(left, right) <= 0
  }

  /// Whether the aggregate counts a row with this value.
  private func counts(_ value: Value?) -> Bool {
    guard let value, value != .null else { return false }
    switch aggregate {
    case .count: return value != .bool(false)
    case .min, .max: return true
    case .sum, .avg, .median, .mid: return SortOrder.Class(value) == .number || value.isDecimal
    }
  }

  /// The aggregate's value now; `nil` is MISSING.
  ///
  /// - Complexity: O(1); O(*n*) in the values that are kept, for MEDIAN and DISTINCT.
  package mutating func result() -> Value? {
    switch state {
    case .count(let count): return .int(Int64(count))
    case .sum(let sum): return aggregate == .avg ? sum.mean : sum.value
    case .bounds(let least, let greatest): return bound(least, greatest)
    case .values(var values):
      state = .count(0)
      defer { state = .values(values) }
      return result(of: &values)
    case .counted(let values, let sum): return result(of: values, sum)
    }
  }

  private func result(of values: CountedValues, _ distinctSum: ExactSum) -> Value? {
    switch aggregate {
    case .count: .int(Int64(values.distinctCount))
    case .sum: distinctSum.value
    case .avg: distinctSum.mean
    case .min, .max, .mid: bound(values.least, values.greatest)
    case .median: distinct ? values.distinctMedian : values.median
    }
  }

  private func result(of values: inout OrderedValues) -> Value? {
    switch aggregate {
    case .count: return .int(Int64(values.distinct().count))
    case .sum, .avg:
      var sum = ExactSum()
      for entry in values.distinct() { sum.add(entry.value) }
      return aggregate == .avg ? sum.mean : sum.value
    case .min, .max, .mid:
      let entries = values.entries()
      var greatest = entries.last?.value
      if entries.count > 1, let last = greatest {
        let before = entries[entries.count - 2].value
        if SortOrder.compare(before, last) == 0 { greatest = before }
      }
      return bound(entries.first?.value, greatest)
    case .median: return Self.median(distinct ? values.distinct() : values.entries(), distinct: distinct)
    }
  }

  private func bound(_ least: Value?, _ greatest: Value?) -> Value? {
    switch aggregate {
    case .min: least
    case .max: greatest
    case .mid:
      least.flatMap { least in greatest.flatMap { Self.middle(least, $0) } }
    case .count, .sum, .avg, .median: nil
    }
  }

  /// Half the sum: an integer where both are integers and the sum is even, otherwise a double.
  private static func middle(_ least: Value, _ greatest: Value) -> Value? {
    if least.isDecimal || greatest.isDecimal {
      guard let half = ExactDecimal("0.5").map(Value.decimal) else { return nil }
      return Arithmetic.apply(.multiply, Arithmetic.apply(.add, least, greatest), half)
    }
    if let low = least.wholeNumber, let high = greatest.wholeNumber {
      let sum = Int128(low) + Int128(high)
      return sum % 2 == 0 ? .int(Int64(sum / 2)) : .double(Double(sum) / 2)
    }
    guard let low = least.number, let high = greatest.number, low.isFinite, high.isFinite else { return nil }
    return .double(low / 2 + high / 2)
  }

  /// The median of the sorted values; of an even number, the first of the two in the middle.
  private static func median(_ entries: [OrderedValues.Entry], distinct: Bool) -> Value? {
    let count = entries.reduce(0) { $0 + (distinct ? 1 : $1.count) }
    var position = (count - 1) / 2
    for entry in entries where count > 0 {
      position -= distinct ? 1 : entry.count
      if position < 0 { return entry.value }
    }
    return nil
  }
}

extension Value {
  /// The value, with a counter replaced by its integer.
  package var withoutCounter: Value {
    if case .counter(let number) = self { .int(number) } else { self }
  }
}
