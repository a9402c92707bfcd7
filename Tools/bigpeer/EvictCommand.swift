#if Server
  import ArgumentParser
  import CRDTCore

  /// Makes room in the store of an application, also on a full disk.
  struct EvictCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "evict",
      abstract:
        "Evict documents from the server alone, also while its disk is full, when nothing else can be written.",
      discussion: """
        Devices keep what they have. A document comes back from a device if the server subscribes to it, so subscribe to less first (subscribe, \
        pullKnownCollections; then reload). What no device has is lost: make a backup first.

        Example:
          bigpeer evict --data /var/lib/bigpeer "EVICT FROM logs WHERE time < '2026-01-01'"

        At most 100000 documents are evicted by one call; isComplete says whether there are more.
        """)

    @OptionGroup
    var settings: SettingsOptions
    @Option(help: ArgumentHelp("The statement's arguments, a JSON object.", valueName: "json"))
    var args: String?
    @Argument(help: "EVICT FROM collection WHERE …")
    var statement: String

    func run() async throws {
      var fields: [TextKey: Value] = ["statement": .string(statement)]
      if let args {
        guard case .map(let arguments)? = try? JSON.parse(Array(args.utf8)) else {
          throw ValidationError("--args takes a JSON object")
        }
        fields["args"] = .map(arguments)
      }
      let answer = try await AdminCall(settings, limit: AdminCall.longest).send("POST", "evict", fields)
      print(JSON.text(of: .map(answer)))
    }
  }
#endif
