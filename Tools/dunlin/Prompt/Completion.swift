import CRDTCore
import Facade
import QueryEngine

/// Completes a word when the user presses Tab: with commands, keywords or names of the store.
///
/// The text before the word decides between these. Names are read from the store when they are first needed,
/// and again once they may have changed.
final class Completion {
  /// The words of DQL that are typed most.
  private static let words = [
    "ADVISE", "ALTER", "AND", "BETWEEN", "COUNT", "CREATE", "DELETE", "DESC", "DISTINCT", "DOCUMENTS", "DROP",
    "EVICT", "EXPLAIN", "FROM", "GROUP", "HAVING", "INDEX", "INSERT", "INTO", "IS", "JOIN", "LIKE", "LIMIT",
    "MISSING", "NULL", "OFFSET", "ORDER", "PROFILE", "SELECT", "SHOW", "SYSTEM", "UNION", "UPDATE", "WHERE",
  ]
  /// A collection follows these.
  private static let sourceWords: Set<String> = ["FROM", "INTO", "UPDATE", "JOIN", ".SCHEMA"]
  /// What may follow a command.
  private static let commandWords = [".mode": ["csv", "json", "table"], ".timer": ["off", "on"]]

  /// Others write into a store that a running peer has open.
  private static let lifetime = Duration.seconds(10)
  /// Of the time, so much at most is spent on learning names.
  private static let learningShare = 20
  /// Documents of a collection that are looked at for its fields.
  private static let documents = 50

  private let source: any StatementSource
  private var collections: [String] = []
  private var fields: [String] = []
  /// When names must be learnt anew.
  private var expiry: ContinuousClock.Instant?

  init(_ source: any StatementSource) { self.source = source }

  /// Takes that a statement may have written names that are not known.
  func forgetNames() { expiry = nil }

  /// What a word may become; all of one kind.
  ///
  /// Names keep their case; keywords match in any case. Capitals select keywords before names.
  ///
  /// - Parameters:
  ///   - word: What is typed of it.
  ///   - before: What stands before it in the statement.
  /// - Returns: Whole words.
  func candidates(for word: String, after before: String) -> [String] {
    let words = before.split(whereSeparator: \.isWhitespace)
    if words.isEmpty { return Self.all(word.hasPrefix(".") ? DotCommand.names : Self.words, like: word) }
    if let choices = Self.commandWords[String(words[0])] { return Self.all(choices, like: word) }
    learnNames()
    let last = words.last?.uppercased() ?? ""
    if before.last?.isWhitespace == true, Self.sourceWords.contains(last) {
      let found = Self.names(collections, word)
      return last == ".SCHEMA" ? found : found.map(Self.quoted)
    }
    if before.hasSuffix(".") { return Self.names(fields, word).map(Self.quoted) }
    let names = Self.names(Set(fields + collections).sorted(), word)
    if before.hasSuffix("`") { return names.map { $0 + "`" } }
    let keywords = Self.all(Self.words, like: word)
    let isExact = names.first?.hasPrefix(word) ?? false
    let prefersNames = isExact && word.contains(where: \.isLowercase)
    return prefersNames || keywords.isEmpty ? names.map(Self.quoted) : keywords
  }

  /// A name as a statement takes it: in backticks where it is a keyword, or no plain word.
  private static func quoted(_ name: String) -> String {
    Expression.path([.key(TextKey(name))]).description
  }

  /// Those that begin with a word, in its capitals if there are any, else in others.
  private static func names(_ names: [String], _ word: String) -> [String] {
    let exact = names.filter { $0.hasPrefix(word) }
    return exact.isEmpty ? all(names, like: word) : exact
  }

  /// Those that begin with a word, in any capitals.
  private static func all(_ names: [String], like word: String) -> [String] {
    names.filter { $0.lowercased().hasPrefix(word.lowercased()) }
  }

  private func learnNames() {
    let start = ContinuousClock.now
    if let expiry, start < expiry { return }
    // Without an answer, what was known stays.
    if let schema = try? source.schema(of: nil, documents: Self.documents) {
      let known = schema.objects("collections")
      collections = known.compactMap { $0.string("name") }
      fields = Set(known.flatMap { $0.objects("fields").compactMap { $0.string("name") } }).sorted()
    }
    let now = ContinuousClock.now
    expiry = now + max(Self.lifetime, (now - start) * Self.learningShare)
  }
}
