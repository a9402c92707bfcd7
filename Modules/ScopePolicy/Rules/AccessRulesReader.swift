import CRDTCore
import QueryLanguage
import SyncProtocol

/// Reads rules from JSON, and goes on behind a mistake, so that all of them can be reported.
struct AccessRulesReader {
  private var found: [RulesError] = []

  /// The mistakes in the order of their lines.
  var mistakes: [RulesError] {
    found.enumerated().sorted { ($0.element.line ?? 0, $0.offset) < ($1.element.line ?? 0, $1.offset) }
      .map(\.element)
  }

  /// Reads rules.
  ///
  /// - Parameters:
  ///   - value: The value of the whole text.
  ///   - lines: Its lines; `nil` if they are unknown.
  /// - Returns: The rules; `nil` if there is a mistake.
  mutating func read(_ value: Value, _ lines: JSONTextLines?) -> AccessRules? {
    guard
      var members = attempt({ () throws(RulesError) in
        try JSONMembers<RulesError>(value, of: "the rules", lines: lines)
      })
    else { return nil }
    let read = access("read", in: &members)
    let write = access("write", in: &members)
    found += members.leftovers
    guard found.isEmpty, let read, let write else { return nil }
    let rules = AccessRules(read: read, write: write)
    guard rules.canonical.count <= AccessRules.byteLimit else {
      found.append(RulesText.tooLong("the rules", AccessRules.byteLimit))
      return nil
    }
    return rules
  }

  /// The result of `body`; a mistake is recorded.
  private mutating func attempt<Result>(_ body: () throws(RulesError) -> Result) -> Result? {
    do throws(RulesError) {
      return try body()
    } catch {
      found.append(error)
      return nil
    }
  }

  /// Reads what may be read, or what may be written.
  private mutating func access(
    _ name: TextKey, in rules: inout JSONMembers<RulesError>
  ) -> AccessRules.Access? {
    var members: JSONMembers<RulesError>
    do throws(RulesError) {
      guard let object = try rules.object(name) else { throw rules.fault(name, .missing(.object)) }
      members = object
    } catch {
      found.append(error)
      return nil
    }
    let place = "\(name).queriesByCollection"
    let lines = members.lines?.members["queriesByCollection"]
    var isEverything = false
    var map: [TextKey: Value] = [:]
    do throws(RulesError) {
      map = try members.map("queriesByCollection") ?? [:]
    } catch {
      found.append(error)
    }
    do throws(RulesError) {
      guard let flag = try members.flag("everything") else {
        throw members.fault("everything", .missing(.flag))
      }
      isEverything = flag
    } catch {
      found.append(error)
    }
    found += members.leftovers
    if isEverything, !map.isEmpty {
      found.append(
        RulesError(
          .malformed, "there are queries although \(name).everything is true", at: place, line: lines?.line))
    }
    return AccessRules.Access(isEverything: isEverything, queries: queries(map, at: place, lines))
  }

  private mutating func queries(
    _ map: [TextKey: Value], at place: String, _ lines: JSONTextLines?
  ) -> [TextKey: [RuleQuery]] {
    func line(_ name: TextKey) -> Int { lines?.members[name]?.nameLine ?? 0 }
    var queries: [TextKey: [RuleQuery]] = [:]
    var count = 0
    for name in map.keys.sorted(by: { (line($0), $0) < (line($1), $1) }) {
      let path = "\(place).\(name)"
      let here = lines?.members[name]
      if let mistake = Self.mistake(inName: name.text, at: path, line: here?.nameLine) {
        found.append(mistake)
        continue
      }
      guard case .array(let list)? = map[name] else {
        found.append(
          RulesError(
            .malformed, "it must be a list of queries", at: path, line: here?.line, collection: name.text))
        continue
      }
      count += list.count
      guard count <= AccessRules.queryLimit else {
        found.append(
          RulesError(
            .limit, "there are more than \(AccessRules.queryLimit) queries in all", at: path,
            line: here?.line, collection: name.text))
        return queries
      }
      let read = self.queries(list, of: name, at: path, here)
      if !read.isEmpty { queries[name] = read }
    }
    return queries
  }

  /// Reads the queries of one collection.
  private mutating func queries(
    _ list: [Value], of collection: TextKey, at path: String, _ lines: JSONTextLines?
  ) -> [RuleQuery] {
    var queries: [RuleQuery] = []
    for (index, value) in list.enumerated() {
      let place = "\(path)[\(index)]"
      let line = lines?.elements[index].line
      guard case .string(let text) = value else {
        found.append(
          RulesError(
            .malformed, "a query must be a text", at: place, line: line, collection: collection.text))
        continue
      }
      do throws(QueryError) {
        queries.append(try RuleQuery(Self.trimmed(text), on: collection.text))
      } catch {
        found.append(RulesError(error, at: place, line: line, collection: collection.text))
      }
    }
    return queries
  }

  /// The text without spaces and line ends around it.
  private static func trimmed(_ text: String) -> String {
    let begun = text.drop(while: \.isWhitespace)
    guard let last = begun.lastIndex(where: { !$0.isWhitespace }) else { return "" }
    return String(begun[...last])
  }

  /// What is wrong with a collection's name; `nil` for a name that rules may have.
  private static func mistake(inName name: String, at path: String, line: Int?) -> RulesError? {
    guard !CollectionName.maySync(name) else { return nil }
    let isSystem = name.utf8.starts(with: "__".utf8) || name.utf8.starts(with: "system:".utf8)
    let words =
      isSystem
      ? "the collection is the system's, which no rule can allow"
      : "a collection's name has 1 to \(Limits.collectionNameBytes) bytes, none zero"
    return RulesError(.collectionName, words, at: path, line: line, collection: name)
  }
}
