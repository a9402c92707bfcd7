import Foundation
import TestKit
import Testing

/// The page of limits, whose values are compared with the constants of the source that it names.
@Suite struct LimitsPageTests {
  private struct Row {
    let limit: String
    let value: String
    /// `Type.member`; `nil` where no constant says it.
    let constant: String?
  }

  private static let root = URL(filePath: #filePath).deletingLastPathComponent().deletingLastPathComponent()
    .deletingLastPathComponent()

  private func rows() throws -> [Row] {
    let page = try String(contentsOf: Self.root.appending(path: "Documentation/Limits.md"), encoding: .utf8)
    return try page.split(separator: "\n").filter { $0.hasPrefix("|") }
      .map { $0.split(separator: "|").map { $0.trimmingCharacters(in: .whitespaces) } }
      .filter { $0.first != "limit" && $0.first?.hasPrefix("---") == false }
      .map { cells in
        try #require(cells.count == 4, "\(cells)")
        let constant = cells[3].trimmingCharacters(in: ["`"])
        return Row(limit: cells[0], value: cells[1], constant: constant == "–" ? nil : constant)
      }
  }

  /// The sources of the modules, by file.
  private func sources() throws -> [Data] {
    let modules = Self.root.appending(path: "Modules")
    let files = try #require(FileManager.default.enumerator(at: modules, includingPropertiesForKeys: nil))
    return try files.compactMap { $0 as? URL }.filter { $0.pathExtension == "swift" }
      .map { try Data(contentsOf: $0) }
  }

  /// A number with its unit, in bytes or seconds: `64 KiB`, `5,000,000 bytes`, `30 s`, `7 days`.
  private func amount(_ value: String) throws -> Double {
    let words = value.split(separator: " ")
    let number = try #require(Double(words[0].replacing(",", with: "")), "\(value)")
    guard words.count > 1 else { return number }
    let units: [Substring: Double] = [
      "bytes": 1, "KiB": 1_024, "MiB": 1_048_576, "GiB": 1_073_741_824, "s": 1, "minutes": 60, "hours": 3_600,
      "days": 86_400,
    ]
    return try number * #require(units[words[1]], "\(value)")
  }

  /// What an expression of integers, products and shifts comes to; durations in seconds.
  private func result(of expression: String) -> Double? {
    var text = expression.replacing("_", with: "")
    var unit = 1.0
    if let duration = text.firstMatch(of: /^(?:Duration)?\.(\w+)\((.*)\)/) {
      unit = duration.output.1 == "milliseconds" ? 0.001 : 1
      text = String(duration.output.2)
    }
    if let shift = text.firstMatch(of: /^(\d+) << (\d+)/), let number = Int(shift.output.1),
      let places = Int(shift.output.2)
    {
      return Double(number << places)
    }
    guard let product = text.firstMatch(of: /^\d+(?: \* \d+)*/) else { return nil }
    return product.output.split(separator: " * ").compactMap { Double($0) }.reduce(unit, *)
  }

  /// What a line assigns to a member: of `let name: Type = expression` the expression.
  private func expression(in line: Substring, of member: String) -> Substring? {
    var rest = line
    while let place = rest.range(of: member) {
      let before = line[..<place.lowerBound].last
      rest = rest[place.upperBound...]
      guard before.map({ $0.isLetter || $0.isNumber || $0 == "_" }) != true,
        let equals = rest.range(of: " = ")
      else { continue }
      let type = rest[..<equals.lowerBound]
      if type.isEmpty || type.hasPrefix(": ") && !type.contains(",") { return rest[equals.upperBound...] }
    }
    return nil
  }

  /// The lines of the files in which a type is declared or extended.
  private func lines(of type: String, _ sources: [Data]) -> [Substring] {
    let declarations = ["enum", "struct", "class", "extension"].flatMap { kind in
      [" ", ":", "<"].map { Data("\(kind) \(type)\($0)".utf8) }
    }
    let name = Data(type.utf8)
    return sources.filter { source in
      source.range(of: name) != nil && declarations.contains { source.range(of: $0) != nil }
    }.flatMap { String(decoding: $0, as: UTF8.self).split(separator: "\n") }
  }

  @Test func `the values of the page are those of the source`() throws {
    let (rows, sources) = (try rows(), try sources())
    #expect(rows.count > 60)
    var lines: [String: [Substring]] = [:]
    for row in rows {
      guard let constant = row.constant else { continue }
      // A type in another is named with it.
      let name = constant.split(separator: ".").suffix(2).map(String.init)
      try #require(name.count == 2, "\(constant)")
      let known = lines[name[0]] ?? self.lines(of: name[0], sources)
      lines[name[0]] = known
      var found = known.filter { $0.contains(name[1]) }
        .compactMap { expression(in: $0, of: name[1]).flatMap { result(of: String($0)) } }
      // It is said in milliseconds.
      if name[1] == "maximumDocumentLead" { found = found.map { $0 / 1_000 } }
      let stated = try amount(row.value)
      expect(!found.isEmpty, "\(constant) is not in the source")
      expect(
        found.allSatisfy { $0 == stated },
        "\(row.limit): the page says \(row.value), the source has \(found) for \(constant)")
    }
  }

  @Test func `every constant that all layers share is on the page`() throws {
    let shared = try String(
      contentsOf: Self.root.appending(path: "Modules/CRDTCore/Limits.swift"), encoding: .utf8)
    let names = shared.matches(of: /static let (\w+)/).map { "Limits.\($0.output.1)" }
    let internalNames: Set = ["Limits.pathSteps", "Limits.expressionDepth"]
    let named = Set(try rows().compactMap(\.constant))
    #expect(names.count > 10)
    #expect(Set(names).subtracting(internalNames).subtracting(named) == [])
  }
}
