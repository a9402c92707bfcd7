package import CRDTCore
import Links

/// What `rules try` prints for people: a table, then the documents that are not allowed.
package enum RulesTrialText {
  /// The text.
  ///
  /// - Parameter collections: What was found of each collection, as `RulesTrial` has it.
  /// - Returns: Lines without the last line end.
  package static func of(_ collections: Value) -> String {
    var table = TextTable(["collection", "documents", "read", "write"], rightAligned: [1, 2, 3])
    var lines: [String] = []
    for row in collections.elements {
      let name = PlainText.of(row.text("collection"))
      let (all, readable, writable) = (row.count("documents"), row.count("readable"), row.count("writable"))
      table.add([name, all.groupedDigits, readable.groupedDigits, writable.groupedDigits])
      lines += Self.lines(row.list("unreadable"), of: all - readable, "read", name)
      lines += Self.lines(row.list("unwritable"), of: all - writable, "write", name)
    }
    return ([table.text] + lines).joined(separator: "\n")
  }

  private static func lines(_ refused: [Value], of count: Int, _ verb: String, _ name: String) -> [String] {
    guard count > 0 else { return [] }
    var lines = ["", "cannot \(verb) \(count.counting("document")) of \(name):"]
    for document in refused {
      let all = document.list("reasons").compactMap(\.string)
      let reasons =
        all.count > 1
        ? all.enumerated().map { "[\($0)] \($1)" }.joined(separator: "; ")
        : all.first ?? "the rules have no query for the collection"
      let id = JSON.text(of: document.member("_id"))
      lines.append("  \(PlainText.of(id))  \(PlainText.of(reasons))")
    }
    let more = count - refused.count
    if more > 0 { lines.append("  and \(more.groupedDigits) more") }
    return lines
  }
}

/// What `rules diff` prints: who gains and loses what.
package enum RulesDifferenceText {
  /// The text for people.
  ///
  /// - Parameters:
  ///   - differences: What was found for each user, as `RulesDifference` has it.
  ///   - users: The users, in the same order.
  /// - Returns: Lines without the last line end.
  package static func of(_ differences: Value, _ users: [RulesUser]) -> String {
    var table = TextTable(
      ["user", "collection", "reads more", "reads less", "writes more", "writes less"],
      rightAligned: [2, 3, 4, 5])
    var lines: [String] = []
    for (user, difference) in zip(users, differences.elements) {
      for row in difference.list("collections") {
        let collection = PlainText.of(row.text("collection"))
        let changes = [
          ("gains to read", "readGained"), ("loses to read", "readLost"),
          ("gains to write", "writeGained"), ("loses to write", "writeLost"),
        ].map { ($0, row.member(TextKey($1))) }
        table.add([user.name, collection] + changes.map { $1.count("documents").groupedDigits })
        for (verb, documents) in changes where documents.count("documents") > 0 {
          lines.append("\(user.name) \(verb) in \(collection): \(list(documents))")
        }
      }
    }
    guard !lines.isEmpty else { return "Nobody gains or loses anything" }
    return ([table.text, ""] + lines).joined(separator: "\n")
  }

  private static func list(_ documents: Value) -> String {
    let all = documents.list("ids")
    let ids = all.map { PlainText.of(JSON.text(of: $0)) }.joined(separator: ", ")
    let more = documents.count("documents") - all.count
    return more > 0 ? "\(ids) and \(more.groupedDigits) more" : ids
  }

  /// What is printed for programs: the differences with the users' files.
  ///
  /// - Parameters:
  ///   - differences: What was found for each user, as `RulesDifference` has it.
  ///   - users: The users, in the same order.
  /// - Returns: A list.
  package static func values(_ differences: Value, _ users: [RulesUser]) -> Value {
    .array(
      zip(users, differences.elements).map { user, difference in
        guard case .map(var members) = difference else { return difference }
        members["file"] = .string(user.file)
        return .map(members)
      })
  }
}

extension Value {
  /// The elements; none of another value than a list.
  fileprivate var elements: [Value] {
    guard case .array(let elements) = self else { return [] }
    return elements
  }

  fileprivate var string: String? {
    guard case .string(let text) = self else { return nil }
    return text
  }

  fileprivate func member(_ name: TextKey) -> Value {
    guard case .map(let members) = self else { return .null }
    return members[name] ?? .null
  }

  fileprivate func list(_ name: TextKey) -> [Value] { member(name).elements }

  fileprivate func text(_ name: TextKey) -> String { member(name).string ?? "" }

  fileprivate func count(_ name: TextKey) -> Int {
    guard case .int(let number) = member(name) else { return 0 }
    return Int(clamping: number)
  }
}
