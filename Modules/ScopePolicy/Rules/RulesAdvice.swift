import CRDTCore
import QueryLanguage

/// A likely mistake in rules that can be used.
package struct RulesWarning: Hashable, Sendable {
  /// The place in the rules, such as `read.queriesByCollection.orders[1]`.
  package let path: String
  /// One sentence without a full stop.
  package let message: String

  package init(path: String, message: String) {
    self.path = path
    self.message = message
  }
}

extension AccessRules {
  /// The likely mistakes for all users.
  package var warnings: [RulesWarning] {
    var warnings: [RulesWarning] = []
    for (path, query) in located {
      if !query.mayAccept {
        warnings.append(RulesWarning(path: path, message: "it is never true, so it allows nothing"))
      }
      if query.language == .dql, query.looksForTextInField {
        warnings.append(
          RulesWarning(
            path: path,
            message: "contains looks for a text in a text; for the element of a list write array_contains"))
      }
    }
    if !read.isEverything {
      for name in write.queries.keys.sorted() where read.queries[name] == nil {
        warnings.append(
          RulesWarning(
            path: "write.queriesByCollection.\(name)",
            message: "read has no query for the collection, so who writes such a document does not see it"))
      }
    }
    return warnings
  }

  /// The likely mistakes for one user: queries that allow nothing because of the claims.
  ///
  /// - Parameters:
  ///   - claims: The user's claims.
  ///   - user: The user's id.
  /// - Returns: A warning for each such query.
  package func warnings(claims: Claims, user: String?) -> [RulesWarning] {
    let arguments = claims.arguments(user: user)
    return located.compactMap { path, query in
      // This is wrong for every user.
      guard query.mayAccept, let part = CollectionRule([query], arguments).parts.first else { return nil }
      if let refusal = part.refusal {
        return RulesWarning(path: path, message: "it allows nothing: \(refusal)")
      }
      guard !part.mayAccept else { return nil }
      return RulesWarning(path: path, message: "it is never true with these claims, so it allows nothing")
    }
  }

  /// All queries with their places, those to read first.
  private var located: [(path: String, query: RuleQuery)] {
    [("read", read), ("write", write)].flatMap { side, access in
      access.queries.sorted { $0.key < $1.key }.flatMap { name, queries in
        queries.enumerated().map { ("\(side).queriesByCollection.\(name)[\($0.offset)]", $0.element) }
      }
    }
  }
}
