package import CRDTCore
import Links
package import ScopePolicy

/// What `rules check` says about rules.
package struct RulesSummary {
  private let file: String
  private let rules: AccessRules
  private let warnings: [RulesWarning]

  /// Reads a file.
  ///
  /// - Parameters:
  ///   - file: The file.
  ///   - users: Users whose claims the queries get.
  /// - Throws: `RulesFileError` for a file that cannot be read; `RulesMistakes` for one with mistakes.
  package init(file: String, users: [RulesUser]) throws {
    let bytes = try RulesFile.bytes(file)
    let mistakes = AccessRules.mistakes(in: bytes)
    guard mistakes.isEmpty else { throw RulesMistakes(file: file, all: mistakes) }
    let rules = try RulesFile.rules(file)
    var warnings = rules.warnings
    for user in users {
      warnings += rules.warnings(claims: user.claims, user: user.id).map {
        RulesWarning(path: $0.path, message: "for \(user.name) \($0.message)")
      }
    }
    (self.file, self.rules, self.warnings) = (file, rules, warnings)
  }

  /// The lines for people.
  package var lines: [String] {
    func count(_ access: AccessRules.Access) -> String {
      if access.isEverything { return "everything" }
      return access.queryCount == 0 ? "nothing" : access.queryCount.counting("query", "queries")
    }
    let claims = (rules.takesUser ? ["user.id"] : []) + rules.claims.map { "claims.\($0)" }
    return [
      "read     \(count(rules.read))", "write    \(count(rules.write))",
      "takes    \(claims.isEmpty ? "nothing" : claims.joined(separator: ", "))",
      "size     \(Self.text(ofBytes: rules.canonical.count))",
    ] + (hash.map { ["sha256   \($0)"] } ?? []) + warnings.map { "warning  \($0.line)" }
  }

  /// The members of the object for programs.
  package var values: [TextKey: Value] {
    func value(_ access: AccessRules.Access) -> Value {
      .map(["everything": .bool(access.isEverything), "queries": .count(access.queryCount)])
    }
    return [
      "file": .string(file), "isValid": .bool(true), "read": value(rules.read), "write": value(rules.write),
      "claims": .array(rules.claims.map { .string($0.text) }), "takesUser": .bool(rules.takesUser),
      "bytes": .count(rules.canonical.count), "sha256": hash.map { .string($0) } ?? .null,
      "warnings": .array(
        warnings.map { .map(["path": .string($0.path), "message": .string($0.message)]) }),
    ]
  }

  private static func text(ofBytes count: Int) -> String {
    guard count >= 10_000 else { return "\(count) B" }
    let tenths = (count + 50) / 100
    return "\(tenths / 10).\(tenths % 10) KB"
  }

  /// The hash of the canonical form; `nil` in a build without encryption.
  private var hash: String? {
    #if TLS
      TextDigest.sha256(of: rules.canonical)
    #else
      nil
    #endif
  }
}

/// All mistakes of a file with rules.
package struct RulesMistakes: Error {
  let file: String
  let all: [RulesError]

  /// A line for each, with the file and the place.
  package var lines: [String] { all.map { $0.text(in: file) } }

  /// The members of the object for programs.
  package var values: [TextKey: Value] {
    [
      "file": .string(file), "isValid": .bool(false),
      "errors": .array(
        all.map { error in
          .map([
            "code": .string(error.code.rawValue), "message": .string(error.message),
            "path": .string(error.path), "line": error.line.map { .count($0) } ?? .null,
            "collection": error.collection.map { .string($0) } ?? .null,
          ])
        }),
    ]
  }
}

extension RulesWarning {
  /// The place and the message as one line.
  package var line: String { "\(PlainText.of(path)): \(PlainText.of(message))" }
}
