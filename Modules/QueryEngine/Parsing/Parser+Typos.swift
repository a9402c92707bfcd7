import CRDTCore

/// What mistyped words were probably meant to be.
extension Parser {
  /// The words that may stand behind any operand.
  private static let infixWords = [
    "AND", "OR", "XOR", "NOT", "IS", "IN", "BETWEEN", "LIKE", "ILIKE", "SIMILAR", "ESCAPE", "COLLATE",
  ]

  /// What a word that is no keyword was probably meant to be: the one here, or the one before it, which may have been
  /// taken for a name.
  ///
  /// - Parameter words: What could stand here; what is no word is passed over.
  /// - Returns: The end of a message; nothing where no word is near.
  func hint(_ words: [String]) -> String {
    let keywords = words.filter { $0.utf8.allSatisfy(\.continuesWord) }
    let isOperand = words.contains("an expression")
    let tries = [(keywords, 1), (isOperand ? [] : Self.infixWords, 1), (keywords, 3)]
    for (words, reach) in tries {
      guard let wanted = Self.nearest(to: current, among: words, reach: reach) else { continue }
      return ": did you mean '\(wanted)'?"
    }
    let before = tokens[max(index - 1, 0)]
    guard before.start < current.start else { return "" }
    // A name by chance is more often near to a word than what was taken for an alias.
    let reach = before.start == impliedAlias?.start ? 3 : 1
    return Self.nearest(to: before, among: keywords, reach: reach).map { ": did you mean '\($0)'?" } ?? ""
  }

  private static func nearest(to token: Token, among keywords: [String], reach: Int) -> String? {
    guard case .word(let word) = token.kind, !ReservedWords.all.contains(word.uppercased()) else {
      return nil
    }
    let name = word.uppercased()
    // Two letters are near to too much.
    guard name.utf8.count > 2 else { return keywords.first { $0 != name && $0.sorted() == name.sorted() } }
    return NameDistance.nearest(to: name, among: keywords, reach: reach)
  }
}
