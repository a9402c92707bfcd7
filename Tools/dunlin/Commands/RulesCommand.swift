import ArgumentParser
import CRDTCore
import DocStore
import Foundation
import Links
import ScopePolicy

struct RulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rules", abstract: "Check access rules, and try them on the documents of a store.",
    discussion: """
      Rules say what the users of a role may read and write. Sync enforces those for reading that look at ids alone, and a certificate with others is refused. These commands show what any rules would do. \
      A user is a file such as {"user":{"id":"ann"},"claims":{"team":"red"},"rules":"waiter.json"}. Examples:

        dunlin rules check waiter.json --as ann.json
        dunlin rules try store --as ann.json --rules waiter.json
        dunlin rules diff waiter.json waiter-next.json store --as ann.json --as bob.json
      """,
    subcommands: [Check.self, Try.self, Diff.self])

  struct Check: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "check", abstract: "Find mistakes in a file with rules.",
      discussion: """
        Each mistake is a line on standard error, with the file's line and the place. The status is 1 if there is one. \
        Warnings are on standard output: a query that is never true, a claim that the user does not have. The hash is the one by which \
        a grant names the rules.
        """)

    @Argument(help: "The file with the rules.", completion: .file())
    var file: String
    @Option(
      name: .customLong("as"),
      help: ArgumentHelp("A user whose claims the queries get; may be repeated.", valueName: "user-file"),
      completion: .file())
    var users: [String] = []
    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
      let bytes = try RulesFile.bytes(file)
      let mistakes = AccessRules.mistakes(in: bytes)
      guard mistakes.isEmpty else {
        if json {
          try Output.print(json: [
            "file": .string(file), "isValid": .bool(false), "errors": .array(mistakes.map(\.values)),
          ])
        } else {
          for mistake in mistakes { Output.fail(mistake.text(in: file)) }
        }
        throw ExitCode(ExitStatus.failed)
      }
      let rules = try RulesFile.rules(file)
      var warnings = rules.warnings
      for user in try users.map({ try RulesUser(file: $0) }) {
        warnings += rules.warnings(claims: user.claims, user: user.id).map {
          RulesWarning(path: $0.path, message: "for \(user.name) \($0.message)")
        }
      }
      try json ? Output.print(json: values(of: rules, warnings)) : print(rules, warnings)
    }

    private func print(_ rules: AccessRules, _ warnings: [RulesWarning]) throws {
      func count(_ access: AccessRules.Access) -> String {
        if access.isEverything { return "everything" }
        return access.queryCount == 0 ? "nothing" : access.queryCount.counting("query", "queries")
      }
      try Output.print("read     \(count(rules.read))")
      try Output.print("write    \(count(rules.write))")
      let claims = (rules.takesUser ? ["user.id"] : []) + rules.claims.map { "claims.\($0)" }
      try Output.print("takes    \(claims.isEmpty ? "nothing" : claims.joined(separator: ", "))")
      try Output.print("size     \(rules.canonical.count.asBytes)")
      if let hash = Self.hash(rules) { try Output.print("sha256   \(hash)") }
      for warning in warnings {
        try Output.print("warning  \(warning.path.printable): \(warning.message.printable)")
      }
    }

    private func values(of rules: AccessRules, _ warnings: [RulesWarning]) -> [TextKey: Value] {
      func value(_ access: AccessRules.Access) -> Value {
        .map(["everything": .bool(access.isEverything), "queries": .count(access.queryCount)])
      }
      return [
        "file": .string(file), "isValid": .bool(true), "read": value(rules.read), "write": value(rules.write),
        "claims": .array(rules.claims.map { .string($0.text) }), "takesUser": .bool(rules.takesUser),
        "bytes": .count(rules.canonical.count), "sha256": Self.hash(rules).map { .string($0) } ?? .null,
        "warnings": .array(
          warnings.map { .map(["path": .string($0.path), "message": .string($0.message)]) }),
      ]
    }

    /// The hash of the canonical form; `nil` in a build without encryption.
    private static func hash(_ rules: AccessRules) -> String? {
      #if TLS
        TextDigest.sha256(of: rules.canonical)
      #else
        nil
      #endif
    }
  }

  struct Try: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "try", abstract: "Show what a user could read and write in a store.",
      discussion: """
        By collection it counts the documents that the rules allow, and names the first ten that they do not, with the conditions \
        that are not true. Nothing is written. No other process may have the store open.
        """)

    @Argument(help: "The store's directory.", completion: .directory)
    var store: String
    @Option(
      name: .customLong("as"), help: ArgumentHelp("The file with the user.", valueName: "user-file"),
      completion: .file())
    var user: String
    @Option(
      help: ArgumentHelp(
        "The file with the rules. By default it is the one that the user's file names, from its own folder.",
        valueName: "file"), completion: .file())
    var rules: String?
    @OptionGroup
    var progress: ProgressOption
    @Flag(help: "Print one JSON object.")
    var json = false

    func run() throws {
      let user = try RulesUser(file: user)
      let rules = try RulesFile.rules(try user.rulesPath(given: rules))
      let compiled = CompiledRules(rules, claims: user.claims, user: user.id)
      let trial = try Store.reading(store) { store in
        try RulesTrial(compiled, store, DocumentScan(label: "Trying", place: progress.place))
      }
      for warning in rules.warnings(claims: user.claims, user: user.id) {
        Output.note("warning: \(warning.path.printable): \(warning.message.printable)")
      }
      guard json else { return try Output.print(trial.text) }
      try Output.print(json: ["user": user.id.map { .string($0) } ?? .null, "collections": trial.values])
    }
  }

  struct Diff: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "diff", abstract: "Show who would gain and lose what if rules were replaced.",
      discussion: """
        By user and collection it counts the documents that only one of the two files allows, and names the first ten of each kind. \
        Nothing is written. No other process may have the store open.
        """)

    @Argument(help: "The file with the present rules.", completion: .file())
    var old: String
    @Argument(help: "The file with the rules that would replace them.", completion: .file())
    var new: String
    @Argument(help: "The store's directory.", completion: .directory)
    var store: String
    @Option(
      name: .customLong("as"),
      help: ArgumentHelp(
        "The file with a user; may be repeated. Rules that it names are not looked at.",
        valueName: "user-file"), completion: .file())
    var users: [String] = []
    @OptionGroup
    var progress: ProgressOption
    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
      guard !users.isEmpty else { throw ValidationError("say for whom: --as with the file of a user") }
    }

    func run() throws {
      let users = try users.map { try RulesUser(file: $0) }
      let (old, new) = (try RulesFile.rules(old), try RulesFile.rules(new))
      let difference = try Store.reading(store) { store in
        try RulesDifference(
          users, from: old, to: new, store, DocumentScan(label: "Comparing", place: progress.place))
      }
      guard json else { return try Output.print(difference.text) }
      try Output.print(json: ["users": difference.values])
    }
  }
}

extension Store {
  /// Runs `body` on a store that no other process has open.
  fileprivate static func reading<R>(_ path: String, _ body: (Store) throws -> R) throws -> R {
    let store = try Store.alone(
      path,
      whileRunning:
        "make a copy while it runs with 'dunlin backup \(path) COPY', and try the rules on the copy"
    ) { try Store.open(reading: path) }
    defer { store.close() }
    return try body(store)
  }
}

extension RulesError {
  /// The error for programs.
  fileprivate var values: Value {
    .map([
      "code": .string(code.rawValue), "message": .string(message), "path": .string(path),
      "line": line.map { .count($0) } ?? .null, "collection": collection.map { .string($0) } ?? .null,
    ])
  }
}
