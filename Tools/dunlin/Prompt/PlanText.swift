import CRDTCore
import Facade

/// What a statement answers about itself, as lines that are never cut: each operator of a plan is one.
enum PlanText {
  private static let indent = "  "

  /// The lines of one row of EXPLAIN, ADVISE or SHOW, or of the profile of a statement.
  ///
  /// - Parameter row: The row: a plan that stands alone has no heading.
  /// - Returns: The lines without their ends.
  static func lines(of row: [TextKey: Value]) -> [String] {
    if row.count == 1, let operators = row.values.first.flatMap(maps) { return lines(of: operators, "") }
    let fields = row.sorted { $0.key < $1.key }
    return fields.flatMap { name, value -> [String] in
      let heading = name.text.printable + ":"
      if let operators = maps(value) { return [heading] + lines(of: operators, indent) }
      // Suggestions are whole statements.
      if case .array(let elements) = value, !elements.isEmpty {
        return [heading] + elements.map { indent + text(of: $0) }
      }
      return [heading + " " + text(of: value)]
    }
  }

  private static func lines(of operators: [[TextKey: Value]], _ indent: String) -> [String] {
    let width = operators.map { name(of: $0).columns }.max() ?? 0
    return operators.flatMap { fields in
      lines(name(of: fields).padded(toColumns: width), fields, indent)
    }
  }

  private static func name(of fields: [TextKey: Value]) -> String {
    (fields.string("operator") ?? "").printable
  }

  /// A line with what is said in a word, and lines below it for what has parts of its own.
  private static func lines(_ name: String, _ fields: [TextKey: Value], _ indent: String) -> [String] {
    let fields = fields.filter { $0.key != "operator" }.sorted { $0.key < $1.key }
    let words = fields.filter { maps($0.value) == nil && inputs($0.value) == nil }
      .map { "\($0.key.text.printable): \(text(of: $0.value))" }
    let line = words.isEmpty ? name : name + "  " + words.joined(separator: ", ")
    let deeper = indent + Self.indent
    return [indent + line.trimmingSpaces]
      + fields.flatMap { key, value -> [String] in
        let key = key.text.printable
        if let parts = maps(value) { return parts.flatMap { lines(key, $0, deeper) } }
        return (inputs(value) ?? []).flatMap { [deeper + key] + lines(of: $0, deeper + Self.indent) }
      }
  }

  /// The elements of a list that has maps alone.
  private static func maps(_ value: Value) -> [[TextKey: Value]]? {
    guard case .array(let elements) = value, !elements.isEmpty else { return nil }
    let maps = elements.compactMap { if case .map(let fields) = $0 { fields } else { nil } }
    return maps.count == elements.count ? maps : nil
  }

  /// The plans of the queries that an operator puts together.
  private static func inputs(_ value: Value) -> [[[TextKey: Value]]]? {
    guard case .array(let elements) = value, !elements.isEmpty else { return nil }
    let plans = elements.compactMap(maps)
    return plans.count == elements.count ? plans : nil
  }

  /// A value in a line: strings as they are, everything else as JSON.
  private static func text(of value: Value) -> String {
    switch value {
    case .string(let text): text.printable
    case .array(let elements): "[" + elements.map { text(of: $0) }.joined(separator: ", ") + "]"
    default: JSON.text(of: value).printable
    }
  }
}

extension String {
  fileprivate var trimmingSpaces: String { String(reversed().drop { $0 == " " }.reversed()) }
}
