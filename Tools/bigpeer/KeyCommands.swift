#if Server
  import ArgumentParser
  import BigPeer
  import CRDTCore
  import Foundation
  import Links

  /// The API keys of a server that runs on this machine.
  struct KeyCommand: ParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "key",
      abstract: "Make, list, rotate and revoke the API keys of web back ends, at the server that runs here.",
      discussion: """
        Example: a key that may write, for 90 days.
          bigpeer key make --data /var/lib/bigpeer --name shop --right write --days 90
        Example: a key for two collections.
          bigpeer key make --data /var/lib/bigpeer --name till --collection orders=write --collection menus=read
        """,
      subcommands: [
        MakeKeyCommand.self, ListKeysCommand.self, RotateKeyCommand.self, RevokeKeyCommand.self,
      ])
  }

  struct MakeKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "make", abstract: "Make a key and print it; it is shown this once.")

    @OptionGroup
    var settings: SettingsOptions
    @Option(help: "What the key is called.")
    var name: String
    @Option(help: "read or write, in all collections; read when not given.")
    var right: String?
    @Option(
      help: ArgumentHelp(
        "A collection, and what the key may do there: read or write. It may be given several times; then the key has no right in others.",
        valueName: "name=right"))
    var collection: [String] = []
    @Option(help: "Days for which it holds; for ever when not given.")
    var days: Int?

    /// A hundred years.
    private static let longest = 36_600

    func validate() throws {
      guard collection.isEmpty || right == nil else {
        throw ValidationError("--right is for all collections, and --collection for some: give one of them")
      }
      for text in collection where Self.parts(of: text) == nil {
        throw ValidationError("--collection takes name=read or name=write, and not \(text)")
      }
      guard days.map({ 1...Self.longest ~= $0 }) ?? true else {
        throw ValidationError("--days takes a whole number from 1 to \(Self.longest)")
      }
    }

    func run() async throws {
      var fields: [TextKey: Value] = ["name": .string(name)]
      if let right { fields["right"] = .string(right) }
      if !collection.isEmpty {
        var rights: [TextKey: Value] = [:]
        for case let (name, right)? in collection.map(Self.parts(of:)) {
          rights[TextKey(name)] = .string(right)
        }
        fields["collections"] = .map(rights)
      }
      if let days { fields["seconds"] = .int(Int64(days) * 86_400) }
      let answer = try await AdminCall(settings).send("POST", "keys", fields)
      guard case .string(let token)? = answer["token"] else { throw CommandError("the server made no key") }
      print(token)
    }
  }

  extension MakeKeyCommand {
    /// The name and the right of `name=right`; the name may contain the sign, too.
    fileprivate static func parts(of text: String) -> (name: String, right: String)? {
      guard let sign = text.lastIndex(of: "=") else { return nil }
      let (name, right) = (String(text[..<sign]), String(text[text.index(after: sign)...]))
      return name.isEmpty || !["read", "write"].contains(right) ? nil : (name, right)
    }
  }

  struct RotateKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "rotate",
      abstract: "Give a key a new secret and print it; the former one holds for a while.",
      discussion: "A key has at most two secrets. Its id, its rights and its end stay.")

    @OptionGroup
    var settings: SettingsOptions
    @Option(help: "Hours for which the former secret holds; with 0 it ends at once.")
    var hours = 24
    @Argument(help: "The key's id, as list shows it: the middle of the key's text.")
    var id: String

    /// A year.
    private static let longest = 366 * 24

    func validate() throws {
      guard 0...Self.longest ~= hours else {
        throw ValidationError("--hours takes a whole number from 0 to \(Self.longest)")
      }
    }

    func run() async throws {
      let answer = try await AdminCall(settings).send(
        "POST", "keys/\(AdminCall.escaped(id))/rotate", ["seconds": .int(Int64(hours) * 3_600)])
      guard case .string(let token)? = answer["token"] else {
        throw CommandError("the server made no secret")
      }
      print(token)
    }
  }

  struct ListKeysCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "list", abstract: "List the keys, each as a line of JSON.")

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      guard case .array(let keys)? = try await AdminCall(settings).send("GET", "keys")["keys"] else { return }
      for key in keys { print(JSON.text(of: Self.withTimes(key))) }
    }
  }

  extension ListKeysCommand {
    /// A key with its times as everything else prints them; the server sends milliseconds since 1970.
    fileprivate static func withTimes(_ key: Value) -> Value {
      guard case .map(var fields) = key else { return key }
      for name: TextKey in ["created", "expires", "formerSecretEnds"] {
        guard case .int(let milliseconds)? = fields[name] else { continue }
        fields[name] = .string(Date(timeIntervalSince1970: Double(milliseconds) / 1_000).timeText)
      }
      return .map(fields)
    }
  }

  struct RevokeKeyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "revoke", abstract: "Revoke a key: it is refused from now on.")

    @OptionGroup
    var settings: SettingsOptions
    @Argument(help: "The key's id, as list shows it: the middle of the key's text.")
    var id: String

    func run() async throws {
      _ = try await AdminCall(settings).send("DELETE", "keys/\(AdminCall.escaped(id))")
    }
  }

  struct VerifyCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "verify",
      abstract: "Read an application's whole store while the server runs, and name all that is damaged.")

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      let report = try await AdminCall(settings, limit: AdminCall.longest).send("POST", "verify")
      print(JSON.text(of: .map(report)))
      guard report["isIntact"] == .bool(true) else { throw ExitCode(ExitStatus.damaged) }
    }
  }

  struct DevicesCommand: AsyncParsableCommand {
    static let configuration = CommandConfiguration(
      commandName: "devices", abstract: "List the devices that are connected, each as a line of JSON.")

    @OptionGroup
    var settings: SettingsOptions

    func run() async throws {
      guard case .array(let devices)? = try await AdminCall(settings).send("GET", "devices")["devices"]
      else { return }
      for device in devices { print(JSON.text(of: device)) }
    }
  }
#endif
