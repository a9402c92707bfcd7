import CRDTCore

/// What the texts of rules and of grants share.
enum RulesText {
  /// Reads a text with its lines.
  static func parse(
    _ text: [UInt8], limit: Int, _ what: String
  ) throws(RulesError) -> (value: Value, lines: JSONTextLines) {
    guard text.count <= limit else { throw tooLong(what, limit) }
    do {
      return try JSON.parseWithLines(text)
    } catch {
      throw RulesError(error, in: text)
    }
  }

  static func tooLong(_ what: String, _ limit: Int, at path: String = "", line: Int? = nil) -> RulesError {
    let subject = path.isEmpty ? "\(what) take" : "it takes"
    return RulesError(.limit, "\(subject) more than \(limit) bytes", at: path, line: line)
  }

  static func notCanonical(_ what: String) -> RulesError {
    RulesError(
      .notCanonical, "\(what) must have the canonical form: sorted members and queries, and no spaces")
  }
}
