#if Server
  import ArgumentParser
  import BigPeer
  import Links

  /// Asks a server whether it is there, for a container's or a supervisor's check.
  struct HealthCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "health",
      abstract: "Ask the server that runs here whether it is there: status 0 says yes, and 1 no.",
      discussion: "With --ready it says whether the server can serve, as GET /readyz does, and why not.")

    @OptionGroup
    var settings: SettingsOptions
    @Flag(help: "Ask whether it can serve all that it should.")
    var ready = false

    /// How long the server may take.
    private static let patience = Duration.seconds(4)

    func run() async throws {
      guard let address = try settings.ofServer.admin.listen else {
        throw CommandError("the server's configuration switches the admin's listener off")
      }
      var client = HTTPSClient()
      client.limits.answering = Self.patience
      let url = "http://\(address)/\(ready ? "readyz" : "healthz")"
      let answer: HTTPSAnswer
      do {
        answer = try await client.send("GET", to: HTTPSAddress(request: url, allowsPlain: true))
      } catch let error as WebError {
        throw CommandError("nobody answers at \(address): \(error.message)")
      } catch let error as AddressFault {
        throw CommandError("\(url) is no address: \(error.reason)")
      }
      let text = String(decoding: answer.body, as: UTF8.self)
      guard answer.status == 200 else { throw CommandError("status \(answer.status): \(text)") }
      print(text, terminator: text.hasSuffix("\n") ? "" : "\n")
    }
  }
#endif
