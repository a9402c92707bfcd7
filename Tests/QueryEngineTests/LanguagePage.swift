import CRDTCore
import Foundation
import Testing

/// A page on the language, taken apart into its examples.
struct LanguagePage {
  /// A statement, or a predicate of the builder language, and what comes of it.
  struct Example {
    var text: String
    var rows: [Value] = []
    /// Part of the message, where it fails.
    var failure: String?
  }

  /// An expression and its value.
  struct Expectation {
    var expression: String
    /// `nil` for MISSING.
    var value: Value?
    /// Part of the message, where it fails.
    var failure: String?
  }

  let text: String

  init(_ name: String) throws {
    let url = URL(filePath: #filePath).resolvingSymlinksInPath()
      .appending(path: "../../../Documentation/\(name).md").standardized
    text = try String(contentsOf: url, encoding: .utf8)
  }

  private var lines: [Substring] { text.split(separator: "\n", omittingEmptySubsequences: false) }

  /// The lines between fences of a language; of none for the grammar.
  func fenced(_ language: String) -> [Substring] {
    var fence: Substring?
    return lines.filter { line in
      guard line.hasPrefix("```") else { return fence == language[...] }
      fence = fence == nil ? line.dropFirst(3) : nil
      return false
    }
  }

  /// The statements of the page in order, each to the semicolon at the end of a line.
  func statements() throws -> [Example] {
    var examples: [Example] = []
    var statement = ""
    for line in fenced("dql") {
      if line.hasPrefix("-- => ") {
        let last = try #require(examples.indices.last)
        examples[last].rows.append(try JSON.parse(String(line.dropFirst(6))))
      } else if line.hasPrefix("-- ! ") {
        let last = try #require(examples.indices.last)
        examples[last].failure = String(line.dropFirst(5))
      } else {
        statement += line + "\n"
        if line.hasSuffix(";") {
          examples.append(Example(text: statement))
          statement = ""
        }
      }
    }
    #expect(statement.isEmpty, "a statement has no end: \(statement)")
    return examples
  }

  /// The predicates of the builder language, each with the ids that it finds.
  func predicates() throws -> [Example] {
    try fenced("builder").map { line in
      if let failing = line.range(of: " -- ! ") {
        return Example(
          text: Self.trimmed(line[..<failing.lowerBound]), failure: String(line[failing.upperBound...]))
      }
      let arrow = try #require(line.range(of: " -- =>"), "\(line)")
      guard case .array(let ids) = try JSON.parse("[\(line[arrow.upperBound...])]") else {
        throw CocoaError(.fileReadCorruptFile)
      }
      return Example(text: Self.trimmed(line[..<arrow.lowerBound]), rows: ids)
    }
  }

  /// The cells of the tables, row by row, with their escapes undone.
  var tableRows: [[String]] {
    lines.filter { $0.hasPrefix("| ") }.map { line in
      line.replacingOccurrences(of: "\\|", with: "\u{1}").split(
        separator: "|", omittingEmptySubsequences: false
      )
      .map { Self.trimmed($0).replacingOccurrences(of: "\u{1}", with: "|") }.dropFirst().dropLast()
    }
    .map(Array.init)
  }

  /// What tables say of expressions: `e` → `value`, with semicolons between them, in the last cell of a row.
  func expectations() throws -> [Expectation] {
    try tableRows.flatMap { row in
      try (row.last ?? "").components(separatedBy: "`; `").filter { $0.contains(" → ") }.map { item in
        let parts = item.components(separatedBy: " → ")
        let (left, right) = (Self.unquoted(parts[0]), Self.unquoted(parts[1]))
        if parts[1].hasPrefix("!") {
          return Expectation(expression: left, failure: Self.trimmed(parts[1].dropFirst()[...]))
        }
        return Expectation(expression: left, value: right == "MISSING" ? nil : try JSON.parse(right))
      }
    }
  }

  /// How functions and aggregates are called: the code in the first cells of their tables.
  func signatures() -> [String] {
    var signatures: [String] = []
    var isInside = false
    for row in tableRows {
      if !row[0].hasPrefix("`") {
        isInside = ["Function", "Aggregate"].contains(row[0])
      } else if isInside {
        signatures += row[0].split(separator: "`", omittingEmptySubsequences: false).enumerated()
          .filter { $0.offset % 2 == 1 }.map { String($0.element) }
      }
    }
    return signatures
  }

  /// The name of a function and the number of its arguments, where a signature has commas between them.
  static func arity(of signature: String) -> (name: String, arity: ClosedRange<Int>)? {
    guard let open = signature.firstIndex(of: "("), signature.last == ")", signature == signature.lowercased()
    else { return nil }
    let inside = signature[signature.index(after: open)...].dropLast()
    let start = inside.firstIndex(of: "[") ?? inside.endIndex
    let count = { (part: Substring) in
      part.split(separator: ",").count { trimmed($0).contains { $0.isLetter || $0.isNumber } }
    }
    let least = count(inside[..<start])
    return (
      String(signature[..<open]),
      least...(inside.contains("…") ? .max : least + count(inside[start...]))
    )
  }

  private static func unquoted(_ code: String) -> String {
    code.trimmingCharacters(in: CharacterSet(charactersIn: "` "))
  }

  private static func trimmed(_ text: Substring) -> String { text.trimmingCharacters(in: .whitespaces) }

  /// The words in capitals of a text.
  static func keywords(in text: some StringProtocol) -> Set<String> {
    let words = String(text).unicodeScalars.split {
      !($0.isASCII && ($0.properties.isAlphabetic || $0 == "_"))
    }
    return Set(words.map { String($0) }.filter { $0.count > 1 && $0 == $0.uppercased() })
  }
}
