#if Server
  import ArgumentParser
  import CRDTCore

  /// Has a server that runs on this machine take its configuration, and certificates that were renewed.
  struct ReloadCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "reload",
      abstract: "Have the server read its configuration again, and the certificates and keys that it names.",
      discussion: """
        New connections, requests and logins use what is new. Applications are added, removed and changed; for some settings an application is \
        closed and opened again. If anything is not right, the command says all of it, and the server goes on with what it has. The answer names \
        settings that need a restart.

        The server reads the file and the flags that it was started with.
        """)

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      let answer = try await AdminCall(settings, limit: AdminCall.longest).send("POST", server: "reload")
      print(JSON.text(of: .map(answer)))
    }
  }
#endif
