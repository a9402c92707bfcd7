import ArgumentParser
import CRDTCore
import DocStore
import RulesTool
import ScopePolicy

struct RulesCommand: ParsableCommand {
  static let configuration = CommandConfiguration(
    commandName: "rules", abstract: "Check access rules, and try them on the documents of a store.",
    discussion: """
      Rules say what the users of a role may read and write. Sync enforces those for reading; a certificate with rules that restrict writing is refused. These commands show what any rules would do. \
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
      do {
        let summary = try RulesSummary(file: file, users: try users.map { try RulesUser(file: $0) })
        if json { return try Output.print(json: summary.values) }
        for line in summary.lines { try Output.print(line) }
      } catch let mistakes as RulesMistakes {
        if json {
          try Output.print(json: mistakes.values)
        } else {
          for line in mistakes.lines { Output.fail(line) }
        }
        throw ExitCode(ExitStatus.failed)
      }
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
      var trial = RulesTrial(compiled)
      try Store.judge(store, by: &trial, "Trying", progress)
      for warning in rules.warnings(claims: user.claims, user: user.id) {
        Output.note("warning: \(warning.line)")
      }
      guard json else { return try Output.print(RulesTrialText.of(trial.values)) }
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
      var difference = RulesDifference(users.map { ($0.id, $0.claims) }, from: old, to: new)
      try Store.judge(store, by: &difference, "Comparing", progress)
      guard json else { return try Output.print(RulesDifferenceText.of(difference.values, users)) }
      try Output.print(json: ["users": RulesDifferenceText.values(difference.values, users)])
    }
  }
}

extension Store {
  /// Judges all documents of a store that no other process has open, and shows the progress.
  fileprivate static func judge(
    _ path: String, by judge: inout some RulesJudge, _ label: String, _ progress: ProgressOption
  ) throws {
    let store = try Store.alone(
      path,
      whileRunning:
        "make a copy while it runs with 'dunlin backup \(path) COPY', and try the rules on the copy"
    ) { try Store.open(reading: path) }
    defer { store.close() }
    var scan = try RulesScan(store)
    var bar = Progress(label, total: scan.total, place: progress.place)
    defer { bar.clear() }
    while try scan.next(&judge) { bar.update(scan.count) }
  }
}
