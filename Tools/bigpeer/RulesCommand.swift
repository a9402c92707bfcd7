#if Server
  import ArgumentParser
  import CRDTCore
  import Foundation
  import RulesTool
  import ScopePolicy
  import Synchronization

  struct RulesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rules",
      abstract: "Check access rules, and try them on the documents of a server while it runs.",
      discussion: """
        The files are those of dunlin rules: a user is a file such as {"user":{"id":"ann"},"claims":{"team":"red"},"rules":"waiter.json"}. \
        Examples:

          bigpeer rules check waiter.json
          bigpeer rules try --data /var/lib/bigpeer --as ann.json
          bigpeer rules diff --data /var/lib/bigpeer waiter.json waiter-next.json --as ann.json --as bob.json
        """,
      subcommands: [Check.self, Try.self, Diff.self])

    struct Check: ParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "check", abstract: "Find mistakes in a file with rules; no server is needed.",
        discussion: """
          Each mistake is a line on standard error, with the file's line and the place. The status is 1 if there is one. Warnings are \
          on standard output.
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
          print(json ? JSON.text(of: .map(summary.values)) : summary.lines.joined(separator: "\n"))
        } catch let mistakes as RulesMistakes {
          if json {
            print(JSON.text(of: .map(mistakes.values)))
          } else {
            for line in mistakes.lines { ErrorText.write(line) }
          }
          throw ExitCode.failure
        }
      }
    }

    struct Try: AsyncParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "try", abstract: "Show what a user could read and write at a server that runs.",
        discussion: """
          By collection it counts the documents that the rules allow, and names the first ten that they do not, with the conditions \
          that are not true. Nothing is written.
          """)

      @OptionGroup
      var settings: SettingsOptions
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
      var bounds: TrialBounds

      func run() async throws {
        let user = try RulesUser(file: user)
        let rules = try RulesFile.rules(try user.rulesPath(given: rules))
        var fields = user.fields
        fields["rules"] = try rules.value
        let result = try await RulesAnswer.of("rules/try", fields, settings, bounds)
        for warning in rules.warnings(claims: user.claims, user: user.id) {
          ErrorText.write("warning: \(warning.line)")
        }
        let collections = result["collections"] ?? .array([])
        guard bounds.json else { return print(RulesTrialText.of(collections)) }
        print(
          JSON.text(
            of: .map([
              "user": user.id.map { .string($0) } ?? .null, "collections": collections,
              "isComplete": result["isComplete"] ?? .null,
            ])))
      }
    }

    struct Diff: AsyncParsableCommand {
      static let configuration = CommandConfiguration(
        commandName: "diff",
        abstract: "Show who would gain and lose what at a server that runs, if rules were replaced.",
        discussion: """
          By user and collection it counts the documents that only one of the two files allows, and names the first ten of each kind. \
          Nothing is written.
          """)

      @OptionGroup
      var settings: SettingsOptions
      @Argument(help: "The file with the present rules.", completion: .file())
      var old: String
      @Argument(help: "The file with the rules that would replace them.", completion: .file())
      var new: String
      @Option(
        name: .customLong("as"),
        help: ArgumentHelp("The file with a user; up to 20.", valueName: "user-file"), completion: .file())
      var users: [String] = []
      @OptionGroup
      var bounds: TrialBounds

      func validate() throws {
        guard !users.isEmpty else { throw ValidationError("say for whom: --as with the file of a user") }
      }

      func run() async throws {
        let users = try users.map { try RulesUser(file: $0) }
        let fields: [TextKey: Value] = [
          "old": try RulesFile.rules(old).value, "new": try RulesFile.rules(new).value,
          "users": .array(users.map { .map($0.fields) }),
        ]
        let result = try await RulesAnswer.of("rules/diff", fields, settings, bounds)
        let differences = result["users"] ?? .array([])
        guard bounds.json else { return print(RulesDifferenceText.of(differences, users)) }
        print(
          JSON.text(
            of: .map([
              "users": RulesDifferenceText.values(differences, users),
              "isComplete": result["isComplete"] ?? .null,
            ])))
      }
    }
  }

  /// How long rules are tried, and how the result is printed.
  struct TrialBounds: ParsableArguments {
    @Option(help: "The most seconds for which documents are judged, 1 to 3600.")
    var seconds = 60
    @Flag(help: "Print one JSON object.")
    var json = false

    func validate() throws {
      guard 1...3_600 ~= seconds else { throw ValidationError("--seconds takes 1 to 3600") }
    }
  }

  extension AccessRules {
    /// The rules as a member of a request.
    fileprivate var value: Value { get throws { try JSON.parse(canonical) } }
  }

  extension RulesUser {
    /// The user as members of a request.
    fileprivate var fields: [TextKey: Value] {
      var fields: [TextKey: Value] = ["claims": .map(claims.values)]
      if let id { fields["user"] = .string(id) }
      return fields
    }
  }

  /// The lines that the server answers while it tries rules.
  private final class RulesAnswer: Sendable {
    private let state = Mutex((bytes: Data(), result: [TextKey: Value]?.none))
    private let isTerminal = isatty(STDERR_FILENO) == 1

    /// Has the server try rules, and shows the progress on a terminal.
    ///
    /// - Returns: The last line; where it is not complete, standard error says so.
    /// - Throws: `CommandError` if there is no last line.
    static func of(
      _ path: String, _ fields: [TextKey: Value], _ settings: SettingsOptions, _ bounds: TrialBounds
    ) async throws -> [TextKey: Value] {
      let answer = RulesAnswer()
      var fields = fields
      fields["seconds"] = .count(bounds.seconds)
      let call = try AdminCall(settings, limit: .seconds(bounds.seconds + 60))
      defer { answer.clear() }
      try await call.receive(path, "POST", fields) { try answer.take($0) }
      guard let result = answer.state.withLock({ $0.result }) else {
        throw CommandError("the server's answer broke off: its log may say why")
      }
      if result["isComplete"] != .bool(true) {
        answer.clear()
        ErrorText.write(
          "warning: the time was over after \(counts(result)): --seconds gives more")
      }
      return result
    }

    private static func counts(_ line: [TextKey: Value]) -> String {
      func number(_ name: TextKey) -> String {
        guard case .int(let number)? = line[name] else { return "?" }
        return Int(clamping: number).groupedDigits
      }
      return "\(number("documents")) of \(number("of")) documents"
    }

    private func take(_ more: Data) throws {
      let lines = state.withLock { state in
        state.bytes.append(more)
        var lines: [Data] = []
        while let end = state.bytes.firstIndex(of: UInt8(ascii: "\n")) {
          lines.append(state.bytes[..<end])
          state.bytes = Data(state.bytes[(end + 1)...])
        }
        return lines
      }
      for line in lines {
        guard case .map(let fields) = try JSON.parse(Array(line)) else {
          throw CommandError("the server answers with something else than lines of JSON")
        }
        if fields["isComplete"] != nil {
          state.withLock { $0.result = fields }
        } else if isTerminal {
          write("\r\u{1B}[2KJudging  \(Self.counts(fields))")
        }
      }
    }

    private func clear() { if isTerminal { write("\r\u{1B}[2K") } }

    private func write(_ text: String) { try? FileHandle.standardError.write(contentsOf: Data(text.utf8)) }
  }
#endif
