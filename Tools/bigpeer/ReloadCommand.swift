#if Server
  import ArgumentParser

  /// Has a server that runs on this machine take certificates that were renewed.
  struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reload",
      abstract: "Have the server read certificates and keys again that were replaced on disk.",
      discussion: """
        New connections and logins use them, and what runs goes on. If a file is not right, the command says so, and the server goes on with \
        what it has. The configuration itself is not read again.
        """)

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws { try await AdminCall(settings).send("POST", server: "reload") }
  }
#endif
