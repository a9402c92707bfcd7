import CRDTCore

/// Suggestions for mistyped words.
extension Parser {
  /// The words that may follow any operand.
  private static let infixWords = [
    "AND", "OR", "XOR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR", "ESCAPE", "COLLATE",
  ]

  /// The suggestion for a mistyped keyword.
  ///
  /// The mistyped word is the current one, or the one before it, which may have been read as a name.
  ///
  /// - Parameter words: The words that are allowed here; entries that are not words are ignored.
  /// - Returns: The end of a message; empty where no word is near.
  func hint(_ words: [String]) -> String {
    let keywords = words.filter { $0.utf8.allSatisfy(\.continuesWord) }
    let isOperand = words.contains { $0.isSame(as: "an expression") }
    let tries = [(keywords, 1), (isOperand ? [] : Self.infixWords, 1), (keywords, 3)]
    for (words, reach) in tries {
      guard let wanted = Self.nearest(to: current, among: words, reach: reach) else { continue }
      return ": did you mean '\(wanted)'?"
    }
    let before = tokens[max(index - 1, 0)]
    guard before.start < current.start else { return "" }
    // An ordinary name is more often near a keyword by chance than a word that was read as an alias.
    let reach = before.start == impliedAlias?.start ? 3 : 1
    return Self.nearest(to: before, among: keywords, reach: reach).map { ": did you mean '\($0)'?" } ?? ""
  }

  private static func nearest(to token: Token, among keywords: [String], reach: Int) -> String? {
    guard case .word(let word) = token.kind, !ReservedWords.all.contains(word.uppercased()) else {
      return nil
    }
    let name = word.uppercased()
    // Names of two letters are near too many words.
    guard name.utf8.count > 2 else {
      return keywords.first { !$0.isSame(as: name) && $0.sorted() == name.sorted() }
    }
    return NameDistance.nearest(to: name, among: keywords, reach: reach)
  }
}
