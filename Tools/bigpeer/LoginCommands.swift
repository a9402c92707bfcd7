#if Server
  import ArgumentParser
  import CRDTCore

  /// Revokes a device key at a server that runs on this machine.
  struct RevokeCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke",
      abstract: "Revoke a device key: its sessions end at once, and it gets no certificate any more.",
      discussion:
        "It is for good. Without a key, the keys that are revoked are listed, each as a line of JSON.")

    @OptionGroup
    var settings: SettingsOptions
    @Argument(help: "The device key, as devices and dunlin key show print it.")
    var key: String?
    @Option(help: "Why, for the audit log.")
    var reason: String?

    func validate() throws {
      guard key != nil || reason == nil else { throw ValidationError("--reason stands beside a device key") }
    }

    func run() async throws {
      let call = try AdminCall(settings)
      guard let key else {
        guard case .array(let all)? = try await call.send("GET", "revocations")["revocations"]
        else { return }
        for revocation in all { print(JSON.text(of: revocation)) }
        return
      }
      var fields: [TextKey: Value] = ["deviceKey": .string(key)]
      if let reason { fields["reason"] = .string(reason) }
      print(JSON.text(of: .map(try await call.send("POST", "revocations", fields))))
    }
  }

  /// Shows the audit log of logins of a server that runs on this machine.
  struct AuditCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "audit",
      abstract: "Show the audit log of logins, each entry as a line of JSON, the oldest first.",
      discussion: """
        Without --after they are the newest. The last line has "next", which --after takes to go on from there.
        """)

    @OptionGroup
    var settings: SettingsOptions
    @Flag(help: "Show logins that were refused in place of issued certificates and revocations.")
    var refusals = false
    @Option(help: ArgumentHelp("Where to begin.", valueName: "position"))
    var after: String?
    @Option(help: "How many entries at most, up to 1000.")
    var count = 100

    func validate() throws {
      guard after.map({ $0.allSatisfy { $0.isASCII && ($0.isLetter || $0.isNumber) } }) ?? true else {
        throw ValidationError("--after takes what an earlier answer has as next")
      }
    }

    func run() async throws {
      let position = after.map { "&after=\($0)" } ?? ""
      let answer = try await AdminCall(settings).send(
        "GET", "audit?list=\(refusals ? "refusals" : "issues")&count=\(count)\(position)")
      guard case .array(let events)? = answer["events"] else { return }
      for event in events { print(JSON.text(of: event)) }
      if let next = answer["next"] { print(JSON.text(of: .map(["next": next]))) }
    }
  }
#endif
