import CRDTCore
import Synchronization

/// A comparison or an order of a field that is wrong where the field's texts are dates or decimal numbers.
struct TextComparison: Hashable, Sendable {
  enum Kind: Hashable, Sendable {
    /// It is compared with a date, as text.
    case date(String)
    /// It is compared with a number.
    case number
    /// It is compared with the text of a number by its order, or is a key of the result's order.
    case order
  }

  let collection: TextKey
  let path: FieldPath
  let kind: Kind
}

extension Select {
  /// The comparisons and keys that may be wrong, of a query on one collection.
  ///
  /// - Complexity: O(*n*) in the nodes of the condition.
  func textComparisons(_ arguments: [TextKey: Value]) -> [TextComparison] {
    guard joins.isEmpty else { return [] }
    var found: [(path: FieldPath, kind: TextComparison.Kind)] = []
    predicate?.gatherTextComparisons(arguments, &found)
    for case .path(let path) in order.map(\.expression) where path.first != .key("_id") {
      found.append((path, .order))
    }
    return found.map { TextComparison(collection: source.$collection, path: $0.path, kind: $0.kind) }
  }
}

extension Expression {
  fileprivate func gatherTextComparisons(
    _ arguments: [TextKey: Value], _ found: inout [(path: FieldPath, kind: TextComparison.Kind)]
  ) {
    switch self {
    case .binary(let symbol, .path(let path), let other), .binary(let symbol, let other, .path(let path)):
      guard let isOrder = symbol.isOrder else { return }
      other.gather(comparedWith: path, isOrder: isOrder, arguments, &found)
    case .between(.path(let path), let low, let high, _):
      for bound in [low, high] { bound.gather(comparedWith: path, isOrder: true, arguments, &found) }
    case .and(let terms), .or(let terms):
      for term in terms { term.gatherTextComparisons(arguments, &found) }
    case .unary(_, let operand): operand.gatherTextComparisons(arguments, &found)
    default: return
    }
  }

  /// Records what comparing this constant with a field means.
  private func gather(
    comparedWith path: FieldPath, isOrder: Bool, _ arguments: [TextKey: Value],
    _ found: inout [(path: FieldPath, kind: TextComparison.Kind)]
  ) {
    guard path.first != .key("_id"), let value = constant(arguments) else { return }
    switch value {
    case .int, .double, .counter: found.append((path, .number))
    case .string(let text) where DateText.milliseconds(of: text) != nil: found.append((path, .date(text)))
    case .string(let text) where isOrder && ExactDecimal(text) != nil: found.append((path, .order))
    case .string, .null, .bool, .bytes, .array, .map, .attachment, .decimal: return
    }
  }

  /// The value of a literal, an argument, or a function of these.
  private func constant(_ arguments: [TextKey: Value]) -> Value? {
    switch self {
    case .literal(let value): return value
    case .parameter(let name): return arguments[name]
    case .call where paths.isEmpty:
      if case .literal(let value)? = try? binding(arguments) { return value }
      return nil
    default: return nil
    }
  }
}

extension BinaryOperator {
  /// Whether a comparison depends on the order of its operands; `nil` for other operators.
  fileprivate var isOrder: Bool? {
    switch self {
    case .less, .lessOrEqual, .greater, .greaterOrEqual: true
    case .equal, .notEqual, .same, .notSame: false
    case .add, .subtract, .multiply, .divide, .remainder, .concatenate, .xor, .shiftLeft, .shiftRight: nil
    }
  }
}

extension TextComparison {
  /// The most documents whose values are examined.
  static let sampleCount = 8

  /// A sentence about the mistake, if some values of the field show that it is one.
  func message(for samples: [Value]) -> String? {
    let texts = samples.compactMap { if case .string(let text) = $0 { text } else { nil } }
    guard !texts.isEmpty, texts.count == samples.count else { return nil }
    let field = "the field '\(Printer.text(of: path).prefix(64))' of '\(collection.text)'"
    switch kind {
    case .date(let text):
      guard texts.allSatisfy({ DateText.milliseconds(of: $0) != nil }),
        texts.contains(where: { !DateText.areSpelledAlike($0, text) })
      else { return nil }
      return "\(field) has dates in another spelling than the date with which a query compares it, and texts "
        + "are compared: date_cast on both sides compares the moments"
    case .number:
      guard texts.allSatisfy({ ExactDecimal($0) != nil }) else { return nil }
      return "\(field) has numbers as texts, and a query compares it with a number, which is never true: "
        + "decimal() of the field compares numbers"
    case .order:
      // Texts of one length, such as postal codes, have the order of their numbers.
      guard texts.allSatisfy({ ExactDecimal($0)?.text.isSame(as: $0) == true }),
        Set(texts.map(\.utf8.count)).count > 1
      else { return nil }
      return "\(field) has numbers as texts, and a query orders or compares them as texts, so '10' is before "
        + "'9': decimal() of the field compares numbers"
    }
  }
}

/// The first values of fields, which are read once.
final class FieldSamples: Sendable {
  private struct Field: Hashable, Sendable {
    let collection: TextKey
    let path: FieldPath

    init(_ comparison: TextComparison) { (collection, path) = (comparison.collection, comparison.path) }
  }

  private struct Sample: Sendable {
    var values: [Value] = []
    var tries = 0
  }

  /// The most fields that are remembered; of further ones nothing is known.
  private static let limit = 1_024
  /// The most times that a field without values is read.
  private static let tryLimit = 4

  private let samples = Mutex<[Field: Sample]>([:])

  /// The values of a field; `nil` if they are still to be read.
  func known(_ comparison: TextComparison) -> [Value]? {
    samples.withLock { samples in
      guard let sample = samples[Field(comparison)] else { return samples.count < Self.limit ? nil : [] }
      return sample.values.isEmpty && sample.tries < Self.tryLimit ? nil : sample.values
    }
  }

  /// Remembers the values of a field; no message needs those of a field that has not only texts.
  func remember(_ values: [Value], of comparison: TextComparison) {
    let areTexts = values.allSatisfy { if case .string = $0 { true } else { false } }
    samples.withLock { samples in
      let tries = samples[Field(comparison)]?.tries ?? 0
      samples[Field(comparison)] =
        areTexts ? Sample(values: values, tries: tries + 1) : Sample(tries: Self.tryLimit)
    }
  }
}

extension Engine {
  /// Reports comparisons that some values of the field show to be mistakes.
  func note(
    _ comparisons: [TextComparison], in source: borrowing some RecordSource & ~Copyable,
    _ context: StatementContext
  ) {
    for comparison in comparisons {
      var samples = fieldSamples.known(comparison)
      if samples == nil {
        // A damaged document must not end a query that may not read it.
        do { samples = try sample(comparison, in: source) } catch { samples = [] }
        if let samples { fieldSamples.remember(samples, of: comparison) }
      }
      guard let message = comparison.message(for: samples ?? []) else { continue }
      note([.textComparison(message)], context)
    }
  }

  /// The values of a field in some documents; `nil` where there is no such collection yet.
  private func sample(
    _ comparison: TextComparison, in source: borrowing some RecordSource & ~Copyable
  ) throws -> [Value]? {
    guard try source.collection(comparison.collection.text) != nil else { return nil }
    let select = Select(
      collection: comparison.collection.text, limit: .literal(.int(Int64(TextComparison.sampleCount))))
    let rows = try SelectPlan(select, [:], .empty).rows(in: source, SystemFacts(self), StatementContext())
    return try rows.compactMap { row in
      let value = try Value.map(row.values()).value(at: comparison.path)
      return value == .null ? nil : value
    }
  }
}
